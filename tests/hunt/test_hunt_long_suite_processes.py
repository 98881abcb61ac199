"""Long suites: tests about which each process decides, and tests beside which nothing may run."""

from __future__ import annotations

from collections import Counter

import pytest
from long_suite_samples import at, hunted, long_suite
from simulator import Moment, fails_after, fails_if, hunt

from flakehound.core.plans import Isolation
from flakehound.core.verdicts import Kind
from flakehound.hunt import limits


def test_a_test_that_removes_what_an_earlier_one_wrote_does_not_hide_the_polluter():
    found = hunt(
        long_suite({30: fails_after(at(7), cleaners=[at(9)])}),
        jobs=2,
        policy="index",
        endless=True,
        time_left_s=600.0,
        background_reference=True,
        left_out_of_orders=frozenset([at(7), at(9)]),
    )

    verdict = found.verdicts[at(30)]
    assert (verdict.kind, verdict.polluters) == (Kind.VICTIM, (at(7),))


@pytest.mark.parametrize("forks_fail", [True, False])
def test_a_test_about_which_each_new_process_decides_by_itself_is_nod(forks_fail: bool):
    def fails(moment: Moment) -> bool:
        return forks_fail if moment.isolation is Isolation.FORK else moment.draw < 0.6

    found = hunted({210: fails_if(fails)}, time_left_s=600.0)

    assert found.verdicts[at(210)].kind is Kind.NOD


def test_a_test_that_fails_in_every_fork_and_in_no_new_interpreter_is_not_called_flaky():
    found = hunted({210: fails_if(lambda moment: moment.isolation is Isolation.FORK)}, time_left_s=600.0)

    assert found.verdicts[at(210)].kind is Kind.UNRESOLVED
    assert "forks do not tell about it" in found.verdicts[at(210)].evidence[0]


def test_few_interpreters_are_started_for_each_of_many_tests_that_differ_between_forks_and_interpreters():
    places = range(200, 240)

    found = hunted({place: fails_if(lambda moment: moment.isolation is Isolation.FORK) for place in places}, 600.0)

    started = Counter(r.order[0] for r in found.history.records if r.isolation is Isolation.SPAWN)
    assert sum(started[at(place)] > 2 * limits.SAME_SEED_RUNS for place in places) <= limits.MAX_ARTEFACT_CASES
