"""PAIRWISE for known cases: both forms find the pairs, chains take fewer processes but can miss some."""

from __future__ import annotations

import pytest
from simulator import Simulator, fails_after, id_of, moment_polluted, passes_only_after, suite_of

from flakehound.core.history import History
from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Batch, Isolation, SharedPrefix
from flakehound.hunt.search.pairs import Case, Pairs

NAMES = [f"t{number:02}" for number in range(30)]
IDS = [id_of(name) for name in NAMES]
V, W, X = IDS[3], IDS[11], IDS[20]


class PairSearch:
    """A whole search over a simulated suite."""

    def __init__(self, behaviours, cases, form):
        self.simulator = Simulator(suite_of(*NAMES), behaviours)
        self.history = History(self.simulator.suite)
        self._cases = cases
        pairs = Pairs(self.history, cases, self.simulator.suite.order, Isolation.FORK)
        for plan in getattr(pairs, f"{form}_plans")():
            self._run(plan)
        while plans := pairs.pairs_to_verify():
            for plan in plans:
                self._run(plan)

    def _run(self, plan):
        for record in self.simulator.run(plan):
            self.history.add(record)

    @property
    def processes(self):
        """Trunks and copies."""
        return sum(
            len(plan.orders) + isinstance(plan, SharedPrefix) for plan, _disturbed in self.simulator.started
        )

    @property
    def pairs(self):
        return {
            (other, case.test)
            for case in self._cases
            for other in IDS
            if any(
                case.shows(execution.outcome) for execution in self.history.executions_after((other,), case.test)
            )
        }


def victims(*tests):
    return [Case(test=test, fails=True) for test in tests]


@pytest.mark.parametrize("form", ["exact", "chained"])
def test_every_polluter_of_every_victim_is_found(form):
    behaviours = {V: fails_after(IDS[0], IDS[7]), W: fails_after(IDS[7], IDS[29]), X: fails_after(IDS[25])}

    found = PairSearch(behaviours, victims(V, W, X), form)

    assert found.pairs == {(IDS[0], V), (IDS[7], V), (IDS[7], W), (IDS[29], W), (IDS[25], X)}


@pytest.mark.parametrize("form", ["exact", "chained"])
def test_every_state_setter_of_a_brittle_test_is_found(form):
    behaviours = {V: passes_only_after(IDS[0], IDS[7]), W: fails_after(IDS[7])}
    cases = [Case(test=V, fails=False), *victims(W)]

    assert PairSearch(behaviours, cases, form).pairs == {(IDS[0], V), (IDS[7], V), (IDS[7], W)}


@pytest.mark.parametrize("form", ["exact", "chained"])
def test_cleaners_among_the_other_tests_hide_nothing(form):
    behaviours = {V: fails_after(IDS[7], cleaners=IDS[8:10]), W: fails_after(IDS[8], cleaners=[IDS[7]])}

    assert PairSearch(behaviours, victims(V, W), form).pairs == {(IDS[7], V), (IDS[8], W)}


@pytest.mark.parametrize("form", ["exact", "chained"])
def test_a_victim_that_pollutes_another_is_a_pair_like_any_other(form):
    behaviours = {V: fails_after(IDS[7]), W: fails_after(V, IDS[9]), X: fails_after(W, IDS[9])}

    found = PairSearch(behaviours, victims(V, W, X), form)

    assert found.pairs == {(IDS[7], V), (V, W), (IDS[9], W), (W, X), (IDS[9], X)}


def test_chains_need_far_fewer_processes():
    behaviours = {test: fails_after(IDS[7]) for test in IDS[10:20]}
    exact, chained = (PairSearch(behaviours, victims(*IDS[10:20]), form) for form in ("exact", "chained"))

    assert exact.pairs == chained.pairs
    assert exact.processes == 30 + 290
    # The cases among themselves, a chain for each of the others, and the one polluter exactly.
    assert chained.processes == (10 + 90) + 20 + (1 + 10) - 1


def test_a_case_that_ends_its_process_does_not_hide_the_cases_behind_it():
    def dies_when_polluted(moment):
        return Outcome.CRASHED if moment_polluted(moment, [[IDS[7]]], ()) else Outcome.PASSED

    behaviours = {V: dies_when_polluted, W: fails_after(IDS[7]), X: fails_after(IDS[7])}

    found = PairSearch(behaviours, victims(V, W, X), "chained")

    assert found.pairs == {(IDS[7], V), (IDS[7], W), (IDS[7], X)}


def test_a_polluter_with_one_visible_victim_is_tried_exactly_with_all():
    # V undoes the pollution for whatever follows it, wherever it stands in the chain.
    behaviours = {
        V: fails_after(IDS[7]),
        W: fails_after(IDS[7], cleaners=[V]),
        X: fails_after(IDS[7], cleaners=[V]),
    }

    assert PairSearch(behaviours, victims(V, W, X), "chained").pairs == {(IDS[7], V), (IDS[7], W), (IDS[7], X)}


def test_chains_miss_a_pair_that_another_case_always_hides():
    """The price of chains, as the documentation states it."""
    behaviours = {V: fails_after(IDS[0]), W: fails_after(IDS[7], cleaners=[V])}
    found = PairSearch(behaviours, victims(V, W), "chained")

    order = next(
        order
        for plan, _disturbed in found.simulator.started
        if isinstance(plan, Batch)
        for order in plan.orders
        if order[0] == IDS[7]
    )
    assert ((IDS[7], W) in found.pairs) == (order[1] == W)
    assert PairSearch(behaviours, victims(V, W), "exact").pairs == {(IDS[0], V), (IDS[7], W)}


def test_a_search_that_was_cut_off_does_not_run_a_chain_again():
    behaviours = {V: fails_after(IDS[7]), W: fails_after(IDS[9])}
    first = PairSearch(behaviours, victims(V, W), "chained")

    again = Pairs(first.history, victims(V, W), tuple(IDS), Isolation.FORK)

    assert list(again.chained_plans()) == []
    assert again.pairs_to_verify() == []
