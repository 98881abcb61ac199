"""Runs after the search that examine what was found more closely."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flakehound.core.errors import FailedStep, attempt
from flakehound.core.history import History
from flakehound.core.plans import Isolation, RunPlan
from flakehound.core.records import RunRecord
from flakehound.engine.processes.limits import Limits, test_limit_for
from flakehound.engine.suite.open_suite import OpenSuite


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraRuns:
    """Runs single tests within the time that is left; they are no evidence for verdicts."""

    opened: OpenSuite
    history: History  # of the hunt, without these runs
    left_s: Callable[[], float]
    save: Callable[[Sequence[RunRecord]], object]
    seed: int
    while_waiting: Callable[[], None] = lambda: None  # called a few times per second

    def run(self, plan: RunPlan) -> Sequence[RunRecord]:
        """The records of one plan; empty if it could not be run. Then the report lacks what they would show."""
        guard = self.opened.guard
        if guard is not None:
            (guard.restore_for_spawn if plan.isolation is Isolation.SPAWN else guard.restore_for_fork)()
        test_limit_s = test_limit_for(self.history.slowest_test_s, None)
        limits = Limits(test_limit_s=test_limit_s, run_limit_s=self.left_s() + 1.0)
        records = attempt(lambda: self.opened.pool.run_now(plan, limits, self.while_waiting))
        return () if isinstance(records, FailedStep) else records
