"""Run failing tests again in processes in which no test ran before."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from flakehound.app.triage.failing_run import FailedTest, FailingRun
from flakehound.core.errors import FailedStep, attempt
from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Batch, Isolation, Order, Setting, SingleRun, hash_seed_of_run
from flakehound.core.records import RunRecord
from flakehound.core.verdicts import Verdict
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits, test_limit_for
from flakehound.engine.processes.spawn import RecordedRun, RecordingRequest, Spawner
from flakehound.engine.suite.open_suite import OpenSuite, open_suite
from flakehound.report.pytest_arguments import options_only

SEARCH_LIMIT_S = 20.0  # for the polluter of one test
_GUESSED_START_S = 1.0  # of a new interpreter, until one was measured


class NewProcesses:
    """The suite of a failing run, opened for reruns. One run at a time, so that they do not disturb each other."""

    def __init__(self, run: FailingRun) -> None:
        self._run = run
        self._target = Target(python=run.python, cwd=run.cwd, pytest_args=run.pytest_args)
        self._folder = tempfile.TemporaryDirectory(prefix="fh-triage-", ignore_cleanup_errors=True)
        self._opened: OpenSuite | None = None
        self._problem = ""  # why the suite cannot be opened
        self._next_seed = run.options.seed
        self.hash_seed = self.fresh_seed()  # of the collected sessions, here and at the base
        slowest_s = max((s for process in run.processes for s in process.durations_s), default=0.0)
        self._limits = Limits(test_limit_s=test_limit_for(slowest_s, None))
        self.records: list[RunRecord] = []  # everything that ran
        self.start_s = _GUESSED_START_S  # measured: a new interpreter with its collection
        self.fork_s = 0.0  # measured: a fork besides its tests; 0: not yet

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
                hash_seed=self.hash_seed,
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

    def run_in_forks(self, order: Order, times: int, seed: int) -> list[RunRecord]:
        """Run an order in copies of the collected session, with seeds from this one upwards.

        Empty without a session that has the tests.
        """
        if not times:
            return []
        if self._opened is None and not self._problem:
            self.open(lambda: None)
        opened = self._opened
        if opened is None or opened.isolation is not Isolation.FORK or not set(order) <= set(opened.suite.order):
            return []
        plan = Batch(
            orders=(order,) * times,
            why=f"does {order[-1]} fail again in a new process?",
            setting=Setting.ALONE if len(order) == 1 else Setting.PROBE,
            seed=seed % 2**32,
        )
        began_s = time.monotonic()
        records = list(opened.pool.run_now(plan, self._limits))
        tests_s = sum(sum(record.durations_s) for record in records)
        self.fork_s = max(0.0, (time.monotonic() - began_s - tests_s) / times)
        self.records += records
        return records

    def run_recorded(self, order: Order, to_record: RecordingRequest, seed: int) -> RecordedRun | None:
        """Run an order in a new interpreter and record what its last test depends on; None: it could not run."""
        spawner = self._spawner(order, None)
        began_s = time.monotonic()
        run = attempt(lambda: spawner.run_recorded(self._plan(order, seed), self._limits, (), to_record))
        if isinstance(run, FailedStep):
            return None
        self._note_start(began_s, run.records)
        self.records += run.records
        return run if run.records and run.records[0].last is not Outcome.NOT_RUN else None

    def run_in_new_interpreters(
        self, order: Order, times: int, seed: int, random_state: Mapping[str, Any] | None = None
    ) -> list[RunRecord]:
        """Run an order in new interpreters, with seeds from this one upwards, each with a hash seed of its own.

        The last test starts with the random state, if one is given.
        """
        spawner = self._spawner(order, random_state)
        records: list[RunRecord] = []
        for number in range(times):
            plan = self._plan(order, seed + number)
            began_s = time.monotonic()
            run = attempt(lambda plan=plan: spawner.run_single(plan, self._limits, ()))  # type: ignore[misc]
            if not isinstance(run, FailedStep):
                self._note_start(began_s, run[0])
                records += run[0]
                self.records += run[0]
        return records

    def _note_start(self, began_s: float, records: Sequence[RunRecord]) -> None:
        """Measure what a new interpreter takes besides its tests."""
        tests_s = sum(sum(record.durations_s) for record in records)
        self.start_s = max(0.0, time.monotonic() - began_s - tests_s)

    def _spawner(self, order: Order, random_state: Mapping[str, Any] | None) -> Spawner:
        state = self.state_file(random_state) if random_state else None
        target = replace(self._target, pytest_args=self.arguments_for(order), random_state=state)
        return Spawner(target, self._path("n"))

    def search_polluters(self, failed: FailedTest, limit_s: float) -> Verdict | None:
        """Search which of the tests that ran before it make it fail; None: the search is not possible."""
        opened, among = self._opened, self._run.before(failed)
        if opened is None or not among or not {failed.id, *among} <= set(opened.suite.order):
            return None
        from flakehound.app.suspect_search import search_polluter

        return search_polluter(
            opened,
            failed.id,
            jobs=1,
            seed=self.fresh_seed(),
            test_limit_s=None,
            among=among,
            limit_s=limit_s,
        )

    def arguments_for(self, order: Order) -> tuple[str, ...]:
        """pytest's arguments for the files of these tests only, so that no other file is imported."""
        files = dict.fromkeys(str(self._run.rootdir / test.partition("::")[0]) for test in order)
        return (*self.options, *files)

    @property
    def options(self) -> tuple[str, ...]:
        """pytest's arguments without paths and ids."""
        return tuple(options_only(self._run.pytest_args, str(self._run.cwd)))

    @property
    def limits(self) -> Limits:
        """How long one test may take."""
        return self._limits

    def _plan(self, order: Order, seed: int) -> SingleRun:
        setting = Setting.ALONE if len(order) == 1 else Setting.PROBE
        return SingleRun(
            order=order,
            why=f"does {order[-1]} fail again in a new interpreter?",
            setting=setting,
            isolation=Isolation.SPAWN,
            seed=seed % 2**32,
            hash_seed=hash_seed_of_run(seed),
        )

    def fresh_seed(self, times: int = 1) -> int:
        """A seed; as many that follow it are not used by others."""
        self._next_seed = (self._next_seed + times) % 2**32
        return (self._next_seed - times) % 2**32

    def state_file(self, random_state: Mapping[str, Any]) -> Path:
        """A file with the state, for a new interpreter to read."""
        path = self._path("state.json")
        path.write_text(json.dumps(random_state), encoding="utf-8")
        return path

    def _path(self, name: str) -> Path:
        return Path(self._folder.name) / name
