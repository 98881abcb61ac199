"""After the search: trace each flaky test once passing and once failing, and name likely causes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from flakehound.app.hunt.extra_runs import ExtraRuns
from flakehound.calls.characteristic_functions import CharacteristicFunctions
from flakehound.calls.trace_plan import trace_for
from flakehound.calls.verdict_causes import (
    KINDS_EXPLAINED_BY_CALLS,
    ObservedTrace,
    traces_of_last_test,
    with_likely_causes,
)
from flakehound.core.calls import TraceMode
from flakehound.core.costs import TRACED_TEST
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order, Setting, SingleRun
from flakehound.core.verdicts import Kind, Verdict
from flakehound.hunt.limits import CAUSES_SHARE, MAX_CAUSES_S, MAX_PASSING_ATTEMPTS, MAX_TRACED_TESTS


def reserved_for_causes_s(limit_s: float | None) -> float:
    """The part of a hunt's time that is reserved for causes."""
    limit_s = limit_s or 0.0
    return min(MAX_CAUSES_S, max(CAUSES_SHARE * limit_s, min(1.0, 0.1 * limit_s)))


@dataclass(frozen=True, slots=True)
class CauseFinder:
    """Traces flaky tests within the time that is left."""

    extra_runs: ExtraRuns
    functions: CharacteristicFunctions

    def with_causes(self, verdicts: Sequence[Verdict]) -> list[Verdict]:
        """Add to the verdicts on flaky tests their likely causes and how passing and failing runs differ."""
        flaky = [verdict for verdict in verdicts if verdict.replay and _is_flaky_or_unresolved(verdict)]
        flaky.sort(key=self._priority)
        explained: dict[NodeId, Verdict] = {}
        for verdict in flaky:
            if len(explained) < MAX_TRACED_TESTS and self._fits(verdict):
                explained[verdict.id] = self._with_traces(verdict)
        return [explained.get(verdict.id, verdict) for verdict in verdicts]

    def _priority(self, verdict: Verdict) -> tuple[bool, bool, float]:
        """The sort key: tests with a proven cause later, order-dependent ones last (another test causes them)."""
        return verdict.kind not in KINDS_EXPLAINED_BY_CALLS, bool(verdict.causes), self._cost_s(verdict)

    def _fits(self, verdict: Verdict) -> bool:
        return self._cost_s(verdict) <= self.extra_runs.left_s()

    def _cost_s(self, verdict: Verdict) -> float:
        """What the two traced runs of a test are expected to take."""
        costs = self.extra_runs.history.costs
        return sum(costs.run_s(plan.order, plan.isolation, TRACED_TEST) for plan in self._plans(verdict))

    def _with_traces(self, verdict: Verdict) -> Verdict:
        failing, passing = self._plans(verdict)
        traces = list(self._run_traced(failing, verdict))
        for attempt in range(MAX_PASSING_ATTEMPTS):
            if any(not trace.failed for trace in traces) or (attempt and not self._fits(verdict)):
                break
            traces += self._run_traced(replace(passing, seed=(self.extra_runs.seed + attempt) % 2**32), verdict)
        return with_likely_causes(verdict, traces, self.functions)

    def _plans(self, verdict: Verdict) -> Iterator[SingleRun]:
        """The run that failed, with its seed, and a run that may pass: alone, with another seed."""
        replay = verdict.replay
        assert replay is not None
        failing = self._plan(replay.order, replay.isolation, replay.seed, verdict)
        yield replace(failing, hash_seed=replay.hash_seed) if replay.isolation is Isolation.SPAWN else failing
        passing = (
            verdict.minimal_order if verdict.kind is Kind.BRITTLE and verdict.state_setters else (verdict.id,)
        )
        yield self._plan(passing, self.extra_runs.opened.isolation, self.extra_runs.seed, verdict)

    def _plan(self, order: Order, isolation: Isolation, seed: int | None, verdict: Verdict) -> SingleRun:
        return SingleRun(
            order=order,
            why=f"what does {verdict.id} call?",
            setting=Setting.PROBE,
            isolation=isolation,
            seed=self.extra_runs.seed if seed is None else seed,
            hash_seed=self.extra_runs.opened.hash_seed if isolation is Isolation.SPAWN else None,
            trace=trace_for(self.functions, TraceMode.ALL),
        )

    def _run_traced(self, plan: SingleRun, verdict: Verdict) -> Iterator[ObservedTrace]:
        """Run the plan and return what its last test called."""
        records = self.extra_runs.run(plan)
        # A run that was ended early wrote no trace. In the store it would look like an ordinary run, as evidence.
        self.extra_runs.save([record for record in records if record.calls])
        yield from traces_of_last_test(records, verdict.id)


def _is_flaky_or_unresolved(verdict: Verdict) -> bool:
    return verdict.kind.is_flaky or verdict.kind is Kind.UNRESOLVED
