"""Write a search as if answers were at hand; a missing answer becomes the next plan.

A search asks for outcomes in the order it needs them. What the history knows is answered at once; what it
does not know stops the search with `Need`, whose plans the engine runs before the search is asked again
from its start. So a search keeps no state, survives a killed hunt, and is tested with hand-made histories.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from flakehound.core.history import History, Sighting, Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order, RunPlan, Setting
from flakehound.core.statistics.rates import chance_of_such_a_gap

NEW_INTERPRETERS = 4  # in which a test must fail before forks are believed that it always fails alone
MEASURED_INTERPRETERS = 12  # the same where something measured decides, such as a time
PATIENCE = 2  # runs beyond the asked number after which a test that only skips itself is asked no more
LUCK = 0.01  # a gap between two failure rates that is likelier than this by luck alone proves nothing
MOST_QUIET_RUNS = 60  # undisturbed runs of one order that so far failed only beside others
SECONDS_FOR_QUIET_RUNS = 5.0  # the same in time: nothing else runs meanwhile
LEAST_QUIET_RUNS = 5  # where they are affordable
DEAREST_QUIET_RUNS = 2  # whatever they cost


class Need(Exception):
    """The search cannot go on before these plans have run."""

    def __init__(self, plans: Iterable[RunPlan]) -> None:
        super().__init__()
        self.plans = list(plans)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Answers from one history."""

    history: History
    isolation: Isolation = Isolation.FORK
    patient: bool = True  # whether to ask for the many runs that tell load from chance

    def last_of(self, order: Order, *, times: int = 1, why: str, undisturbed: bool = False) -> Tally:
        """Outcomes of the last test of `order`, at least `times` of them."""
        seen = self._seen(order, undisturbed)
        if seen.n < times and not self._is_mute(order, times, undisturbed):
            raise Need([self._plan(order, why, undisturbed)] * (times - seen.n))
        return seen

    def in_turns(self, failing: Order, passing: Order, *, turns: int, most: int, why: str) -> None:
        """See to it that failures of one order and passes of the other took turns.

        A machine has slow spells, and a spell that falls on one of two orders looks like a reason. No more runs
        are made for it when there are `most` of both orders, or when the order that should pass has failed.
        """
        missing = turns - turns_of(self.history, failing, passing)
        both = (passing, failing) if self._ended_with(failing, passing) else (failing, passing)
        runs = min(self._seen(order).n for order in both)
        hopeless = self._seen(passing).failed or any(self._is_mute(order, runs + 1) for order in both)
        if missing > 0 and runs < most and not hopeless:
            raise Need(self._plan(both[number % 2], why, False) for number in range(missing))

    def _ended_with(self, failing: Order, passing: Order) -> bool:
        last, other = (
            max((s.run for s in self.history.after(order[:-1], order[-1])), default=-1)
            for order in (failing, passing)
        )
        return last > other

    def each_last_of(self, orders: Iterable[Order], *, times: int = 1, why: str) -> list[Tally]:
        """The same for several orders, whose missing runs can then be made at once."""
        orders = list(orders)
        missing = [
            self._plan(order, why, False)
            for order in orders
            if not self._is_mute(order, times)
            for _ in range(times - self._seen(order).n)
        ]
        if missing:
            raise Need(missing)
        return [self._seen(order) for order in orders]

    def failing_last_of(self, order: Order, *, times: int, why: str) -> Tally:
        """The same for an order that fails: load of our own making must not be what makes it fail.

        If all its failures had other runs beside them, one of the runs asked for is undisturbed. Should it
        pass, more of them follow, until one fails or a failure as frequent as beside others would have shown.
        """
        seen, quiet = self._seen(order), self._quiet_runs_missing(order)
        ordinary = max(0, times - seen.n)
        if ordinary and self._is_mute(order, times):
            ordinary = 0
        plans = [self._plan(order, why, False)] * (ordinary - quiet) + [self._plan(order, why, True)] * quiet
        if plans:
            raise Need(plans)
        return seen

    def failed_undisturbed(self, order: Order) -> bool:
        """Whether the last test of `order` was seen failing with nothing beside it."""
        return self._seen(order, True).failed > 0

    def original(self, order: Order, test_n: int, *, times: int, why: str) -> None:
        """See to it that a test with `test_n` executions in the original order gets `times` of them."""
        if test_n < times and self.history.runs_of(order) < times + PATIENCE:
            plan = RunPlan(order=order, why=why, setting=Setting.ORIGINAL, isolation=self.isolation)
            raise Need([plan] * (times - test_n))

    def in_new_interpreters(self, test: NodeId, *, times: int, why: str) -> Tally:
        """Outcomes alone in new interpreters, at least `times` of them."""
        seen = self.history.tally(test, Setting.ALONE, Setting.ORIGINAL, isolation=Isolation.SPAWN)
        made = sum(s.record.isolation is Isolation.SPAWN for s in self.history.after((), test))
        if seen.n < times and made < times + PATIENCE:
            plan = RunPlan(order=(test,), why=why, setting=Setting.ALONE, isolation=Isolation.SPAWN)
            raise Need([plan] * (times - seen.n))
        return seen

    def fails_in_new_interpreters(self, test: NodeId, *, measured: bool) -> bool:
        """Whether the test fails alone there too: a fork starts with cold memory, and is slower at first.

        Where a time decides, that is all it takes to fail: then only many failures with nothing beside them count.
        """
        if self.isolation is Isolation.SPAWN:
            return True
        times, alone = self._in_new_interpreters(test, measured)
        if all(s.outcome.is_failure for s in alone) and len(alone) < times:
            why = f"does {test} fail alone in new interpreters too?"
            plan = RunPlan(
                order=(test,), why=why, setting=Setting.ALONE, isolation=Isolation.SPAWN, undisturbed=measured
            )
            raise Need([plan] * min(NEW_INTERPRETERS, times - len(alone)))
        return all(s.outcome.is_failure for s in alone)

    def seen_in_new_interpreters(self, test: NodeId) -> bool:
        """Whether a test that fails by a time was seen failing alone there as often as it takes."""
        times, alone = self._in_new_interpreters(test, True)
        return self.isolation is Isolation.SPAWN or len(alone) >= times

    def _in_new_interpreters(self, test: NodeId, measured: bool) -> tuple[int, list[Sighting]]:
        """How many runs alone it takes there, and which count: of a measured test no failure beside others."""
        alone = [s for s in self.history.after((), test) if s.record.isolation is Isolation.SPAWN]
        counted = [s for s in alone if not (measured and s.record.disturbed and s.outcome.is_failure)]
        return MEASURED_INTERPRETERS if measured else NEW_INTERPRETERS, counted

    def cost_s(self, order: Order, isolation: Isolation) -> float:
        """What one run of the order takes, roughly."""
        return self.history.costs.run_s(order, isolation)

    def _quiet_runs_missing(self, order: Order) -> int:
        beside = self.history.tally_after(order[:-1], order[-1], disturbed=True)
        quiet = self._seen(order, True)
        if not beside.failed or quiet.failed:
            return 0
        # Nearly always the first undisturbed run fails too, and no more are needed.
        enough = quiet_runs_for(beside, self.cost_s(order, self.isolation)) if quiet.n else 1
        missing = max(0, enough - quiet.n)
        return 0 if missing and self._is_mute(order, enough, True) else missing

    def _seen(self, order: Order, undisturbed: bool = False) -> Tally:
        return self.history.tally_after(order[:-1], order[-1], disturbed=False if undisturbed else None)

    def _is_mute(self, order: Order, times: int, undisturbed: bool = False) -> bool:
        # A test that skips itself, or never runs because an earlier one ends the process, never answers.
        disturbed = False if undisturbed else None
        sightings = self.history.after(order[:-1], order[-1])
        ran = sum(disturbed in (None, s.record.disturbed) for s in sightings)
        made = max(ran, self.history.runs_of(order, disturbed=disturbed))
        return made >= times + PATIENCE and self._seen(order, undisturbed).n < made

    def _plan(self, order: Order, why: str, undisturbed: bool) -> RunPlan:
        setting = Setting.ALONE if len(order) == 1 else Setting.PROBE
        return RunPlan(order=order, why=why, setting=setting, isolation=self.isolation, undisturbed=undisturbed)


