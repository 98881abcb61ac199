"""After the search: compare the state before and after polluters, to name the state that tests share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from flakehound.app.hunt.extra_runs import ExtraRuns
from flakehound.core.costs import STATE_COMPARED
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Batch, Isolation, Setting
from flakehound.core.records import RunRecord
from flakehound.core.verdicts import Kind, Verdict
from flakehound.hunt.diagnosis.verdicts import culprits_of, with_shared_state
from flakehound.hunt.limits import MAX_COMPARED_CULPRITS, MAX_COMPARED_HARMLESS
from flakehound.hunt.shared_state import SharedState, traces_of_runs


@dataclass(frozen=True, slots=True)
class StateFinder:
    """Compares the state of a process before and after single tests."""

    extra_runs: ExtraRuns

    def with_shared_state(self, verdicts: Sequence[Verdict]) -> list[Verdict]:
        """Add to the verdicts on order-dependent tests the state that they share with their culprits."""
        # The state of a new interpreter cannot be compared.
        if self.extra_runs.opened.isolation is not Isolation.FORK:
            return list(verdicts)
        shared_state = SharedState(self.extra_runs.history)
        explained: dict[NodeId, Verdict] = {}
        for verdict in sorted(filter(culprits_of, verdicts), key=self._cost_s):
            unknown = [
                test for test in self._tests_to_compare(verdict, shared_state) if test not in shared_state.traces
            ]
            if unknown and self._cost_s(verdict) <= self.extra_runs.left_s():
                shared_state.add_traces(traces_of_runs(self._compare(unknown)))
            explained[verdict.id] = with_shared_state(verdict, shared_state)
        return [explained.get(verdict.id, verdict) for verdict in verdicts]

    def _tests_to_compare(self, verdict: Verdict, shared_state: SharedState) -> Iterator[NodeId]:
        """The test, its culprits, and tests without an effect on it."""
        culprits = culprits_of(verdict)
        yield from dict.fromkeys((verdict.id, *culprits[:MAX_COMPARED_CULPRITS]))
        fails = verdict.kind is not Kind.BRITTLE
        harmless = (
            test
            for test in self.extra_runs.history.suite.order
            if test not in culprits and shared_state.had_no_effect(test, verdict.id, fails=fails)
        )
        yield from islice(harmless, MAX_COMPARED_HARMLESS)

    def _cost_s(self, verdict: Verdict) -> float:
        """What the comparison is expected to take at most."""
        tests = (verdict.id, *culprits_of(verdict)[:MAX_COMPARED_CULPRITS])
        costs = self.extra_runs.history.costs
        return sum(costs.run_s((test,), Isolation.FORK, STATE_COMPARED) for test in tests)

    def _compare(self, tests: Sequence[NodeId]) -> Sequence[RunRecord]:
        """Run each test alone and compare; runs that ended before they could compare are left out."""
        plan = Batch(
            orders=tuple((test,) for test in tests),
            why="what does it leave?",
            setting=Setting.PROBE,
            isolation=Isolation.FORK,
            seed=self.extra_runs.seed,
            compare_state=True,
        )
        compared = [record for record in self.extra_runs.run(plan) if record.state_traces]
        self.extra_runs.save(compared)
        return compared
