"""Everything known about one failing test when it is judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from flakehound.core.history import Tally
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.statistics.rates import chance_of_such_a_gap
from flakehound.triage.intersection import Intersection

NONE = Tally()
FRESH_FAILURES = 3  # in new processes, none passing: then a pass in the failing process itself proves nothing
_CHANCE = 0.05  # how likely luck alone may be before we call a gap a regression


class Stage(Enum):
    """Where an answer came from, in the order in which they are asked."""

    IMMEDIATE = "immediate"  # again at once, in the same process
    POSTPONED = "postponed"  # again at the end of the same process
    FORKED = "forked"  # in a process in which no test ran before
    NEW_INTERPRETER = "new-interpreter"
    INTERSECT = "intersect"  # the change and what the test depends on


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """The failing test, run once more."""

    stage: Stage
    outcome: Outcome  # NOT_RUN: it was meant to run and did not
    seed: int | None = None
    failure: str = ""  # the signature of its failure; empty: it did not fail, or it is not known how
    recorded: bool = False  # what it depends on was recorded during this one

    @property
    def passed(self) -> bool:
        """Whether it proves that the test can pass; an expected failure and a skip do not."""
        return self.outcome in (Outcome.PASSED, Outcome.XPASSED)

    @property
    def tells(self) -> bool:
        """Whether the test really ran to an outcome that says something."""
        return self.passed or self.outcome.is_failure


OUTSIDE = (Stage.FORKED, Stage.NEW_INTERPRETER)


def first_passed(reruns: Sequence[Rerun]) -> Stage | None:
    """The first stage in which a rerun passed."""
    passed = {rerun.stage for rerun in reruns if rerun.passed}
    return next((stage for stage in Stage if stage in passed), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """The latest runs of the test in the store, those with this change left out."""

    failed: int
    runs: int
    branches: int
    alike: int = 0  # of the failures: with the signature of the one to judge

    def __str__(self) -> str:
        branches = "1 branch" if self.branches == 1 else f"{self.branches} branches"
        return f"failed {self.failed} of the last {self.runs} runs on {branches}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """What is known of the test without the change, from the store or from a run at the base."""

    alone: Tally = NONE  # first in its process, as the recorded rerun was
    among: Tally = NONE  # after other tests, which may have made it pass
    failure: str = ""  # the signature it failed with alone; empty: not known
    past: Past | None = None


class Condition(Enum):
    """What was held equal when the same test was run here and at the base."""

    RANDOM_STATE = "with the random state of the failure"
    AFTER_POLLUTERS = "after the same tests"
    SAME_ORDER = "in the same order"
    ALONE = "alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseCheck:
    """The condition under which the test failed, tried with the change and without."""

    condition: Condition
    here: Tally = NONE
    base: Tally = NONE
    failure: str = ""  # the signature it failed with at the base; empty: not known
    problem: str = ""  # why it could not be tried

    @property
    def shows_a_regression(self) -> bool:
        """Whether it fails with the change and not without: always here and never there, or by more than luck."""
        here, base = self.here, self.base
        if not here.failed or not base.n:
            return False
        always = here.failed == here.n and not base.failed
        return always or chance_of_such_a_gap(here.failed, here.n, base.failed, base.n) < _CHANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One failing test and all the evidence."""

    id: NodeId
    reruns: tuple[Rerun, ...]
    failure: str = ""  # the signature of the failure that started the case; empty: not known
    same_state: Tally = NONE  # further reruns, from the random state of the failure
    base: str = "the base"  # the revision the change is measured from, as the user knows it
    intersection: Intersection | None = None
    no_intersection: str = ""  # why there is none, as a clause: "the folder is no git repository"
    versioned: bool = True  # False: there is no git, so there is no change either
    polluters: tuple[NodeId, ...] = ()
    # Of the polluters, or if none are known of all that ran before it in its process; None: not recorded.
    company: Intersection | None = None
    earlier: Earlier = Earlier()
    base_check: BaseCheck | None = None
    not_rerun: str = ""  # why reruns are missing, as a clause
    is_new: bool = False  # the test, or its polluter, does not exist at the base

    @property
    def first_passed(self) -> Stage | None:
        """The first stage in which the test passed; None also where only its own failure lets it pass."""
        return None if self.needs_its_own_failure else first_passed(self.reruns)

    @property
    def needs_its_own_failure(self) -> bool:
        """Whether it fails in every new process and passes only where it has failed before.

        The failure left something behind, a filled cache or a file. That is no chance: it fails again tomorrow.
        """
        fresh = [rerun for rerun in self.reruns if rerun.stage in OUTSIDE and rerun.tells]
        return len(fresh) >= FRESH_FAILURES and not any(rerun.passed for rerun in fresh)

    @property
    def unchanged(self) -> bool:
        """Whether nothing changed since the base."""
        return self.intersection is not None and not self.intersection.changed

    @property
    def recorded_alike(self) -> bool:
        """Whether the recorded rerun failed as the test had failed; else it may depend on other things."""
        return [rerun.failure for rerun in self.reruns if rerun.recorded] == [self.failure] != [""]

    @property
    def failed_before(self) -> bool:
        """Whether the test is known to have failed in the same way without the change."""
        earlier, check = self.earlier, self.base_check
        return bool(
            (earlier.past and earlier.past.alike)
            or (earlier.alone.failed and self.is_alike(earlier.failure))
            or (check and check.base.failed and self.is_alike(check.failure))
        )

    def is_alike(self, failure: str) -> bool:
        """Whether a signature is that of the failure to judge."""
        return bool(failure) and failure == self.failure
