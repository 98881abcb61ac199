"""Search the polluter of one test, with nothing started that the search does not need."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from flakehound.cli.remedies import again
from flakehound.core.errors import UsageError
from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order, RunPlan, Setting
from flakehound.core.records import RunRecord
from flakehound.core.verdicts import Verdict
from flakehound.engine.budget import Budget
from flakehound.engine.handshake import pytest_command
from flakehound.engine.launch import Target
from flakehound.engine.limits import Limits
from flakehound.engine.loop import Loop
from flakehound.engine.opening import open_suite
from flakehound.hunt.findings import Finding
from flakehound.hunt.inquiry import Inquiry
from flakehound.hunt.judgement import judge
from flakehound.hunt.ladder import climb, rungs_between
from flakehound.hunt.neighbourhood import Neighbourhood
from flakehound.hunt.shrink import split

LONGEST_SEARCH_S = 3600.0


def blame(
    target: Target,
    test: str,
    *,
    jobs: int,
    isolation: Isolation | None,
    seed: int,
    test_limit_s: float | None = None,
) -> tuple[Verdict, str]:
    """What other tests do to one test, and the suite's rootdir."""
    opened = open_suite(
        target,
        jobs=jobs,
        isolation=isolation,
        hash_seed=seed % 4294967295,
        limits=Limits(),
        with_reference=False,
    )
    try:
        if test not in opened.suite.order:
            raise _unknown(test, opened.suite.order, target)
        history = History(opened.suite)
        case = _Case(NodeId(test), history, opened.isolation, jobs)
        budget = Budget(limit_s=LONGEST_SEARCH_S)
        keep = _forget
        Loop(opened, history, budget, keep=keep, seed=seed, test_limit_s=test_limit_s).run(case)
        findings = [case.finding()] if history.failures_of(case.test) else []
        verdict = next(v for v in judge(history, findings) if v.id == test)
        return verdict, opened.handshake.rootdir
    finally:
        opened.close()


def _unknown(test: str, known: Sequence[str], target: Target) -> UsageError:
    near = difflib.get_close_matches(test, known, n=3, cutoff=0.3)
    remedy = again(test=near[0]) if near else pytest_command(target, "--collect-only", "-q")
    return UsageError(f"the suite has no test {test!r}", remedy=remedy, detail="\n".join(near))


def _forget(_records: Sequence[RunRecord]) -> None:
    """A search for one polluter keeps nothing."""


class _Case:
    """A planner for one suspect: alone, then after all others, then whatever its inquiry wants."""

    def __init__(self, test: NodeId, history: History, isolation: Isolation, jobs: int) -> None:
        self.test = test
        self._history = history
        self._isolation = isolation
        self._jobs = jobs
        self._hood = Neighbourhood(history)

    def finding(self) -> Finding:
        """What is known by now."""
        inquiry = Inquiry(
            self.test,
            self._history,
            self._hood,
            isolation=self._isolation,
            known=(),
            width=min(2, self._jobs),
            eager=True,
        )
        return inquiry.pursue()

    def urgent(self) -> list[RunPlan]:
        """Alone and after walks through the others; if all pass, in more orders; then the inquiry's wishes."""
        original = self._hood.original_order
        others = tuple(t for t in original if t != self.test)
        missing = self._missing((self.test,)) + self._walks(others)
        if not missing and not self._history.failures_of(self.test):
            missing = self._missing((*others, self.test))
        if not missing and not self._history.failures_of(self.test):
            missing = self._missing(original, tuple(reversed(original)), (*reversed(others), self.test))
        return missing or self.finding().wanted

    def _walks(self, others: Order) -> list[RunPlan]:
        """Through the others in as many parts as can go at once, with looks at the test along the way."""
        if self._isolation is Isolation.SPAWN:
            return self._missing((*others, self.test))
        plans = []
        for part in split(others, min(2, self._jobs)):
            whole = (*part, self.test)
            if not any(self._history.tallies_along(part, self.test).keys() - {0}) and not self._history.runs_of(
                part
            ):
                at = (*rungs_between(self._history, self.test, part, 0, len(part)), len(part))
                plans.append(climb(self.test, part, at, self._why(whole), until="F"))
        return plans

    def _missing(self, *orders: Order) -> list[RunPlan]:
        return [
            RunPlan(order=order, why=self._why(order), setting=Setting.PROBE, isolation=self._isolation)
            for order in orders
            if not self._history.runs_of(order)
        ]

    def _why(self, order: Order) -> str:
        return f"does {self.test} fail among {len(order)} tests?"

    def next_sweep(self) -> RunPlan | None:
        """Nothing is searched beyond the one test."""
        return None
