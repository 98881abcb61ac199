"""Run failing tests again in processes in which no test ran before."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from flakehound.app.triage.failing_run import FailedTest, FailingRun
from flakehound.core.errors import FailedStep, attempt
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Batch, Isolation, Order, Setting, SingleRun
from flakehound.core.records import RunRecord
from flakehound.core.verdicts import Verdict
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits, test_limit_for
from flakehound.engine.processes.spawn import RecordedRun, RecordingRequest, Spawner
from flakehound.engine.suite.open_suite import OpenSuite, open_suite
from flakehound.report.pytest_arguments import options_only

SEARCH_LIMIT_S = 30.0  # for the polluter of one test


class NewProcesses:
    """The suite of a failing run, opened for reruns. One run at a time, so that they do not disturb each other."""

    def __init__(self, run: FailingRun) -> None:
        self._run = run
        self._target = Target(python=run.python, cwd=run.cwd, pytest_args=run.pytest_args)
        self._folder = tempfile.TemporaryDirectory(prefix="fh-triage-", ignore_cleanup_errors=True)
        self._opened: OpenSuite | None = None
        self._problem = ""  # why the suite cannot be opened
        self._next_seed = run.options.seed
        slowest_s = max((s for process in run.processes for s in process.durations_s), default=0.0)
        self._limits = Limits(test_limit_s=test_limit_for(slowest_s, None))
        self.records: list[RunRecord] = []  # everything that ran

    def __enter__(self) -> NewProcesses:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is not None:
            self._opened.close()
        self._folder.cleanup()

    def open(self, during_collection: Callable[[], None]) -> str:
        """Let pytest collect the suite as in the failing run; returns the problem, empty: none."""
        opened = attempt(
            lambda: open_suite(
                self._target,
                jobs=1,
                isolation=None,
                hash_seed=self._fresh_seed(),
                limits=self._limits,
                with_reference=False,
                during_collection=during_collection,
            )
        )
        if isinstance(opened, FailedStep):
            self._problem = opened.what
        else:
            self._opened = opened
        return self._problem

    def run_in_forks(self, test: NodeId, times: int) -> list[RunRecord]:
        """Run the test alone in copies of the collected session; empty without a session that has the test."""
        if self._opened is None and not self._problem:
            self.open(lambda: None)
        opened = self._opened
        if opened is None or opened.isolation is not Isolation.FORK or test not in opened.suite.order:
            return []
        plan = Batch(
            orders=((test,),) * times,
            why=f"does {test} fail again in a new process?",
            setting=Setting.ALONE,
            seed=self._fresh_seed(times),
        )
        records = list(opened.pool.run_now(plan, self._limits))
        self.records += records
        return records

    def run_recorded(
        self, order: Order, to_record: RecordingRequest, random_state: Mapping[str, Any] | None = None
    ) -> RecordedRun | None:
        """Run an order in a new interpreter and record what its last test depends on; None: it could not run."""
        spawner = self._spawner(order, random_state)
        run = attempt(lambda: spawner.run_recorded(self._plan(order), self._limits, (), to_record))
        if isinstance(run, FailedStep):
            return None
        self.records += run.records
        return run if run.records and run.records[0].last is not Outcome.NOT_RUN else None

    def run_in_new_interpreters(
        self, order: Order, times: int, random_state: Mapping[str, Any] | None = None
    ) -> list[RunRecord]:
        """Run an order in new interpreters; the last test starts with the random state, if one is given."""
        spawner = self._spawner(order, random_state)
        records: list[RunRecord] = []
        for _ in range(times):
            run = attempt(lambda: spawner.run_single(self._plan(order), self._limits, ()))
            if not isinstance(run, FailedStep):
                records += run[0]
                self.records += run[0]
        return records

    def _spawner(self, order: Order, random_state: Mapping[str, Any] | None) -> Spawner:
        state = self.state_file(random_state) if random_state else None
        target = replace(self._target, pytest_args=self.arguments_for(order), random_state=state)
        return Spawner(target, self._path("n"))

    def search_polluters(self, failed: FailedTest) -> Verdict | None:
        """Search which of the tests that ran before it make it fail; None: the search is not possible."""
        opened, among = self._opened, self._run.before(failed)
        if opened is None or not among or not {failed.id, *among} <= set(opened.suite.order):
            return None
        from flakehound.app.suspect_search import search_polluter

        return search_polluter(
            opened,
            failed.id,
            jobs=1,
            seed=self._fresh_seed(),
            test_limit_s=None,
            among=among,
            limit_s=SEARCH_LIMIT_S,
        )

    def arguments_for(self, order: Order) -> tuple[str, ...]:
        """pytest's arguments for the files of these tests only, so that no other file is imported."""
        files = dict.fromkeys(str(self._run.rootdir / test.partition("::")[0]) for test in order)
        return (*options_only(self._run.pytest_args, str(self._run.cwd)), *files)

    @property
    def limits(self) -> Limits:
        """How long one test may take."""
        return self._limits

    def _plan(self, order: Order) -> SingleRun:
        setting = Setting.ALONE if len(order) == 1 else Setting.PROBE
        return SingleRun(
            order=order,
            why=f"does {order[-1]} fail again in a new interpreter?",
            setting=setting,
            isolation=Isolation.SPAWN,
            seed=self._fresh_seed(),
        )

    def _fresh_seed(self, times: int = 1) -> int:
        self._next_seed = (self._next_seed + times) % 2**32
        return (self._next_seed - times) % 2**32

    def state_file(self, random_state: Mapping[str, Any]) -> Path:
        """A file with the state, for a new interpreter to read."""
        path = self._path("state.json")
        path.write_text(json.dumps(random_state), encoding="utf-8")
        return path

    def _path(self, name: str) -> Path:
        return Path(self._folder.name) / name
