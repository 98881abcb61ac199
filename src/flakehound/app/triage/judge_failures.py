"""Judge the failures of a run: execute each step that `triage/next_step.py` decides on, then judge."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

from flakehound.app.sessions.plain_runs import PastOutcomes
from flakehound.app.triage.base_suite import BaseSuite, tally_of
from flakehound.app.triage.change import Change
from flakehound.app.triage.failing_run import FailedTest, FailingRun
from flakehound.app.triage.new_processes import NewProcesses
from flakehound.core.failure_signatures import signature_of
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation
from flakehound.core.records import RunRecord
from flakehound.engine.processes.spawn import RecordedRun, RecordingRequest
from flakehound.triage.dependencies import RecordedDependencies
from flakehound.triage.evidence import Condition, FailureEvidence, Rerun, Stage, WithoutChange
from flakehound.triage.intersection import Intersection, intersect
from flakehound.triage.next_step import (
    CompareWithBase,
    ConfirmInNewProcess,
    Judge,
    KnownFailure,
    LookUpStore,
    RecordDependencies,
    RecordPolluters,
    RepeatRandomState,
    RerunInForks,
    RunAloneAtBase,
    SearchPolluters,
    Step,
    TriageScope,
    next_step,
)
from flakehound.triage.verdict import TriageVerdict, judge

_PROGRESS: dict[type[Step], str] = {
    RerunInForks: "rerunning {} in a new process",
    RecordDependencies: "rerunning {} in a new interpreter",
    ConfirmInNewProcess: "rerunning {} in a new process",
    SearchPolluters: "searching what makes {} fail",
    RunAloneAtBase: "running {} at the base",
    CompareWithBase: "running {} at the base",
}


def judge_failures(
    run: FailingRun,
    change: Change,
    processes: NewProcesses,
    *,
    look_up: Callable[[NodeId, str], PastOutcomes | None],
    show_progress: Callable[[str], None],
) -> list[TriageVerdict]:
    """One verdict per failure; `look_up` finds a test and the signature of its failure in the store."""
    with closing(BaseSuite(run, change, processes)) as base:
        triage = _Triage(run, change, processes, base, look_up, show_progress)
        return [triage.verdict_on(failed) for failed in run.failures]


class _Triage:
    """Executes the steps of a triage, one failure after the other."""

    def __init__(
        self,
        run: FailingRun,
        change: Change,
        processes: NewProcesses,
        base: BaseSuite,
        look_up: Callable[[NodeId, str], PastOutcomes | None],
        show_progress: Callable[[str], None],
    ) -> None:
        self._run = run
        self._change = change
        self._processes = processes
        self._base = base
        self._look_up = look_up
        self._show_progress = show_progress
        top = change.repository.top if change.repository else run.rootdir
        self._top = top.resolve()
        self._to_record = RecordingRequest(root=self._top, files=change.python_files, watched=change.data_files)
        self._scope = TriageScope(
            new_process_reruns=0 if run.not_rerun else run.options.forked,
            compares_with_change=bool(change.entities) and run.options.intersect,
            change_is_complete=not change.problem,
            check_base=run.options.check_base,
        )

    def verdict_on(self, failed: FailedTest) -> TriageVerdict:
        """Judge one failure; an interrupt ends the steps, and the verdict uses what is known so far."""
        known = self._initial_knowledge(failed)
        try:
            while not isinstance(step := next_step(known, self._scope), Judge):
                if type(step) in _PROGRESS:
                    self._show_progress(_PROGRESS[type(step)].format(failed.id))
                known = self._execute(step, known, failed)
                known = replace(known, steps=(*known.steps, step))
        except KeyboardInterrupt:
            verdict = judge(known.evidence)
            return replace(verdict, evidence=f"interrupted; {verdict.evidence}")
        return judge(known.evidence)

    def _initial_knowledge(self, failed: FailedTest) -> KnownFailure:
        evidence = FailureEvidence(
            id=failed.id,
            reruns=failed.reruns,
            signature=signature_of(failed.failure),
            same_state=failed.same_state,
            base=self._change.base_name,
            why_not_compared=self._why_not_compared(),
            versioned=self._change.versioned,
            why_not_rerun=self._run.not_rerun,
        )
        return KnownFailure(
            evidence=evidence,
            preceding=self._run.before(failed),
            duration_s=self._run.duration_s(failed),
            has_random_state=failed.random_state is not None,
        )

    def _why_not_compared(self) -> str:
        if self._change.problem:
            return self._change.problem
        if not self._run.options.intersect:
            return "it was not compared with the change (--flakehound-no-intersect)"
        return "what it depends on was not recorded"

    def _execute(self, step: Step, known: KnownFailure, failed: FailedTest) -> KnownFailure:
        match step:
            case RerunInForks():
                return _with_reruns(known, self._processes.run_in_forks(failed.id, step.times))
            case RecordDependencies():
                return self._record_dependencies(step, known, failed)
            case ConfirmInNewProcess():
                return self._confirm(step, known)
            case RepeatRandomState():
                records = self._processes.run_in_new_interpreters((failed.id,), 1, failed.random_state)
                evidence = replace(known.evidence, same_state=tally_of(records))
                return replace(known, evidence=evidence)
            case SearchPolluters():
                return self._search_polluters(known, failed)
            case RecordPolluters():
                return self._record_polluters(step, known)
            case LookUpStore():
                return self._look_up_store(known)
            case RunAloneAtBase():
                return self._run_alone_at_base(known)
            case CompareWithBase():
                return self._compare_with_base(step, known, failed)
            case Judge():
                return known

    def _record_dependencies(
        self, step: RecordDependencies, known: KnownFailure, failed: FailedTest
    ) -> KnownFailure:
        evidence = known.evidence
        state = failed.random_state if step.with_random_state else None
        recorded = self._processes.run_recorded((failed.id,), self._to_record, state)
        if recorded is not None and not step.with_random_state:
            rerun = replace(_rerun(recorded.records[0]), recorded=True)
            evidence = replace(evidence, reruns=(*evidence.reruns, rerun))
        if self._run.options.intersect and not self._change.problem:
            evidence = replace(evidence, intersection=self._intersection(recorded, failed.id))
        return replace(known, evidence=evidence)

    def _confirm(self, step: ConfirmInNewProcess, known: KnownFailure) -> KnownFailure:
        test = known.evidence.id
        records = self._processes.run_in_forks(test, 1)
        if not records and step.or_new_interpreter:
            records = self._processes.run_in_new_interpreters((test,), 1)
        return replace(_with_reruns(known, records), cannot_confirm=not records)

    def _search_polluters(self, known: KnownFailure, failed: FailedTest) -> KnownFailure:
        verdict = self._processes.search_polluters(failed)
        if verdict is None or not verdict.polluters or not verdict.minimal_order:
            return known
        evidence = replace(known.evidence, polluters=verdict.minimal_order[:-1])
        return replace(known, evidence=evidence)

    def _record_polluters(self, step: RecordPolluters, known: KnownFailure) -> KnownFailure:
        recorded = self._processes.run_recorded(step.order, self._to_record)
        found = self._intersection(recorded, known.evidence.polluters[-1])
        return replace(known, evidence=replace(known.evidence, preceding_intersection=found))

    def _intersection(self, recorded: RecordedRun | None, test: NodeId) -> Intersection:
        written = recorded.dependencies if recorded else None
        return intersect(
            self._change.entities,
            None if written is None else RecordedDependencies.from_json(written),
            test=test,
            root=str(self._top),
            rootdir=str(self._run.rootdir.resolve()),
        )

    def _look_up_store(self, known: KnownFailure) -> KnownFailure:
        found = self._look_up(known.evidence.id, known.evidence.signature)
        if found is None:
            return known
        without_change = WithoutChange(alone=found.alone_at_base, after_others=found.at_base, past_runs=found.past)
        return replace(known, evidence=replace(known.evidence, without_change=without_change))

    def _run_alone_at_base(self, known: KnownFailure) -> KnownFailure:
        check = self._base.check(Condition.SAME_ORDER, (known.evidence.id,), times=1)
        if check is None or check.problem:
            return replace(known, evidence=replace(known.evidence, base_check=check))
        without = known.evidence.without_change
        without = replace(
            without, alone=without.alone + check.base, signature=check.signature or without.signature
        )
        evidence = replace(known.evidence, without_change=without)
        return replace(known, evidence=evidence, failed_alone_at_base=check.base.failed > 0)

    def _compare_with_base(self, step: CompareWithBase, known: KnownFailure, failed: FailedTest) -> KnownFailure:
        state = failed.random_state if step.with_random_state else None
        here = step.known_here + tally_of(
            self._processes.run_in_new_interpreters(step.order, step.runs_here, state)
        )
        check = self._base.check(step.condition, step.order, here, state, times=step.runs_at_base)
        return replace(known, evidence=replace(known.evidence, base_check=check))


def _with_reruns(known: KnownFailure, records: list[RunRecord]) -> KnownFailure:
    reruns = (*known.evidence.reruns, *map(_rerun, records))
    return replace(known, evidence=replace(known.evidence, reruns=reruns))


def _rerun(record: RunRecord) -> Rerun:
    failure = record.failures.get(len(record.order) - 1)
    return Rerun(
        stage=Stage.FORKED if record.isolation is Isolation.FORK else Stage.NEW_INTERPRETER,
        outcome=record.last,
        seed=record.seed,
        signature=signature_of(failure) if failure else "",
    )
