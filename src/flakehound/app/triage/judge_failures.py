"""Judge every failure of a red run: rerun it in new processes, compare it with the change, ask the base."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from flakehound.app.sessions.plain_runs import Remembered
from flakehound.app.triage.base_suite import BaseSuite, tally_of
from flakehound.app.triage.change import Change
from flakehound.app.triage.failing_run import FailedTest, FailingRun
from flakehound.app.triage.new_processes import NewProcesses
from flakehound.core.failure_signatures import signature_of
from flakehound.core.history import Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order
from flakehound.core.records import RunRecord
from flakehound.engine.git.base_runs import NOT_AT_BASE
from flakehound.engine.processes.spawn import RecordedRun, RecordWish
from flakehound.triage.case import FRESH_FAILURES, OUTSIDE, BaseCheck, Case, Condition, Earlier, Rerun, Stage
from flakehound.triage.dependencies import Dependencies
from flakehound.triage.intersection import Intersection, intersect
from flakehound.triage.verdict import TriageVerdict, judge

BASE_RUNS = 2  # of a condition, here and at the base
BASE_RUNS_ALONE = 3  # of a test without a known condition: does it fail at the base, too, now and then?
LONGEST_ORDER_S = 30.0  # a whole order is repeated at the base only when it takes no longer
FRESH_RUNS = 8  # in new processes, until one passes: what fails half of the time fails so often once in 256 times


@dataclass(slots=True)
class Findings:
    """What is found out about one failure, step by step."""

    failed: FailedTest
    reruns: list[Rerun]
    signature: str
    same_state: Tally  # reruns from the random state of the failure
    intersection: Intersection | None = None
    polluters: Order = ()
    company: Intersection | None = None
    earlier: Earlier = field(default_factory=Earlier)
    base_check: BaseCheck | None = None

    @property
    def first_passed(self) -> Stage | None:
        """The first stage in which the test passed, as the room counts it."""
        return Case(id=self.failed.id, reruns=tuple(self.reruns)).first_passed

    @property
    def hangs_on_random_state(self) -> bool:
        """Whether it passes with other random numbers and fails with the same ones again."""
        return self.first_passed is not None and self.same_state.failed > 0

    @property
    def failed_outside(self) -> int:
        """Failures in new processes; none where it passed in one of them."""
        fresh = [rerun for rerun in self.reruns if rerun.stage in OUTSIDE]
        return 0 if any(rerun.passed for rerun in fresh) else len(fresh)

    @property
    def may_be_the_change(self) -> bool:
        """Whether the test, or what ran before it, depends on the change."""
        return any(found.intersects for found in (self.intersection, self.company) if found)


class Triage:
    """One red run. Every step asks for no more than the verdict needs."""

    def __init__(
        self,
        run: FailingRun,
        change: Change,
        processes: NewProcesses,
        *,
        remember: Callable[[NodeId, str], Remembered | None],
        tell: Callable[[str], None],
    ) -> None:
        self._run = run
        self._change = change
        self._processes = processes
        self._base = BaseSuite(run, change, processes)
        self._remember = remember
        self._tell = tell
        top = change.repository.top if change.repository else run.rootdir
        self._top = top.resolve()
        self._wish = RecordWish(root=self._top, files=change.python_files, watched=change.data_files)

    def close(self) -> None:
        """Remove what was made for it."""
        self._base.close()

    def verdict_on(self, failed: FailedTest) -> TriageVerdict:
        """Judge one failure; an interrupt leaves what is known by then."""
        found = Findings(
            failed=failed,
            reruns=list(failed.reruns),
            signature=signature_of(failed.failure),
            same_state=failed.same_state,
        )
        try:
            self._find_out(found)
        except KeyboardInterrupt:
            return replace(self._judged(found), evidence=f"interrupted; {self._judged(found).evidence}")
        return self._judged(found)

    def _find_out(self, found: Findings) -> None:
        self._rerun_outside(found)
        if found.first_passed and not found.same_state.n and found.failed.random_state is not None:
            self._try_random_state(found)
        if found.first_passed in OUTSIDE and not found.hangs_on_random_state:
            self._find_polluters(found)
        found.earlier = self._remembered(found)
        if not found.first_passed:
            self._ask_base(found)
        elif found.may_be_the_change or (found.first_passed in OUTSIDE and self._compares and not found.polluters):
            self._tell(f"running {found.failed.id} at the base")
            found.base_check = self._check(found)

    def _rerun_outside(self, found: Findings) -> None:
        failed, forked = found.failed, self._run.wishes.forked
        if self._run.not_rerun or not forked:
            return
        if not failed.passed:
            self._tell(f"rerunning {failed.id} in a new process")
            found.reruns += [_rerun(record) for record in self._processes.forked(failed.id, forked - 1)]
        if not failed.passed or self._compares:
            self._tell(f"rerunning {failed.id} in a new interpreter")
            self._record(found)
        if failed.passed:
            self._confirm_outside(found)

    def _try_random_state(self, found: Findings) -> None:
        """Whether the random numbers of the failure bring it back, first in a new interpreter."""
        if self._compares:
            records = self._processes.again((found.failed.id,), 1, found.failed.random_state)
            found.same_state = tally_of(records)

    def _confirm_outside(self, found: Findings) -> None:
        """A pass in the process of the failure may be the failure's own doing: it must pass in a new one too."""
        test = found.failed.id
        while found.failed_outside < FRESH_RUNS and not any(r.passed for r in found.reruns if r.stage in OUTSIDE):
            self._tell(f"rerunning {test} in a new process")
            records = self._processes.forked(test, 1)
            if not records and found.failed_outside < FRESH_FAILURES:
                records = self._processes.again((test,), 1)
            if not records:
                return
            found.reruns += [_rerun(record) for record in records]

    @property
    def _compares(self) -> bool:
        return bool(self._change.entities) and self._run.wishes.intersect

    def _record(self, found: Findings) -> None:
        failed = found.failed
        same = failed.hangs_on_random_state
        told = self._recorded((failed.id,), found.failed if same else None)
        if told is not None and not same:
            found.reruns.append(replace(_rerun(told.records[0]), recorded=True))
        if self._run.wishes.intersect and not self._change.problem:
            found.intersection = self._intersection(told, failed.id)

    def _recorded(self, order: Order, state_of: FailedTest | None = None) -> RecordedRun | None:
        state = state_of.random_state if state_of else None
        return self._processes.recorded(order, self._wish, state)

    def _intersection(self, told: RecordedRun | None, test: NodeId) -> Intersection:
        written = told.dependencies if told else None
        return intersect(
            self._change.entities,
            None if written is None else Dependencies.from_json(written),
            test=test,
            root=str(self._top),
            rootdir=str(self._run.rootdir.resolve()),
        )

    def _find_polluters(self, found: Findings) -> None:
        self._tell(f"searching what makes {found.failed.id} fail")
        verdict = self._processes.search(found.failed)
        if verdict is None or not verdict.polluters or not verdict.minimal_order:
            return
        found.polluters = verdict.minimal_order[:-1]
        if self._compares and not self._change.problem:
            told = self._recorded((*found.polluters, found.failed.id))
            found.company = self._intersection(told, found.polluters[-1])

    def _remembered(self, found: Findings) -> Earlier:
        known = self._remember(found.failed.id, found.signature)
        if known is None:
            return Earlier()
        return Earlier(alone=known.alone_at_base, among=known.at_base, past=known.past)

    def _check(self, found: Findings) -> BaseCheck | None:
        """The condition of the failure, here and at the base; None where no condition is known."""
        failed = found.failed
        if found.hangs_on_random_state:
            here = found.same_state + tally_of(self._processes.again((failed.id,), 1, failed.random_state))
            state = failed.random_state
            return self._base.check(Condition.RANDOM_STATE, (failed.id,), here, state, times=BASE_RUNS)
        if found.polluters:
            order = (*found.polluters, failed.id)
            here = tally_of(self._processes.again(order, BASE_RUNS))
            return self._base.check(Condition.AFTER_POLLUTERS, order, here, times=BASE_RUNS)
        if found.first_passed in OUTSIDE:
            return self._check_same_order(found)
        fresh = [rerun.outcome for rerun in found.reruns if rerun.stage in OUTSIDE and rerun.tells]
        here = Tally(n=len(fresh), failed=sum(outcome.is_failure for outcome in fresh))
        return self._base.check(Condition.ALONE, (failed.id,), here, times=BASE_RUNS_ALONE)

    def _check_same_order(self, found: Findings) -> BaseCheck | None:
        order = (*self._run.before(found.failed), found.failed.id)
        if len(order) == 1 or self._cost_s(found.failed) > LONGEST_ORDER_S:
            return None
        here = tally_of(self._processes.again(order, 1))
        return self._base.check(Condition.SAME_ORDER, order, here, times=1)

    def _ask_base(self, found: Findings) -> None:
        """For a test that never passed: does it pass without the change?"""
        known_good = found.earlier.among.passed > 0
        spared = found.intersection is not None and found.intersection.is_disjoint and self._change.entities
        if not (self._run.wishes.check_base or (known_good and spared)):
            return
        self._tell(f"running {found.failed.id} at the base")
        alone = self._base.check(Condition.SAME_ORDER, (found.failed.id,), Tally(), times=1)
        if alone is None or alone.problem:
            found.base_check = alone
            return
        found.earlier = replace(
            found.earlier, alone=found.earlier.alone + alone.base, failure=alone.failure or found.earlier.failure
        )
        if alone.base.failed and known_good and spared:
            # It may need others before it; only the same order tells whether the change matters to them.
            found.base_check = self._check_same_order(found)

    def _cost_s(self, failed: FailedTest) -> float:
        for process in self._run.processes:
            if process.worker == failed.worker:
                return sum(process.durations_s[: failed.place + 1])
        return 0.0

    def _judged(self, found: Findings) -> TriageVerdict:
        change = self._change
        return judge(
            Case(
                id=found.failed.id,
                reruns=tuple(found.reruns),
                failure=found.signature,
                same_state=found.same_state,
                base=change.base_name,
                intersection=found.intersection,
                no_intersection=self._why_no_intersection(),
                versioned=change.versioned,
                polluters=found.polluters,
                company=found.company,
                earlier=found.earlier,
                base_check=found.base_check,
                not_rerun=self._run.not_rerun,
                is_new=bool(found.base_check and NOT_AT_BASE in found.base_check.problem),
            )
        )

    def _why_no_intersection(self) -> str:
        if self._change.problem:
            return self._change.problem
        if not self._run.wishes.intersect:
            return "it was not compared with the change (--flakehound-no-intersect)"
        return "what it depends on was not recorded"


def _rerun(record: RunRecord) -> Rerun:
    place = len(record.order) - 1
    failure = record.failures.get(place)
    return Rerun(
        stage=Stage.FORKED if record.isolation is Isolation.FORK else Stage.NEW_INTERPRETER,
        outcome=record.last,
        seed=record.seed,
        failure=signature_of(failure) if failure else "",
    )
