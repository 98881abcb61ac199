"""Judge the failures of a run: execute each step that `triage/next_step.py` decides on, in rounds, then judge."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from flakehound.app.triage.base_suite import BaseSuite
from flakehound.app.triage.change import Change
from flakehound.app.triage.failing_run import FailedTest, FailingRun
from flakehound.app.triage.new_processes import NewProcesses
from flakehound.app.triage.step_runner import PastRunsOf, StepRunner
from flakehound.triage.comparison import FIRST_RUNS
from flakehound.triage.evidence import BaseFacts, Condition, FailureEvidence
from flakehound.triage.failure_shape import shape_of
from flakehound.triage.next_step import (
    Judge,
    KnownFailure,
    LookUpStore,
    RunSide,
    Step,
    TriageScope,
    next_step,
    survey_step,
)
from flakehound.triage.verdict import TriageVerdict, judge

# With more failures a survey comes first: a few quick runs of each test on both sides. If more than this number
# fail here and pass at the base, the change has broken all of these.
MAX_SEPARATE_FAILURES = 10
# A flaky test among them fails twice here and passes twice at the base with at most 6 %.
SURVEY_RUNS = 2
MAX_SURVEY_SHARE = 0.7  # of the time


def judge_failures(
    run: FailingRun,
    change: Change,
    processes: NewProcesses,
    *,
    base: BaseSuite,
    look_up: PastRunsOf,
    deadline_s: float,
    show_progress: Callable[[str], None],
) -> list[TriageVerdict]:
    """One verdict per failure; `look_up` finds a test and the signature of its failure in the store.

    `deadline_s`, of the monotonic clock: no run begins that is not expected to end before it.
    """
    runner = StepRunner(run, change, processes, base, look_up, deadline_s)
    return _Rounds(run, change, runner, deadline_s, show_progress).verdicts()


class _Rounds:
    """Gives each failure one step after the other, in turn, so that none of them uses up the time."""

    def __init__(
        self,
        run: FailingRun,
        change: Change,
        runner: StepRunner,
        deadline_s: float,
        show_progress: Callable[[str], None],
    ) -> None:
        self._run = run
        self._change = change
        self._runner = runner
        self._deadline_s = deadline_s
        self._show_progress = show_progress
        reruns = run.options.forked
        self._scope = TriageScope(
            first_runs=max(FIRST_RUNS, reruns) if reruns else 0,
            has_base=not runner.base_problem,
        )
        self._known = [self._initial_knowledge(failed) for failed in run.failures]
        self._was_interrupted = False

    def verdicts(self) -> list[TriageVerdict]:
        """The verdicts, in the order of the failures; an interrupt ends the runs, what is known is judged."""
        places = range(len(self._known))
        try:
            if len(self._known) > MAX_SEPARATE_FAILURES and self._scope.first_runs and self._scope.has_base:
                self._make_survey()
            self._make_rounds([place for place in places if not self._known[place].evidence.is_like_others])
        except KeyboardInterrupt:
            self._was_interrupted = True
        return [self._verdict(known) for known in self._known]

    def _make_survey(self) -> None:
        """Run every test a few times in forks on both sides, and mark those that the change has broken."""
        now_s = time.monotonic()
        end_s = now_s + MAX_SURVEY_SHARE * (self._deadline_s - now_s)
        for at_base in (False, True):
            for place, known in enumerate(self._known):
                step = survey_step(known, SURVEY_RUNS, at_base=at_base)
                if time.monotonic() < end_s and (not at_base or _fails_always(known)):
                    self._show_progress(_progress(step, known, len(self._known) - place, end_s - time.monotonic()))
                    known = self._runner.execute(step, known, self._run.failures[place])
                    self._known[place] = replace(known, steps=(*known.steps, step))
        broken = [place for place, known in enumerate(self._known) if _passes_at_base_only(known)]
        for place in broken if len(broken) > MAX_SEPARATE_FAILURES else ():
            known = self._known[place]
            evidence = replace(known.evidence, is_like_others=len(broken) - 1)
            self._known[place] = replace(known, evidence=evidence)

    def _make_rounds(self, places: Sequence[int]) -> None:
        open_places = list(places)
        while open_places:
            open_places = [place for place in open_places if self._take_turn(place, len(open_places))]

    def _take_turn(self, place: int, number_open: int) -> bool:
        """Take a step, and if the test failed in it, the same at the base; returns whether there may be more.

        So if the time is too short for all, some failures have runs on both sides, and not all on one side.
        """
        while self._take_step(place, number_open):
            known = self._known[place]
            step = known.steps[-1]
            is_base_next = (
                isinstance(step, RunSide) and not step.at_base and bool(known.evidence.sides.here.failed)
            )
            if not isinstance(step, LookUpStore) and not is_base_next:
                return True
        return False

    def _take_step(self, place: int, number_open: int) -> bool:
        """Take the next step for one failure; returns whether there may be more."""
        known = self._known[place]
        step = next_step(known, self._scope)
        if isinstance(step, Judge):
            return False
        left_s = self._deadline_s - time.monotonic()
        affordable = step if isinstance(step, LookUpStore) else self._runner.part_that_fits(step, left_s)
        if affordable is None:
            evidence = replace(known.evidence, ran_out_of_time=True)
            self._known[place] = replace(known, evidence=evidence)
            return False
        if not isinstance(step, LookUpStore):
            self._show_progress(_progress(affordable, known, number_open, left_s))
        failed = self._run.failures[place]
        known = self._runner.execute(affordable, known, failed)
        self._known[place] = replace(known, steps=(*known.steps, affordable))
        return True

    def _initial_knowledge(self, failed: FailedTest) -> KnownFailure:
        preceding = self._run.before(failed)
        evidence = FailureEvidence(
            id=failed.id,
            reruns=failed.reruns,
            signature=shape_of(failed.failure),
            base=BaseFacts(
                name=self._change.base_name,
                problem=self._runner.base_problem,
                doubt=self._change.base_doubt or (self._change.problem if self._change.base else ""),
                is_last_commit=self._change.base is not None and self._change.base.is_last_commit,
                invalid=self._runner.why_base_is_invalid,
            ),
            why_not_rerun=self._run.not_rerun,
            failed_as_if_alone=not preceding,
        )
        return KnownFailure(
            evidence=evidence,
            preceding=preceding,
            duration_s=self._run.duration_s(failed),
            has_random_state=failed.random_state is not None,
        )

    def _verdict(self, known: KnownFailure) -> TriageVerdict:
        verdict = judge(known.evidence)
        return replace(verdict, evidence=f"interrupted; {verdict.evidence}") if self._was_interrupted else verdict


def _fails_always(known: KnownFailure) -> bool:
    here = known.evidence.compared(Condition.ALONE).here
    return here.n >= SURVEY_RUNS and not here.passed


def _passes_at_base_only(known: KnownFailure) -> bool:
    base = known.evidence.compared(Condition.ALONE).base
    return _fails_always(known) and base.n >= SURVEY_RUNS and not base.failed


def _progress(step: Step, known: KnownFailure, number_open: int, left_s: float) -> str:
    more = f", {number_open} failures open" if number_open > 1 else ""
    return f"{StepRunner.describe(step, known)}{more}, {max(0.0, left_s):.0f} s left"
