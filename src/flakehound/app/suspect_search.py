"""Search the polluters or state-setters of one test in an open suite."""

from __future__ import annotations

import math
from collections.abc import Sequence

from flakehound.app.progress import SILENT, Progress, run_observer
from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Batch, Isolation, Order, RunPlan, Setting, SingleRun
from flakehound.core.records import RunRecord
from flakehound.core.verdicts import Verdict
from flakehound.engine.suite.budget import Budget
from flakehound.engine.suite.loop import RunLoop
from flakehound.engine.suite.open_suite import OpenSuite
from flakehound.hunt import limits
from flakehound.hunt.diagnosis.diagnose import diagnose
from flakehound.hunt.diagnosis.findings import Finding
from flakehound.hunt.diagnosis.minimal_prefix import split
from flakehound.hunt.diagnosis.prefix_walk import stops_between, walk_plan
from flakehound.hunt.diagnosis.suspect import Suspect
from flakehound.hunt.diagnosis.verdicts import judge
from flakehound.hunt.original_order import OriginalOrder

LONGEST_SEARCH_S = 3600.0


def search_polluter(
    opened: OpenSuite,
    test: str,
    *,
    jobs: int,
    seed: int,
    test_limit_s: float | None,
    among: Order = (),
    limit_s: float = LONGEST_SEARCH_S,
    progress: Progress = SILENT,
) -> Verdict:
    """Find which other tests make one test fail or pass; `among` limits them, empty: all tests of the suite."""
    history = History(opened.suite)
    planner = _SuspectPlanner(NodeId(test), history, opened.isolation, jobs, among)
    budget = Budget(limit_s=limit_s)
    loop = RunLoop(
        opened,
        history,
        budget,
        save=_discard,
        seed=seed,
        test_limit_s=test_limit_s,
        report=run_observer(progress, Budget(limit_s=math.inf), stage=lambda: "searching", found=lambda: None),
    )
    loop.run(planner)
    findings = [planner.finding()] if history.failures_of(planner.test) else []
    return next(verdict for verdict in judge(history, findings) if verdict.id == test)


def _discard(_records: Sequence[RunRecord]) -> None:
    """Store nothing: a search for one polluter has no session."""


class _SuspectPlanner:
    """Plans runs of one test: alone, after all others, then what its diagnosis asks for."""

    def __init__(self, test: NodeId, history: History, isolation: Isolation, jobs: int, among: Order = ()) -> None:
        self.test = test
        self._among = among
        self._history = history
        self._isolation = isolation
        self._jobs = jobs
        self._test_order = OriginalOrder(history)

    def finding(self) -> Finding:
        """The diagnosis by the runs so far."""
        return diagnose(
            Suspect(
                test=self.test,
                history=self._history,
                test_order=self._test_order,
                isolation=self._isolation,
                runs_at_once=min(limits.MAX_QUESTIONS_AT_ONCE, self._jobs),
                trust_first_failure=True,
            )
        )

    def follow_ups(self) -> list[RunPlan]:
        """Runs alone and walks through the others; if all pass, more orders; then what the diagnosis asks for."""
        original = self._test_order.tests
        others = tuple(t for t in self._among or original if t != self.test)
        missing = self._walks(others) + self._alone()
        if not missing and not self._history.failures_of(self.test):
            missing = self._missing((*others, self.test))
        if not missing and not self._history.failures_of(self.test) and not self._among:
            missing = self._missing(original, tuple(reversed(original)), (*reversed(others), self.test))
        return missing or list(self.finding().needed_runs)

    def _alone(self) -> list[RunPlan]:
        """Run the test alone, as often at once as a proof needs."""
        if self._history.runs_of((self.test,)):
            return []
        times = limits.CHEAP_CONFIRMATIONS if self._isolation is Isolation.FORK else 1
        return [
            Batch(
                orders=((self.test,),) * times,
                why=self._why((self.test,)),
                setting=Setting.ALONE,
                isolation=self._isolation,
            )
        ]

    def _walks(self, others: Order) -> list[RunPlan]:
        """Walk through the others, in as many parts as can run at once; each walk runs the test at its stops."""
        if self._isolation is Isolation.SPAWN:
            return self._missing((*others, self.test))
        plans: list[RunPlan] = []
        for part in split(others, min(2, self._jobs)):
            if not any(self._history.tallies_along(part, self.test).keys() - {0}) and not self._history.runs_of(
                part
            ):
                stops = (*stops_between(self._history, self.test, part, 0, len(part)), len(part))
                plans.append(walk_plan(self.test, part, stops, self._why((*part, self.test)), until="fails"))
        return plans

    def _missing(self, *orders: Order) -> list[RunPlan]:
        return [
            SingleRun(order=order, why=self._why(order), setting=Setting.PROBE, isolation=self._isolation)
            for order in orders
            if not self._history.runs_of(order)
        ]

    def _why(self, order: Order) -> str:
        return f"does {self.test} fail among {len(order)} tests?"

    def next_search_run(self) -> RunPlan | None:
        """None: only the one test is searched."""
        return None
