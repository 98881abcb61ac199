"""Questions about outcomes: the history answers them, or the runs are named that would.

A diagnosis is written as if every outcome were known. Each question is a generator: it returns the answer where
the history has one, and yields `NeedRuns` where it has not. Whoever drives the diagnosis stops at the first
`NeedRuns`, and asks again from the start once these runs are made. So a diagnosis keeps no state, survives a
killed hunt, and is tested with hand-made histories.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from flakehound.core.history import History, Sighting, Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order, RunPlan, Setting, SingleRun
from flakehound.hunt import limits
from flakehound.hunt.diagnosis.chance import alternations_of, undisturbed_runs_for

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedRuns:
    """The runs without which a question has no answer."""

    plans: tuple[RunPlan, ...]

    @classmethod
    def of(cls, plans: Iterable[RunPlan]) -> NeedRuns:
        """These runs, each as often as it is named."""
        return cls(plans=tuple(plans))


Question: TypeAlias = Generator[NeedRuns, None, Answer]


def answer_to(question: Question[Answer]) -> Answer | NeedRuns:
    """The answer, or the runs that are needed for it."""
    try:
        return next(question)
    except StopIteration as stop:
        answer: Answer = stop.value
        return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """The questions that can be asked about one history."""

    history: History
    isolation: Isolation = Isolation.FORK
    patient: bool = True  # whether to ask for the many runs that separate load from chance

    def tally_of_last(
        self, order: Order, *, times: int = 1, why: str, undisturbed: bool = False
    ) -> Question[Tally]:
        """Outcomes of the last test of `order`, at least `times` of them."""
        seen = self._seen(order, undisturbed)
        if seen.n < times and not self._never_reports_outcome(order, times, undisturbed):
            yield NeedRuns.of([self._plan(order, why, undisturbed)] * (times - seen.n))
        return seen

    def tallies_of_last(self, orders: Iterable[Order], *, times: int = 1, why: str) -> Question[list[Tally]]:
        """Like `tally_of_last` for several orders, whose missing runs can then be made at once."""
        orders = list(orders)
        missing = [
            self._plan(order, why, False)
            for order in orders
            if not self._never_reports_outcome(order, times)
            for _ in range(times - self._seen(order).n)
        ]
        if missing:
            yield NeedRuns.of(missing)
        return [self._seen(order) for order in orders]

    def tally_of_failing_last(self, order: Order, *, times: int, why: str) -> Question[Tally]:
        """Like `tally_of_last` for an order that fails: our own load must not be what makes it fail.

        If all its failures had other runs beside them, one of the runs asked for is undisturbed. Should it
        pass, more of them follow, until one fails or a failure as frequent as beside others would have shown.
        """
        seen, undisturbed = self._seen(order), self._undisturbed_runs_missing(order)
        ordinary = max(0, times - seen.n)
        if ordinary and self._never_reports_outcome(order, times):
            ordinary = 0
        plans = [self._plan(order, why, False)] * (ordinary - undisturbed)
        plans += [self._plan(order, why, True)] * undisturbed
        if plans:
            yield NeedRuns.of(plans)
        return seen

    def alternation(self, failing: Order, passing: Order, *, times: int, most: int, why: str) -> Question[int]:
        """How often failures of one order and passes of the other alternated, at least `times`.

        No more runs are made for it when there are `most` of both orders, or when the order that should pass has
        failed.
        """
        seen = alternations_of(self.history, failing, passing)
        both = (passing, failing) if self._ended_with(failing, passing) else (failing, passing)
        runs = min(self._seen(order).n for order in both)
        hopeless = self._seen(passing).failed or any(
            self._never_reports_outcome(order, runs + 1) for order in both
        )
        if seen < times and runs < most and not hopeless:
            yield NeedRuns.of(self._plan(both[number % 2], why, False) for number in range(times - seen))
        return seen

    def _ended_with(self, failing: Order, passing: Order) -> bool:
        last, other = (
            max((s.run for s in self.history.after(order[:-1], order[-1])), default=-1)
            for order in (failing, passing)
        )
        return last > other

    def has_failed_undisturbed(self, order: Order) -> bool:
        """Whether the last test of `order` was seen failing with nothing beside it."""
        return self._seen(order, True).failed > 0

    def runs_of_original_order(self, order: Order, seen: Tally, *, times: int, why: str) -> Question[None]:
        """See to it that a test that was `seen` in the original order gets `times` outcomes there."""
        if seen.n < times and self.history.runs_of(order) < times + limits.MAX_RUNS_WITHOUT_OUTCOME:
            plan = SingleRun(order=order, why=why, setting=Setting.ORIGINAL, isolation=self.isolation)
            yield NeedRuns.of([plan] * (times - seen.n))

    def tally_in_new_interpreters(self, test: NodeId, *, times: int, why: str) -> Question[Tally]:
        """Outcomes alone in new interpreters, at least `times` of them."""
        seen = self.history.tally(test, Setting.ALONE, Setting.ORIGINAL, isolation=Isolation.SPAWN)
        made = sum(s.record.isolation is Isolation.SPAWN for s in self.history.after((), test))
        if seen.n < times and made < times + limits.MAX_RUNS_WITHOUT_OUTCOME:
            yield NeedRuns.of([_alone_in_new_interpreter(test, why)] * (times - seen.n))
        return seen

    def runs_with_hash_seed(self, order: Order, hash_seed: int, *, missing: int, why: str) -> Question[None]:
        """See to it that missing runs of an order in new interpreters are made, unless they have no outcome."""
        return self._missing_runs(order, Isolation.SPAWN, hash_seed, missing, limits.SAME_SEED_RUNS, why)

    def forked_runs(self, order: Order, *, missing: int, why: str) -> Question[None]:
        """See to it that missing runs of an order in forks are made, unless they have no outcome."""
        return self._missing_runs(order, Isolation.FORK, None, missing, limits.FORKS_TO_COMPARE, why)

    def _missing_runs(
        self, order: Order, isolation: Isolation, hash_seed: int | None, missing: int, most: int, why: str
    ) -> Question[None]:
        if missing <= 0:
            return
        same = [r for r in self.history.records if r.order == order and r.isolation is isolation]
        made = sum(hash_seed in (None, record.hash_seed) for record in same)
        if made < most + limits.MAX_RUNS_WITHOUT_OUTCOME:
            setting = Setting.ALONE if len(order) == 1 else Setting.ORIGINAL
            plan = SingleRun(order=order, why=why, setting=setting, isolation=isolation, hash_seed=hash_seed)
            yield NeedRuns.of([plan] * missing)

    def fails_in_new_interpreters(self, test: NodeId, *, measured: bool) -> Question[bool]:
        """Whether the test fails alone there too: a fork starts with cold memory, and is slower at first.

        Where a time decides, that is all it takes to fail: then only many failures with nothing beside them count.
        """
        if self.isolation is Isolation.SPAWN:
            return True
        times, alone = self._in_new_interpreters(test, measured)
        if all(s.outcome.is_failure for s in alone) and len(alone) < times:
            why = f"does {test} fail alone in new interpreters too?"
            plan = _alone_in_new_interpreter(test, why, undisturbed=measured)
            yield NeedRuns.of([plan] * min(limits.NEW_INTERPRETERS, times - len(alone)))
        return all(s.outcome.is_failure for s in alone)

    def has_enough_new_interpreters(self, test: NodeId) -> bool:
        """Whether a test whose failures name times ran alone there as often as a proof takes."""
        times, alone = self._in_new_interpreters(test, True)
        return self.isolation is Isolation.SPAWN or len(alone) >= times

    def _in_new_interpreters(self, test: NodeId, measured: bool) -> tuple[int, list[Sighting]]:
        """How many runs alone it takes there, and which count: of a measured test no failure beside others."""
        alone = [s for s in self.history.after((), test) if s.record.isolation is Isolation.SPAWN]
        counted = [s for s in alone if not (measured and s.record.disturbed and s.outcome.is_failure)]
        return limits.MEASURED_NEW_INTERPRETERS if measured else limits.NEW_INTERPRETERS, counted

    def _undisturbed_runs_missing(self, order: Order) -> int:
        disturbed = self.history.tally_after(order[:-1], order[-1], disturbed=True)
        undisturbed = self._seen(order, True)
        if not disturbed.failed or undisturbed.failed:
            return 0
        # Nearly always the first undisturbed run fails too, and no more are needed.
        enough = (
            undisturbed_runs_for(disturbed, self.history.costs.run_s(order, self.isolation))
            if undisturbed.n
            else 1
        )
        missing = max(0, enough - undisturbed.n)
        return 0 if missing and self._never_reports_outcome(order, enough, True) else missing

    def _seen(self, order: Order, undisturbed: bool = False) -> Tally:
        return self.history.tally_after(order[:-1], order[-1], disturbed=False if undisturbed else None)

    def _never_reports_outcome(self, order: Order, times: int, undisturbed: bool = False) -> bool:
        # A test may skip itself, or never run because an earlier one ends the process.
        disturbed = False if undisturbed else None
        sightings = self.history.after(order[:-1], order[-1])
        ran = sum(disturbed in (None, s.record.disturbed) for s in sightings)
        made = max(ran, self.history.runs_of(order, disturbed=disturbed))
        return made >= times + limits.MAX_RUNS_WITHOUT_OUTCOME and self._seen(order, undisturbed).n < made

    def _plan(self, order: Order, why: str, undisturbed: bool) -> RunPlan:
        setting = Setting.ALONE if len(order) == 1 else Setting.PROBE
        return SingleRun(order=order, why=why, setting=setting, isolation=self.isolation, undisturbed=undisturbed)


def _alone_in_new_interpreter(test: NodeId, why: str, *, undisturbed: bool = False) -> RunPlan:
    return SingleRun(
        order=(test,), why=why, setting=Setting.ALONE, isolation=Isolation.SPAWN, undisturbed=undisturbed
    )
