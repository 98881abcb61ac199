"""Execute the steps of a triage: runs here, runs at the base, the search for polluters, the store."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import ceil

from flakehound.app.triage.base_suite import BaseSuite
from flakehound.app.triage.change import Change
from flakehound.app.triage.failing_run import FailedTest, FailingRun
from flakehound.app.triage.new_processes import SEARCH_LIMIT_S, NewProcesses
from flakehound.core.failure_signatures import signature_of
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.past_runs import PastRuns
from flakehound.core.plans import Isolation
from flakehound.core.records import RunRecord
from flakehound.engine.processes.spawn import RecordedRun, RecordingRequest
from flakehound.triage.changes import EntityKind
from flakehound.triage.comparison import RunCounts
from flakehound.triage.dependencies import RecordedDependencies
from flakehound.triage.evidence import Condition, FailureEvidence, Rerun, Stage
from flakehound.triage.failure_shape import shape_of, values_of
from flakehound.triage.files_before_pytest import files_before_pytest
from flakehound.triage.intersection import intersect
from flakehound.triage.next_step import (
    CheckBase,
    Judge,
    KnownFailure,
    LookUpStore,
    RunSide,
    SearchPolluters,
    Step,
)

PastRunsOf = Callable[[NodeId, str], PastRuns | None]
_KINDS_BEFORE_PYTEST = (EntityKind.LINK, EntityKind.SUBMODULE, EntityKind.NATIVE)
MAX_CHECKED_RUNS = 30  # at the base, until one of them fails while it is recorded
_FIRST_GUESS_OF_FORK_S = 0.1  # besides the test itself, until forks were measured


class StepRunner:
    """Executes one step after the other, and adds what it showed to what is known."""

    def __init__(
        self,
        run: FailingRun,
        change: Change,
        processes: NewProcesses,
        base: BaseSuite,
        look_up: PastRunsOf,
        deadline_s: float,
    ) -> None:
        self._run = run
        self._change = change
        self._processes = processes
        self._base = base
        self._look_up = look_up
        self._deadline_s = deadline_s
        self._can_fork = True
        self._top = (change.top or run.rootdir).resolve()
        # With which a test failed at the base in a new interpreter, under a condition.
        self._failing_seeds: dict[tuple[NodeId, Condition], list[int]] = {}
        self._to_record = RecordingRequest(root=self._top, files=change.python_files, watched=change.data_files)

    @property
    def base_problem(self) -> str:
        """Why no test can be run at a base, as part of a sentence; empty: they can."""
        if not self._run.options.intersect:
            return "it was not compared with the change (--flakehound-no-intersect)"
        return self._base.problem

    @property
    def why_base_is_invalid(self) -> str | None:
        """Why no run at the base can clear a failure; None: that depends on the test."""
        entities = self._change.entities
        early = [entity.path for entity in entities if entity.kind in _KINDS_BEFORE_PYTEST]
        early += files_before_pytest(self._change.paths)
        if early:
            return f"the change has {early[0]}, which can act before pytest starts"
        return None

    @staticmethod
    def describe(step: Step, known: KnownFailure) -> str:
        """What a step does, for the line of progress."""
        match step:
            case RunSide(at_base=True) | CheckBase():
                return f"running {known.evidence.id} at the base"
            case SearchPolluters():
                return f"searching what makes {known.evidence.id} fail"
        return f"rerunning {known.evidence.id}"

    def part_that_fits(self, step: Step, left_s: float) -> Step | None:
        """The step with as many of its runs as fit into the time; None: not even one does."""
        if isinstance(step, SearchPolluters):
            return step if left_s > 0 else None
        order = step.order if isinstance(step, RunSide | CheckBase) else ()
        tests_s = self._run.tests_s(order)
        interpreter_s = tests_s + self._processes.start_s
        if isinstance(step, CheckBase):
            return step if interpreter_s <= left_s else None
        assert isinstance(step, RunSide)
        interpreters = min(step.new_interpreters, int(left_s / interpreter_s)) if left_s > 0 else 0
        fork_s = tests_s + (self._processes.fork_s or _FIRST_GUESS_OF_FORK_S)
        forks = min(step.forks, max(0, int((left_s - interpreters * interpreter_s) / fork_s)))
        if not interpreters + forks:
            return None
        return replace(step, forks=forks, new_interpreters=interpreters)

    def execute(self, step: Step, known: KnownFailure, failed: FailedTest) -> KnownFailure:
        """Take a step; what it showed is added to what is known."""
        match step:
            case LookUpStore():
                past = self._look_up(failed.id, signature_of(failed.failure))
                return replace(known, evidence=replace(known.evidence, past_runs=past))
            case SearchPolluters():
                return self._search_polluters(known, failed)
            case RunSide():
                return (
                    self._run_at_base(step, known, failed) if step.at_base else self._run_here(step, known, failed)
                )
            case CheckBase():
                return self._check_base(step, known, failed)
            case Judge():
                return known

    def _search_polluters(self, known: KnownFailure, failed: FailedTest) -> KnownFailure:
        limit_s = min(SEARCH_LIMIT_S, self._deadline_s - time.monotonic())
        verdict = self._processes.search_polluters(failed, limit_s)
        if verdict is None or not verdict.polluters or not verdict.minimal_order:
            return known
        evidence = replace(known.evidence, polluters=verdict.minimal_order[:-1])
        return replace(known, evidence=evidence)

    def _run_here(self, step: RunSide, known: KnownFailure, failed: FailedTest) -> KnownFailure:
        evidence = known.evidence
        seed = self._run.options.seed + step.first
        forks = step.forks if self._can_fork else 0
        records = self._without_dying_forks(self._processes.run_in_forks(step.order, forks, seed), failed)
        interpreters = step.new_interpreters + step.forks - len(records)
        if interpreters and step.condition is Condition.ALONE and evidence.intersection is None:
            recorded = self._processes.run_recorded(step.order, self._to_record, seed + len(records))
            if recorded is not None:
                evidence = self._with_intersection(evidence, recorded)
                records += recorded.records
                interpreters -= 1
        state = failed.random_state if step.condition is Condition.RANDOM_STATE else None
        records += self._processes.run_in_new_interpreters(step.order, interpreters, seed + len(records), state)
        evidence = _with_counts(evidence, step, records)
        if step.condition is Condition.ALONE:
            evidence = replace(evidence, reruns=(*evidence.reruns, *map(_rerun, records)))
        if step.condition is Condition.AFTER_OTHERS:
            here = evidence.compared(step.condition).here
            evidence = replace(evidence, failed_as_if_alone=bool(here.passed) and not here.failed)
        return replace(known, evidence=evidence)

    def _without_dying_forks(self, records: list[RunRecord], failed: FailedTest) -> list[RunRecord]:
        """The runs in forks; none, and no more forks from now on, if each of them died and the failure did not.

        A conftest may end every copy of its process: filelock has one.
        """
        if records and not self._run.has_crashed(failed) and all(r.last is Outcome.CRASHED for r in records):
            self._can_fork = False
            return []
        return records

    def _with_intersection(self, evidence: FailureEvidence, recorded: RecordedRun) -> FailureEvidence:
        written = recorded.dependencies
        found = intersect(
            self._change.entities,
            None if written is None else RecordedDependencies.from_json(written),
            test=evidence.id,
            root=str(self._top),
            rootdir=str(self._run.rootdir.resolve()),
        )
        return replace(evidence, intersection=found)

    def _run_at_base(self, step: RunSide, known: KnownFailure, failed: FailedTest) -> KnownFailure:
        state = failed.random_state if step.condition is Condition.RANDOM_STATE else None
        forks = step.forks if self._can_fork else 0
        runs = self._base.run(
            step.order,
            forks=forks,
            new_interpreters=step.runs - forks,
            seed=self._run.options.seed + step.first,
            random_state=state,
        )
        seeds = self._failing_seeds.setdefault((known.evidence.id, step.condition), [])
        seeds += [
            record.seed for record in runs.records if _failed_in_interpreter(record) and record.seed is not None
        ]
        evidence = _with_counts(known.evidence, step, runs.records)
        if runs.problem:
            base = replace(evidence.base, problem=runs.problem, is_new=runs.is_new)
            evidence = replace(evidence, base=base)
        return replace(known, evidence=evidence)

    def _check_base(self, step: CheckBase, known: KnownFailure, failed: FailedTest) -> KnownFailure:
        evidence = known.evidence
        condition, ways = evidence.condition, set(evidence.sides.here.failures)
        why = self._base.why_invalid(
            step.order,
            seeds=self._seeds_to_check(evidence),
            is_same_failure=lambda record: bool(ways.intersection(counts_of([record]).failures)),
            random_state=failed.random_state if condition is Condition.RANDOM_STATE else None,
        )
        return replace(known, evidence=replace(evidence, base=replace(evidence.base, invalid=why)))

    def _seeds_to_check(self, evidence: FailureEvidence) -> Iterator[int]:
        """Seeds with which it has failed at the base, then fresh ones, as many as a failure most likely takes."""
        failing = self._failing_seeds.get((evidence.id, evidence.condition), [])
        counts = evidence.sides.same_at_base
        # With three times the mean number of runs until a failure, 95 % of the failures are seen.
        fresh = min(MAX_CHECKED_RUNS, ceil(3 * counts.n / max(1, counts.failed)))
        yield from failing[:1]
        for _ in range(fresh):
            yield self._processes.fresh_seed(1)


def counts_of(records: Sequence[RunRecord]) -> RunCounts:
    """How the last test of each run ended, failures by signature; skips are not counted."""
    counts = RunCounts()
    for record in records:
        if record.last.is_failure:
            failure = record.failures.get(len(record.order) - 1)
            shape = shape_of(failure) if failure else ""
            values = {shape: frozenset({values_of(failure)})} if failure else {}
            counts += RunCounts(failures={shape: 1}, values=values)
        elif record.last.is_pass:
            counts += RunCounts(passed=1)
    return counts


def _with_counts(evidence: FailureEvidence, step: RunSide, records: Sequence[RunRecord]) -> FailureEvidence:
    sides = evidence.compared(step.condition)
    counts = counts_of(records)
    in_interpreters = counts_of([record for record in records if record.isolation is Isolation.SPAWN])
    if step.at_base:
        sides = replace(
            sides,
            base=sides.base + counts,
            base_in_interpreters=sides.base_in_interpreters + in_interpreters,
        )
    else:
        sides = replace(
            sides,
            here=sides.here + counts,
            here_in_interpreters=sides.here_in_interpreters + in_interpreters,
        )
    return replace(evidence, comparisons={**evidence.comparisons, step.condition: sides})


def _failed_in_interpreter(record: RunRecord) -> bool:
    return record.isolation is Isolation.SPAWN and record.last.is_failure


def _rerun(record: RunRecord) -> Rerun:
    failure = record.failures.get(len(record.order) - 1)
    return Rerun(
        stage=Stage.FORKED if record.isolation is Isolation.FORK else Stage.NEW_INTERPRETER,
        outcome=record.last,
        seed=record.seed,
        signature=shape_of(failure) if failure else "",
    )
