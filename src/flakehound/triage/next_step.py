"""Decide which run a triage makes next about one failure.

Pure: the caller executes the step, adds what it learned to `KnownFailure` and asks again. First the condition of
the failure is found by runs here. Then the base is run under the same condition, and both sides get more runs
until they differ, agree, or the time is up. The table is in docs/internals/triage-decisions.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from flakehound.core.plans import Order
from flakehound.triage.comparison import FIRST_RUNS, LOOKS, Difference
from flakehound.triage.evidence import Condition, FailureEvidence

MAX_SAME_ORDER_S = 30.0  # a longer order is not repeated
# Runs with the random numbers of the failure that the base gets before the failure counts as independent of them.
RUNS_WITH_RANDOM_STATE = FIRST_RUNS
# Runs without an outcome after which no more are made: the test skips itself, say.
MAX_RUNS_WITHOUT_OUTCOME = 2 * FIRST_RUNS
# Numbers of the runs that are in a new interpreter, which has its own hash seed; the others are forks: quick ones.
# The first runs are forks: many failures then have runs on both sides, also where an interpreter starts slowly.
_IN_NEW_INTERPRETERS = frozenset({3, 4, 7, 15, 25, 35, 50, 70})


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUpStore:
    """Read from the store how the test ended in runs without the change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPolluters:
    """Search which of the tests that ran before it make the test fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSide:
    """Run the test under a condition, with the change or at the base."""

    at_base: bool
    condition: Condition
    order: Order
    forks: int
    new_interpreters: int
    first: int = 0  # the number of the first run: runs with one number have the same seeds on both sides

    @property
    def runs(self) -> int:
        """The number of runs."""
        return self.forks + self.new_interpreters


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckBase:
    """Run the test once at the base and record whether it uses only the files of the base."""

    order: Order


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Nothing more to run: the evidence is complete."""


Step = LookUpStore | SearchPolluters | RunSide | CheckBase | Judge


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageScope:
    """What a triage may do, the same for every failure of a run."""

    first_runs: int  # of each test in new processes; 0: none are allowed
    has_base: bool  # tests can be run at the base


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailure:
    """What is known about one failure so far, and the steps that were taken for it."""

    evidence: FailureEvidence
    preceding: Order  # the tests that ran before it in its process
    duration_s: float  # of those tests and the failed one
    has_random_state: bool  # the random state at the start of the failed test is known
    steps: tuple[Step, ...] = ()

    def has_taken(self, kind: type[Step]) -> bool:
        """Whether a step of this kind was taken."""
        return any(isinstance(step, kind) for step in self.steps)

    def runs_planned(self, condition: Condition, *, at_base: bool) -> int:
        """How many runs the steps so far asked for on one side."""
        steps = (step for step in self.steps if isinstance(step, RunSide))
        return sum(step.runs for step in steps if step.condition is condition and step.at_base is at_base)

    def order_for(self, condition: Condition) -> Order:
        """The tests to run under a condition."""
        evidence = self.evidence
        before = (evidence.polluters or self.preceding) if condition is Condition.AFTER_OTHERS else ()
        return (*before, evidence.id)


def next_step(known: KnownFailure, scope: TriageScope) -> Step:
    """The cheapest step that may change the verdict; `Judge` if there is none."""
    if not known.has_taken(LookUpStore):
        return LookUpStore()
    if not scope.first_runs or known.evidence.is_like_others:
        return Judge()
    return _find_condition(known, scope) or (_compare(known, scope) if scope.has_base else None) or Judge()


def survey_step(known: KnownFailure, runs: int, *, at_base: bool) -> RunSide:
    """A few runs alone, in forks only: the first look at one of many failures."""
    order = known.order_for(Condition.ALONE)
    return RunSide(at_base=at_base, condition=Condition.ALONE, order=order, forks=runs, new_interpreters=0)


def _find_condition(known: KnownFailure, scope: TriageScope) -> Step | None:
    """Runs here that show under which condition the test fails."""
    evidence = known.evidence
    for runs in (scope.first_runs, max(scope.first_runs, LOOKS[0])):  # the first runs have one hash seed
        step = _runs(known, Condition.ALONE, runs, at_base=False)
        if step is not None or evidence.compared(Condition.ALONE).here.failed:
            return step
    if known.has_random_state:
        step = _runs(known, Condition.RANDOM_STATE, 1, at_base=False)
        if step is not None or evidence.compared(Condition.RANDOM_STATE).here.failed:
            return step
    if not known.preceding:
        return None
    if not known.has_taken(SearchPolluters):
        return SearchPolluters()
    can_repeat = evidence.polluters or known.duration_s <= MAX_SAME_ORDER_S
    return _runs(known, Condition.AFTER_OTHERS, 1, at_base=False) if can_repeat else None


def _compare(known: KnownFailure, scope: TriageScope) -> Step | None:
    """Runs of the condition on both sides, as many as the answer takes."""
    evidence = known.evidence
    if evidence.base.problem or evidence.base.is_new:
        return None
    condition = evidence.condition
    if condition is Condition.RANDOM_STATE:
        step = _both(known, condition, RUNS_WITH_RANDOM_STATE)
        if step is not None:
            return step
        if not evidence.sides.base.failed:
            # The change may only draw other numbers, so the rates with any numbers decide.
            return _more_looks(known, Condition.ALONE, scope.first_runs)
    return _more_looks(known, condition, scope.first_runs) or _before_clearing(known)


def _more_looks(known: KnownFailure, condition: Condition, first_runs: int) -> Step | None:
    for runs in sorted({first_runs, *(look for look in LOOKS if look > first_runs)}):
        step = _both(known, condition, runs)
        if step is not None:
            return step
        if known.evidence.difference is not Difference.OPEN or known.evidence.sides.never_fails_in_the_same_way:
            return None
    return None


def _both(known: KnownFailure, condition: Condition, runs: int) -> Step | None:
    here = _runs(known, condition, runs, at_base=False)
    return here or _runs(known, condition, runs, at_base=True)


def _before_clearing(known: KnownFailure) -> Step | None:
    """What must be known before a failure is cleared: that runs at the base depend on nothing else."""
    evidence = known.evidence
    if evidence.difference is not Difference.AS_OFTEN_AT_BASE or evidence.base.invalid or evidence.base.doubt:
        return None
    if evidence.sides.has_other_values:
        return None
    if evidence.condition is not Condition.ALONE:
        step = _runs(known, Condition.ALONE, FIRST_RUNS, at_base=True)
        if step is not None:
            return step
    return None if known.has_taken(CheckBase) else CheckBase(order=known.order_for(evidence.condition))


def _runs(known: KnownFailure, condition: Condition, runs: int, *, at_base: bool) -> RunSide | None:
    """The runs that one side lacks; None if it has them, or if its runs have no outcome."""
    sides = known.evidence.compared(condition)
    counts = sides.base if at_base else sides.here
    planned = known.runs_planned(condition, at_base=at_base)
    missing = runs - counts.n
    if missing <= 0 or planned >= runs + MAX_RUNS_WITHOUT_OUTCOME:
        return None
    numbers = range(planned, planned + missing)
    interpreters = len(_IN_NEW_INTERPRETERS.intersection(numbers))
    if condition is Condition.RANDOM_STATE:
        interpreters = missing  # only a new interpreter starts with a given random state
    return RunSide(
        at_base=at_base,
        condition=condition,
        order=known.order_for(condition),
        forks=missing - interpreters,
        new_interpreters=interpreters,
        first=planned,
    )
