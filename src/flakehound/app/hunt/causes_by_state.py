"""At the end of a hunt: look at what polluters leave, so that a victim's report names the state they share."""

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
from flakehound.hunt.shared_state import SharedState, traces_of_runs

MOST_CULPRITS = 3  # polluters or state-setters of one test that are looked at
MOST_HARMLESS = 2  # tests after which it was as ever: what these leave too is not it


@dataclass(slots=True)
class StateFinder:
    """Compares the process of single tests before and after them."""

    extra_runs: ExtraRuns

    def with_shared_state(self, verdicts: Sequence[Verdict]) -> list[Verdict]:
        """The verdicts, those of order-dependent tests with the state that they share with who makes them so."""
        if (
            self.extra_runs.opened.isolation is not Isolation.FORK
        ):  # what a new interpreter holds cannot be compared
            return list(verdicts)
        shared_state = SharedState(self.extra_runs.history)
        cases = [verdict for verdict in verdicts if culprits_of(verdict)]
        told = {}
        for verdict in sorted(cases, key=self._cost_s):
            unknown = [test for test in self._tests(verdict, shared_state) if test not in shared_state.traces]
            if unknown and self._cost_s(verdict) <= self.extra_runs.left_s():
                shared_state.add_traces(traces_of_runs(self._looked_at(unknown)))
            told[verdict.id] = with_shared_state(verdict, shared_state)
        return [told.get(verdict.id, verdict) for verdict in verdicts]

    def _tests(self, verdict: Verdict, shared_state: SharedState) -> Iterator[NodeId]:
        """Whose traces tell what a test shares with its polluters."""
        culprits = culprits_of(verdict)
        yield from dict.fromkeys((verdict.id, *culprits[:MOST_CULPRITS]))
        fails = verdict.kind is not Kind.BRITTLE
        harmless = (
            test
            for test in self.extra_runs.history.suite.order
            if test not in culprits and shared_state.had_no_effect(test, verdict.id, fails=fails)
        )
        yield from islice(harmless, MOST_HARMLESS)

    def _cost_s(self, verdict: Verdict) -> float:
        """What looking is expected to take at most."""
        tests = (verdict.id, *culprits_of(verdict)[:MOST_CULPRITS])
        costs = self.extra_runs.history.costs
        return sum(costs.run_s((test,), Isolation.FORK, STATE_COMPARED) for test in tests)

    def _looked_at(self, tests: Sequence[NodeId]) -> Sequence[RunRecord]:
        plan = Batch(
            orders=tuple((test,) for test in tests),
            why="what does it leave?",
            setting=Setting.PROBE,
            isolation=Isolation.FORK,
            seed=self.extra_runs.seed,
            compare_state=True,
        )
        looked_at = [record for record in self.extra_runs.run(plan) if record.traces]
        self.extra_runs.save(looked_at)
        return looked_at
