"""Questions about outcomes: the history answers them, or the question names the runs that it needs.

A diagnosis is written as if every outcome were known. Each question is a generator: it returns the answer if the
history has one, and yields `NeedRuns` if not. The caller stops at the first `NeedRuns`, makes these runs and
starts the diagnosis again. So a diagnosis has no state, survives a killed hunt, and can be tested with hand-made
histories.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from flakehound.core.history import Execution, History, Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order, RunPlan, Setting, SingleRun
from flakehound.hunt import limits
from flakehound.hunt.diagnosis.chance import alternations_of, undisturbed_runs_for

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedRuns:
    """The runs without which a question has no answer."""

    plans: tuple[RunPlan, ...] = ()
    groups: tuple[int, ...] = ()  # of the suite, after each of which the test has to run; shared by all suspects

    @classmethod
    def of(cls, plans: Iterable[RunPlan]) -> NeedRuns:
        """These runs; a plan that occurs several times is run as often."""
        return cls(plans=tuple(plans))


Question: TypeAlias = Generator[NeedRuns, None, Answer]


def answer_to(question: Question[Answer]) -> Answer | NeedRuns:
    """Advance a question once: its answer, or the runs that it needs."""
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

    def tally_of_last(
        self, order: Order, *, times: int = 1, why: str, undisturbed: bool = False
    ) -> Question[Tally]:
        """Outcomes of the last test of `order`, at least `times` of them."""
        tally = self._tally(order, undisturbed)
        if tally.n < times and not self._never_reports_outcome(order, times, undisturbed):
            yield NeedRuns.of([self._plan(order, why, undisturbed)] * (times - tally.n))
        return tally

    def tallies_of_last(self, orders: Iterable[Order], *, times: int = 1, why: str) -> Question[list[Tally]]:
        """Like `tally_of_last` for several orders; their missing runs are asked for together."""
        orders = list(orders)
        missing = [
            self._plan(order, why, False)
            for order in orders
            if not self._never_reports_outcome(order, times)
            for _ in range(times - self._tally(order).n)
        ]
        if missing:
            yield NeedRuns.of(missing)
        return [self._tally(order) for order in orders]

    def tally_of_failing_last(self, order: Order, *, times: int, why: str) -> Question[Tally]:
        """Like `tally_of_last` for an order that should fail, and not because of the load of our other runs.

        If all its failures were in disturbed runs, one of the runs asked for is undisturbed. If that passes, more
        of them follow, until one fails or they rule out the failure rate of the disturbed runs.
        """
        tally, undisturbed = self._tally(order), self._undisturbed_runs_missing(order)
        ordinary_runs = max(0, times - tally.n)
        if ordinary_runs and self._never_reports_outcome(order, times):
            ordinary_runs = 0
        plans = [self._plan(order, why, False)] * (ordinary_runs - undisturbed)
        plans += [self._plan(order, why, True)] * undisturbed
        if plans:
            yield NeedRuns.of(plans)
        return tally

    def alternation(self, failing: Order, passing: Order, *, times: int, max_runs: int, why: str) -> Question[int]:
        """How often failures of one order and passes of the other alternated; asks for runs until it is `times`.

        Stops asking after `max_runs` of both orders, or if the order that should pass has failed. If the order
        whose turn it is does not fit into the time left, the other one is not repeated without end.
        """
        turns = alternations_of(self.history, failing, passing)
        orders = (passing, failing) if self._ran_last(failing, passing) else (failing, passing)
        runs = min(self._tally(order).n for order in orders)
        is_hopeless = self._tally(passing).failed or any(
            self._never_reports_outcome(order, runs + 1) for order in orders
        )
        if turns < times and runs < max_runs and not is_hopeless:
            missing = 1 if self._runs_since(*orders) > times else times - turns
            yield NeedRuns.of(self._plan(orders[number % 2], why, False) for number in range(missing))
        return turns

    def _ran_last(self, failing: Order, passing: Order) -> bool:
        return self._last_run_number(failing) > self._last_run_number(passing)

    def _runs_since(self, order: Order, other: Order) -> int:
        """Runs of the other order after the last one of this order."""
        last = self._last_run_number(order)
        return sum(s.run_number > last for s in self.history.executions_after(other[:-1], other[-1]))

    def _last_run_number(self, order: Order) -> int:
        return max((s.run_number for s in self.history.executions_after(order[:-1], order[-1])), default=-1)

    def has_failed_undisturbed(self, order: Order) -> bool:
        """Whether the last test of `order` has failed with no other run going on."""
        return self._tally(order, True).failed > 0

    def ensure_original_runs(self, order: Order, tally: Tally, *, times: int, why: str) -> Question[None]:
        """Ask for runs of the original order until a test has `times` outcomes there; `tally` are those it has."""
        if tally.n < times and self.history.runs_of(order) < times + limits.MAX_RUNS_WITHOUT_OUTCOME:
            plan = SingleRun(order=order, why=why, setting=Setting.ORIGINAL, isolation=self.isolation)
            yield NeedRuns.of([plan] * (times - tally.n))

    def tally_in_new_interpreters(self, test: NodeId, *, times: int, why: str) -> Question[Tally]:
        """Outcomes alone in new interpreters, at least `times` of them."""
        tally = self.history.tally(test, Setting.ALONE, Setting.ORIGINAL, isolation=Isolation.SPAWN)
        runs_made = sum(s.record.isolation is Isolation.SPAWN for s in self.history.executions_after((), test))
        if tally.n < times and runs_made < times + limits.MAX_RUNS_WITHOUT_OUTCOME:
            yield NeedRuns.of([_alone_in_new_interpreter(test, why)] * (times - tally.n))
        return tally

    def ensure_runs_with_hash_seed(
        self, order: Order, hash_seed: int, *, missing: int, why: str, max_runs: int = limits.SAME_SEED_RUNS
    ) -> Question[None]:
        """Ask for the missing runs of an order in new interpreters, unless such runs have no outcome."""
        return self._ensure_runs(order, Isolation.SPAWN, hash_seed, missing, max_runs, why)

    def ensure_forked_runs(self, order: Order, *, missing: int, why: str) -> Question[None]:
        """Ask for the missing runs of an order in forks, unless such runs have no outcome."""
        return self._ensure_runs(order, Isolation.FORK, None, missing, limits.FORKS_TO_COMPARE, why)

    def _ensure_runs(
        self, order: Order, isolation: Isolation, hash_seed: int | None, missing: int, max_runs: int, why: str
    ) -> Question[None]:
        if missing <= 0:
            return
        equal_runs = [r for r in self.history.records if r.order == order and r.isolation is isolation]
        runs_made = sum(hash_seed in (None, record.hash_seed) for record in equal_runs)
        if runs_made < max_runs + limits.MAX_RUNS_WITHOUT_OUTCOME:
            setting = Setting.ALONE if len(order) == 1 else Setting.ORIGINAL
            plan = SingleRun(order=order, why=why, setting=setting, isolation=isolation, hash_seed=hash_seed)
            yield NeedRuns.of([plan] * missing)

    def fails_in_new_interpreters(self, test: NodeId, *, measured: bool) -> Question[bool]:
        """Whether the test also fails alone in new interpreters.

        A fork is slower at first, because its memory is not in the cache, and that can make a test miss a time
        limit. So a test whose failures name times (`measured`) must fail in many new interpreters with no other
        run going on.
        """
        if self.isolation is Isolation.SPAWN:
            return True
        times, alone = self._runs_in_new_interpreters(test, measured)
        if all(s.outcome.is_failure for s in alone) and len(alone) < times:
            why = f"does {test} fail alone in new interpreters too?"
            plan = _alone_in_new_interpreter(test, why, undisturbed=measured)
            yield NeedRuns.of([plan] * min(limits.NEW_INTERPRETERS, times - len(alone)))
        return all(s.outcome.is_failure for s in alone)

    def has_enough_new_interpreters(self, test: NodeId) -> bool:
        """Whether a test whose failures name times ran alone in as many new interpreters as a proof needs."""
        times, alone = self._runs_in_new_interpreters(test, True)
        return self.isolation is Isolation.SPAWN or len(alone) >= times

    def _runs_in_new_interpreters(self, test: NodeId, measured: bool) -> tuple[int, list[Execution]]:
        """How many such runs a proof needs, and those made that count: not disturbed failures if measured."""
        alone = [s for s in self.history.executions_after((), test) if s.record.isolation is Isolation.SPAWN]
        counted_sightings = [s for s in alone if not (measured and s.record.disturbed and s.outcome.is_failure)]
        if measured:
            return limits.MEASURED_NEW_INTERPRETERS, counted_sightings
        is_expensive = self.history.costs.new_interpreter_s > limits.EXPENSIVE_START_S
        return limits.EXPENSIVE_NEW_INTERPRETERS if is_expensive else limits.NEW_INTERPRETERS, counted_sightings

    def _undisturbed_runs_missing(self, order: Order) -> int:
        disturbed = self.history.tally_after(order[:-1], order[-1], disturbed=True)
        undisturbed = self._tally(order, True)
        if not disturbed.failed or undisturbed.failed:
            return 0
        # Usually the first undisturbed run fails too, and no more are needed.
        needed_runs = (
            undisturbed_runs_for(disturbed, self.history.costs.run_s(order, self.isolation))
            if undisturbed.n
            else 1
        )
        missing = max(0, needed_runs - undisturbed.n)
        return 0 if missing and self._never_reports_outcome(order, needed_runs, True) else missing

    def _tally(self, order: Order, undisturbed: bool = False) -> Tally:
        return self.history.tally_after(order[:-1], order[-1], disturbed=False if undisturbed else None)

    def _never_reports_outcome(self, order: Order, times: int, undisturbed: bool = False) -> bool:
        # A test may skip itself, or never run because an earlier one ends the process.
        disturbed = False if undisturbed else None
        executions = self.history.executions_after(order[:-1], order[-1])
        ran = sum(disturbed in (None, s.record.disturbed) for s in executions)
        runs_made = max(ran, self.history.runs_of(order, disturbed=disturbed))
        return (
            runs_made >= times + limits.MAX_RUNS_WITHOUT_OUTCOME and self._tally(order, undisturbed).n < runs_made
        )

    def _plan(self, order: Order, why: str, undisturbed: bool) -> RunPlan:
        setting = Setting.ALONE if len(order) == 1 else Setting.PROBE
        return SingleRun(order=order, why=why, setting=setting, isolation=self.isolation, undisturbed=undisturbed)


def _alone_in_new_interpreter(test: NodeId, why: str, *, undisturbed: bool = False) -> RunPlan:
    return SingleRun(
        order=(test,), why=why, setting=Setting.ALONE, isolation=Isolation.SPAWN, undisturbed=undisturbed
    )
