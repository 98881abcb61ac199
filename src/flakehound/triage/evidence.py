"""Everything that is known about one failing test: reruns, comparison with the change, runs without the change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from flakehound.core.history import Tally
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.statistics.rates import fisher_p_value
from flakehound.triage.intersection import Intersection

NO_RUNS = Tally()
# After this many failures and no pass in new processes, a pass in the process of the failure proves nothing.
DECISIVE_FAILURES = 3
_SIGNIFICANCE = 0.05  # a larger p-value is taken for chance, not for a regression


class Stage(Enum):
    """The stages of a triage that can decide about a failure, in the order in which they are tried."""

    IMMEDIATE = "immediate"  # rerun at once, in the same process
    POSTPONED = "postponed"  # rerun at the end of the same process
    FORKED = "forked"  # rerun in a process in which no test ran before
    NEW_INTERPRETER = "new-interpreter"
    INTERSECT = "intersect"  # the comparison of the change with what the test depends on


NEW_PROCESS_STAGES = (Stage.FORKED, Stage.NEW_INTERPRETER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """One more run of the failing test."""

    stage: Stage
    outcome: Outcome  # NOT_RUN: it was planned but did not run
    seed: int | None = None
    signature: str = ""  # of its failure; empty: it did not fail, or the failure is not known
    recorded: bool = False  # the dependencies of the test were recorded during this rerun

    @property
    def passed(self) -> bool:
        """Whether it proves that the test can pass; an expected failure and a skip do not."""
        return self.outcome in (Outcome.PASSED, Outcome.XPASSED)

    @property
    def is_conclusive(self) -> bool:
        """Whether the test passed or failed; a skip and an expected failure prove nothing."""
        return self.passed or self.outcome.is_failure

    @property
    def in_new_process(self) -> bool:
        """Whether it ran in a process in which no test had run before."""
        return self.stage in NEW_PROCESS_STAGES


def first_passed_stage(reruns: Sequence[Rerun]) -> Stage | None:
    """The first stage in which a rerun passed."""
    passed = {rerun.stage for rerun in reruns if rerun.passed}
    return next((stage for stage in Stage if stage in passed), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRuns:
    """The latest runs of the test in the store, without runs that contain the change."""

    failed: int
    runs: int
    branches: int
    same_failure: int = 0  # failures with the signature of the failure to judge

    def __str__(self) -> str:
        branches = "1 branch" if self.branches == 1 else f"{self.branches} branches"
        return f"failed {self.failed} of the last {self.runs} runs on {branches}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WithoutChange:
    """What is known about the test without the change, from the store or from a run at the base."""

    alone: Tally = NO_RUNS  # first in its process, as the recorded rerun was
    after_others: Tally = NO_RUNS  # after other tests, which may have made it pass
    signature: str = ""  # of the failure alone; empty: not known
    past_runs: PastRuns | None = None


class Condition(Enum):
    """Which condition of the failure was repeated when the test was run here and at the base."""

    RANDOM_STATE = "with the random state of the failure"
    AFTER_POLLUTERS = "after the same tests"
    SAME_ORDER = "in the same order"
    ALONE = "alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseCheck:
    """The condition of the failure, repeated with the change (here) and without it (at the base)."""

    condition: Condition
    here: Tally = NO_RUNS
    base: Tally = NO_RUNS
    signature: str = ""  # of the failure at the base; empty: not known
    problem: str = ""  # why it could not be repeated at the base
    is_new: bool = False  # the test, or its polluter, does not exist at the base

    @property
    def shows_a_regression(self) -> bool:
        """Whether it always fails here and never at the base, or more often here than chance explains."""
        here, base = self.here, self.base
        if not here.failed or not base.n:
            return False
        always = here.failed == here.n and not base.failed
        return always or fisher_p_value(here.failed, here.n, base.failed, base.n) < _SIGNIFICANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureEvidence:
    """One failing test and everything that is known about its failure."""

    id: NodeId
    reruns: tuple[Rerun, ...]
    signature: str = ""  # of the failure to judge; empty: not known
    same_state: Tally = NO_RUNS  # further reruns, from the random state of the failure
    base: str = "the base"  # the name of the revision that the change is compared with
    intersection: Intersection | None = None
    why_not_compared: str = (
        ""  # why there is no intersection, as part of a sentence: "the folder is no git repository"
    )
    versioned: bool = True  # False: there is no git, so there is no change either
    polluters: tuple[NodeId, ...] = ()
    # Of the polluters; if none are known, of all tests that ran before it in its process. None: not recorded.
    preceding_intersection: Intersection | None = None
    without_change: WithoutChange = WithoutChange()
    base_check: BaseCheck | None = None
    why_not_rerun: str = ""  # why reruns are missing, as part of a sentence

    @property
    def first_passed(self) -> Stage | None:
        """The first stage in which the test passed; also None if it passes only after it has failed."""
        return None if self.passes_only_after_failing else first_passed_stage(self.reruns)

    @property
    def passed_in_its_process(self) -> bool:
        """Whether a rerun passed in the process of the failure."""
        return any(rerun.passed for rerun in self.reruns if not rerun.in_new_process)

    @property
    def new_process_reruns(self) -> list[Rerun]:
        """The reruns in processes in which no test had run before."""
        return [rerun for rerun in self.reruns if rerun.in_new_process]

    @property
    def passes_only_after_failing(self) -> bool:
        """Whether it fails in every new process and passes only in a process in which it has failed before.

        The failure left something behind, such as a filled cache or a file. The pass is no sign of flakiness: in a
        new process the test fails again.
        """
        conclusive = [rerun for rerun in self.new_process_reruns if rerun.is_conclusive]
        return len(conclusive) >= DECISIVE_FAILURES and not any(rerun.passed for rerun in conclusive)

    @property
    def depends_on_random_state(self) -> bool:
        """Whether it passes with other random numbers and fails again with those of the failure."""
        return self.first_passed is not None and self.same_state.failed > 0

    @property
    def may_depend_on_change(self) -> bool:
        """Whether the test, or what ran before it, depends on the change, or may."""
        found = (self.intersection, self.preceding_intersection)
        return any(intersection.intersects for intersection in found if intersection)

    @property
    def unchanged(self) -> bool:
        """Whether nothing changed since the base."""
        return self.intersection is not None and not self.intersection.changed

    @property
    def recorded_same_failure(self) -> bool:
        """Whether the recorded rerun failed in the same way; otherwise its dependencies may be others."""
        return [rerun.signature for rerun in self.reruns if rerun.recorded] == [self.signature] != [""]

    @property
    def failed_before(self) -> bool:
        """Whether the test is known to have failed in the same way without the change."""
        without, check = self.without_change, self.base_check
        return bool(
            (without.past_runs and without.past_runs.same_failure)
            or (without.alone.failed and self.is_same_failure(without.signature))
            or (check and check.base.failed and self.is_same_failure(check.signature))
        )

    @property
    def is_new(self) -> bool:
        """Whether the test, or its polluter, does not exist at the base."""
        return self.base_check is not None and self.base_check.is_new

    def is_same_failure(self, signature: str) -> bool:
        """Whether a signature is that of the failure to judge."""
        return bool(signature) and signature == self.signature
