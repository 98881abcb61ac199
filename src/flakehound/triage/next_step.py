"""Decide which run a triage makes next about one failure.

Pure: the caller executes the step, adds what it learned to `KnownFailure` and asks again. The order of the
decisions is the order of their cost: reruns, the random state, the polluter search, the store, the base.
"""

from __future__ import annotations

from dataclasses import dataclass

from flakehound.core.history import Tally
from flakehound.core.plans import Order
from flakehound.triage.evidence import (
    DECISIVE_FAILURES,
    NEW_PROCESS_STAGES,
    NO_RUNS,
    Condition,
    FailureEvidence,
)

BASE_RUNS = 2  # of a known condition, here and at the base
BASE_RUNS_ALONE = 3  # of a test without a known condition: does it sometimes fail at the base, too?
MAX_SAME_ORDER_S = 30.0  # a longer order is not repeated at the base
# Reruns in new processes until one passes. A test that fails half of the time fails all 8 in 1 of 256 cases.
MAX_CONFIRMATIONS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RerunInForks:
    """Run the test alone in copies of a process that has collected the suite."""

    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordDependencies:
    """Run the test alone in a new interpreter and record what it depends on."""

    with_random_state: bool  # of the failure; a pass of such a run does not prove the test flaky


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmInNewProcess:
    """Run the test once in a new process, because its failure may have caused its pass in the same process."""

    or_new_interpreter: bool  # use a new interpreter if the test cannot run in a fork


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatRandomState:
    """Run the test in a new interpreter that starts with the random state of the failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPolluters:
    """Search which of the tests that ran before it make the test fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPolluters:
    """Run polluters and test in a new interpreter and record what the run depends on."""

    order: Order


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUpStore:
    """Read from the store how the test ended in runs without the change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAloneAtBase:
    """Run the test alone at the base: does it pass without the change?"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareWithBase:
    """Repeat the condition of the failure here and at the base."""

    condition: Condition
    order: Order
    known_here: Tally = NO_RUNS  # runs of the condition that exist already
    runs_here: int = 0  # further runs to make
    runs_at_base: int
    with_random_state: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Nothing more to run: the evidence is complete."""


Step = (
    RerunInForks
    | RecordDependencies
    | ConfirmInNewProcess
    | RepeatRandomState
    | SearchPolluters
    | RecordPolluters
    | LookUpStore
    | RunAloneAtBase
    | CompareWithBase
    | Judge
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageScope:
    """What a triage may do, the same for every failure of a run."""

    new_process_reruns: int  # that the user allows; 0 also if too many tests failed
    compares_with_change: bool  # there is a change, and the user asked to compare failures with it
    change_is_complete: bool  # False: a part of the change could not be read
    check_base: bool  # the user asked to run every test that never passed at the base


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailure:
    """What is known about one failure so far, and the steps that were taken for it."""

    evidence: FailureEvidence
    preceding: Order  # the tests that ran before it in its process
    duration_s: float  # of those tests and the failed one
    has_random_state: bool  # the random state at the start of the failed test is known
    steps: tuple[Step, ...] = ()
    cannot_confirm: bool = False  # the last attempt to run it in a new process gave no outcome
    failed_alone_at_base: bool = False

    def has_taken(self, kind: type[Step]) -> bool:
        """Whether a step of this kind was taken."""
        return any(isinstance(step, kind) for step in self.steps)

    @property
    def order(self) -> Order:
        """The tests of its process up to the failed one."""
        return (*self.preceding, self.evidence.id)


def next_step(known: KnownFailure, scope: TriageScope) -> Step:
    """The cheapest step that may change the verdict; `Judge` if there is none."""
    return (
        _rerun(known, scope)
        or _random_state(known, scope)
        or _polluters(known, scope)
        or _store(known)
        or _base(known, scope)
        or Judge()
    )


def _rerun(known: KnownFailure, scope: TriageScope) -> Step | None:
    evidence = known.evidence
    if not scope.new_process_reruns:
        return None
    if not evidence.passed_in_its_process and not known.has_taken(RerunInForks):
        # One of the allowed reruns is the recorded one. Without a rerun left, the step still opens the suite,
        # which the polluter search needs.
        return RerunInForks(times=scope.new_process_reruns - 1)
    is_recorded_run_useful = not evidence.passed_in_its_process or scope.compares_with_change
    if is_recorded_run_useful and not known.has_taken(RecordDependencies):
        depends_on_state = evidence.passed_in_its_process and evidence.same_state.failed > 0
        return RecordDependencies(with_random_state=depends_on_state and known.has_random_state)
    return _confirmation(known) if evidence.passed_in_its_process else None


def _confirmation(known: KnownFailure) -> Step | None:
    """A pass in the process of the failure may be an effect of the failure, so it must pass in a new one, too."""
    reruns = known.evidence.new_process_reruns
    if known.cannot_confirm or len(reruns) >= MAX_CONFIRMATIONS or any(rerun.passed for rerun in reruns):
        return None
    return ConfirmInNewProcess(or_new_interpreter=len(reruns) < DECISIVE_FAILURES)


def _random_state(known: KnownFailure, scope: TriageScope) -> Step | None:
    """Repeat the random numbers of the failure in a new interpreter, unless a rerun in its process did so."""
    if known.has_taken(RepeatRandomState) or known.evidence.first_passed is None or known.evidence.same_state.n:
        return None
    return RepeatRandomState() if known.has_random_state and scope.compares_with_change else None


def _polluters(known: KnownFailure, scope: TriageScope) -> Step | None:
    evidence = known.evidence
    if evidence.first_passed not in NEW_PROCESS_STAGES or evidence.depends_on_random_state:
        return None
    if not known.has_taken(SearchPolluters):
        return SearchPolluters()
    can_compare = scope.compares_with_change and scope.change_is_complete
    if evidence.polluters and can_compare and not known.has_taken(RecordPolluters):
        return RecordPolluters(order=(*evidence.polluters, evidence.id))
    return None


def _store(known: KnownFailure) -> Step | None:
    return None if known.has_taken(LookUpStore) else LookUpStore()


def _base(known: KnownFailure, scope: TriageScope) -> Step | None:
    if known.has_taken(CompareWithBase):
        return None
    evidence = known.evidence
    if evidence.first_passed is None:
        return _base_of_never_passed(known, scope)
    passed_elsewhere = evidence.first_passed in NEW_PROCESS_STAGES and not evidence.polluters
    if evidence.may_depend_on_change or (passed_elsewhere and scope.compares_with_change):
        return _failing_condition(known)
    return None


def _base_of_never_passed(known: KnownFailure, scope: TriageScope) -> Step | None:
    """Run the test alone, then in the same order: it may need tests before it, which may have changed."""
    evidence = known.evidence
    found = evidence.intersection
    is_disjoint = found is not None and found.is_disjoint and found.changed > 0
    is_surprising = evidence.without_change.after_others.passed > 0 and is_disjoint
    if not known.has_taken(RunAloneAtBase):
        return RunAloneAtBase() if scope.check_base or is_surprising else None
    return _same_order(known) if known.failed_alone_at_base and is_surprising else None


def _failing_condition(known: KnownFailure) -> Step | None:
    """Repeat what made the test fail: the random state, the polluters or the order; if nothing is known, alone."""
    evidence = known.evidence
    alone = (evidence.id,)
    if evidence.depends_on_random_state:
        return CompareWithBase(
            condition=Condition.RANDOM_STATE,
            order=alone,
            known_here=evidence.same_state,
            runs_here=1,
            runs_at_base=BASE_RUNS,
            with_random_state=True,
        )
    if evidence.polluters:
        return CompareWithBase(
            condition=Condition.AFTER_POLLUTERS,
            order=(*evidence.polluters, *alone),
            runs_here=BASE_RUNS,
            runs_at_base=BASE_RUNS,
        )
    if evidence.first_passed in NEW_PROCESS_STAGES:
        return _same_order(known)
    outcomes = [rerun.outcome for rerun in evidence.new_process_reruns if rerun.is_conclusive]
    here = Tally(n=len(outcomes), failed=sum(outcome.is_failure for outcome in outcomes))
    return CompareWithBase(condition=Condition.ALONE, order=alone, known_here=here, runs_at_base=BASE_RUNS_ALONE)


def _same_order(known: KnownFailure) -> Step | None:
    if not known.preceding or known.duration_s > MAX_SAME_ORDER_S:
        return None
    return CompareWithBase(condition=Condition.SAME_ORDER, order=known.order, runs_here=1, runs_at_base=1)
