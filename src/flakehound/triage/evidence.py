"""Everything that is known about one failing test: its reruns, and runs of one condition here and at the base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.past_runs import PastRuns
from flakehound.triage.comparison import BothSides, Difference, RunCounts
from flakehound.triage.intersection import Intersection

MIN_PAST_RUNS = 10  # of the store, so that a failure before the change counts


class Stage(Enum):
    """The stages of a triage that can decide about a failure, in the order in which they are tried."""

    IMMEDIATE = "immediate"  # rerun at once, in the same process
    POSTPONED = "postponed"  # rerun at the end of the same process
    FORKED = "forked"  # rerun in a process in which no test ran before
    NEW_INTERPRETER = "new-interpreter"
    BASE = "base"  # the comparison with runs at the base


NEW_PROCESS_STAGES = (Stage.FORKED, Stage.NEW_INTERPRETER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """One more run of the failing test."""

    stage: Stage
    outcome: Outcome  # NOT_RUN: it was planned but did not run
    seed: int | None = None
    signature: str = ""  # of its failure; empty: it did not fail, or the failure is not known

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


class Condition(Enum):
    """Under which condition a test runs here and at the base."""

    ALONE = "alone"
    RANDOM_STATE = "with the random numbers of the failure"
    AFTER_OTHERS = "after the same tests"


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseFacts:
    """What is known about the base of the change."""

    name: str = "the base"
    problem: str = ""  # why nothing can be run there, as part of a sentence
    doubt: str = ""  # why it may contain a part of the change, as part of a sentence
    is_last_commit: bool = False  # an earlier commit of the same work may have broken the test
    is_new: bool = False  # the test, or a test before it, does not exist there
    # Why runs there do not show how the test behaves without the change; None: not checked yet.
    invalid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureEvidence:
    """One failing test and everything that is known about its failure."""

    id: NodeId
    reruns: tuple[Rerun, ...] = ()
    signature: str = ""  # of the failure to judge; empty: not known
    base: BaseFacts = BaseFacts()
    comparisons: Mapping[Condition, BothSides] = field(default_factory=dict)
    polluters: tuple[NodeId, ...] = ()
    intersection: Intersection | None = None  # of a recorded rerun; explains a verdict, never decides
    past_runs: PastRuns | None = None
    # Whether the failure itself counts as a run alone: no test ran before it, or these do not make it fail again.
    failed_as_if_alone: bool = False
    is_like_others: int = 0  # number of failures with the same signature that are proven regressions
    why_not_rerun: str = ""  # why reruns are missing, as part of a sentence
    ran_out_of_time: bool = False

    @property
    def passed_in_its_process(self) -> Stage | None:
        """The first stage in the process of the failure in which a rerun passed."""
        return next((rerun.stage for rerun in self.reruns if rerun.passed and not rerun.in_new_process), None)

    @property
    def new_process_reruns(self) -> list[Rerun]:
        """The conclusive reruns in processes in which no test had run before."""
        return [rerun for rerun in self.reruns if rerun.in_new_process and rerun.is_conclusive]

    def compared(self, condition: Condition) -> BothSides:
        """The runs of a condition on both sides."""
        return self.comparisons.get(condition, BothSides())

    @property
    def condition(self) -> Condition:
        """The condition under which it is compared: the first that makes it fail here."""
        alone = self.compared(Condition.ALONE)
        if not alone.here.failed:
            for condition in (Condition.RANDOM_STATE, Condition.AFTER_OTHERS):
                if self.compared(condition).here.failed:
                    return condition
        return Condition.ALONE

    @property
    def sides(self) -> BothSides:
        """The runs of the condition under which it is compared."""
        return self.compared(self.condition)

    @property
    def difference(self) -> Difference:
        """What the runs of both sides prove under the condition.

        The failure itself was chosen because it failed. So it counts only for the question whether the base fails
        as well, never for the question whether the test fails more often here.
        """
        found = self.sides.difference
        if found is Difference.OPEN and self.condition is Condition.ALONE and self.failed_as_if_alone:
            with_failure = replace(self.sides, here=self._alone_with_failure).difference
            return with_failure if with_failure is Difference.AS_OFTEN_AT_BASE else found
        return found

    @property
    def passes_here(self) -> bool:
        """Whether a run of ours in a new process passed with the change."""
        return any(sides.here.passed for sides in self.comparisons.values())

    @property
    def failed_as_often_before(self) -> bool:
        """Whether stored runs without the change failed in the same way and as often as the runs here."""
        past = self.past_runs
        if past is None or past.runs < MIN_PAST_RUNS or not past.same_failure or not self.failed_as_if_alone:
            return False
        before = RunCounts(passed=past.runs - past.failed, failures={self.signature: past.same_failure})
        sides = BothSides(here=self._alone_with_failure, base=before)
        was_rerun = bool(self.compared(Condition.ALONE).here.n)
        is_as_often = sides.difference is Difference.AS_OFTEN_AT_BASE
        return was_rerun and self.condition is Condition.ALONE and is_as_often

    @property
    def _alone_with_failure(self) -> RunCounts:
        return self.compared(Condition.ALONE).here + RunCounts(failures={self.signature: 1})


def first_passed_stage(reruns: Sequence[Rerun]) -> Stage | None:
    """The first stage in which a rerun passed."""
    passed = {rerun.stage for rerun in reruns if rerun.passed}
    return next((stage for stage in Stage if stage in passed), None)