def turns_of(history: History, failing: Order, passing: Order) -> int:
    """How often failures of the last test of one order and its passes in the other took turns."""
    test = failing[-1]
    failed = [(s.run, True) for s in history.after(failing[:-1], test) if s.outcome.is_failure]
    passed = [(s.run, False) for s in history.after(passing[:-1], test) if s.outcome.is_pass]
    return sum(1 for _ in groupby(sorted(failed + passed), key=itemgetter(1)))


def is_luck(more: Tally, fewer: Tally) -> bool:
    """Whether so many failures may well have fallen on `more` by luck alone."""
    return chance_of_such_a_gap(more.failed, more.n, fewer.failed, fewer.n) > LUCK


def passes_that_rule_out_luck(failing: Tally, most: int, luck: float = 1.0) -> int:
    """Passes under another condition after which so many failures under this one are no luck; `most` at most.

    `luck` is what other evidence leaves of it.
    """
    for passes in range(1, most):
        runs = failing.n + passes
        luck *= (runs - failing.failed) / runs
        if luck <= LUCK * (1 + 1e-9):  # what is rounded must not cost one more run
            return passes
    return most


def quiet_runs_for(beside: Tally, cost_s: float, luck: float = 1.0) -> int:
    """Undisturbed passes after which failures beside other runs are a matter of load, within reason."""
    affordable = max(DEAREST_QUIET_RUNS, int(SECONDS_FOR_QUIET_RUNS / cost_s))
    return min(affordable, max(LEAST_QUIET_RUNS, passes_that_rule_out_luck(beside, MOST_QUIET_RUNS, luck)))
