"""Reruns of the tests with the largest index."""

from __future__ import annotations

from dataclasses import replace

from simulator import Simulator, reference_plan
from ten_tests import A, B, a_run, suite_of_ten

from flakehound.core.history import History
from flakehound.core.statistics.prevalence import Priors
from flakehound.hunt.options import SearchOptions
from flakehound.hunt.original_order import OriginalOrder
from flakehound.hunt.search.expected_gain import ExpectedGain
from flakehound.hunt.search.likely_tests import LikelyTests
from flakehound.hunt.search.techniques import TechniqueRuns


def test_a_batch_leaves_out_what_is_far_less_likely_per_second_than_a_test_that_turned_out_to_be_fast():
    suite = suite_of_ten()
    history = History(suite, Simulator(suite, test_s=dict.fromkeys(suite.order, 0.1)).run(reference_plan(suite)))
    options = SearchOptions(seed=0, endless=True, priors=Priors(nod=dict.fromkeys(suite.order, 0.1) | {A: 0.11}))
    gain = ExpectedGain(history, options.priors)
    likely = LikelyTests(history, options, gain, TechniqueRuns(history, options, lambda: OriginalOrder(history)))
    batches = likely.alone()
    first = next(batches)
    for _ in range(20):
        history.add(replace(a_run([A], "P"), durations_s=(0.001,)))

    second = next(batches)

    assert {order[0] for order in first.orders} > {A, B}
    assert {order[0] for order in second.orders} == {A}
