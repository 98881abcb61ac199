"""Run tests of a suite for a study, and measure the time that a user would wait."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Batch, Isolation, Order, Setting, SingleRun
from flakehound.core.records import RunRecord
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.processes.spawn import RecordedRun, RecordingRequest, Spawner
from flakehound.engine.suite.open_suite import OpenSuite, open_suite
from flakehound.report.pytest_arguments import options_only

_REASON = "a study"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedRun:
    """A finished process, and the time from its start to its result."""

    record: RunRecord
    wall_s: float

    @property
    def all_passed(self) -> bool:
        """Whether all its tests passed."""
        return all(outcome.is_pass for outcome in self.record.outcomes)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedRecording:
    """A finished process that recorded what a test depends on, and the time from its start to its result."""

    run: RecordedRun
    wall_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StudiedSuite:
    """A collected suite, and how its runs are made."""

    opened: OpenSuite
    folder: Path  # for temporary files of the runs
    limits: Limits
    seed: int

    @property
    def rootdir(self) -> Path:
        """pytest's rootdir, without links."""
        return Path(self.opened.handshake.rootdir).resolve()

    def run_in_whole_suite(self, order: Order) -> TimedRun:
        """Run an order in a new interpreter that collects the whole suite."""
        return self._run(self._spawner(self.opened.target), order)

    def run_in_own_files(self, order: Order) -> TimedRun:
        """Run an order in a new interpreter that collects only the files of its tests, as triage does."""
        return self._run(self._spawner(self._target_of(order)), order)

    def run_forked(self, test: NodeId) -> TimedRun | None:
        """Run a test in a copy of the collected session; None if the session cannot be copied."""
        if self.opened.isolation is not Isolation.FORK:
            return None
        plan = Batch(orders=((test,),), why=_REASON, setting=Setting.PROBE, seed=self.seed)
        started = time.perf_counter()
        records = self.opened.pool.run_now(plan, self.limits)
        return TimedRun(record=records[0], wall_s=time.perf_counter() - started)

    def run_recorded(self, test: NodeId, root: Path) -> TimedRecording:
        """Run a test in a new interpreter that records what the test depends on."""
        spawner = self._spawner(self._target_of((test,)))
        started = time.perf_counter()
        run = spawner.run_recorded(self._plan((test,)), self.limits, (), RecordingRequest(root=root))
        return TimedRecording(run=run, wall_s=time.perf_counter() - started)

    def _run(self, spawner: Spawner, order: Order) -> TimedRun:
        started = time.perf_counter()
        records, _handshake = spawner.run_single(self._plan(order), self.limits, ())
        return TimedRun(record=records[0], wall_s=time.perf_counter() - started)

    def _plan(self, order: Order) -> SingleRun:
        return SingleRun(
            order=order, why=_REASON, setting=Setting.PROBE, isolation=Isolation.SPAWN, seed=self.seed
        )

    def _target_of(self, order: Order) -> Target:
        """The target restricted to the files of these tests."""
        target = self.opened.target
        files = dict.fromkeys(str(self.rootdir / test.partition("::")[0]) for test in order)
        return replace(target, pytest_args=(*options_only(target.pytest_args, str(target.cwd)), *files))

    def _spawner(self, target: Target) -> Spawner:
        return Spawner(target, self.folder / f"r{time.monotonic_ns()}" / "n")


def open_studied_suite(target: Target, folder: Path, limits: Limits, seed: int) -> StudiedSuite:
    """Let pytest collect a suite; collection errors are raised."""
    opened = open_suite(target, jobs=1, isolation=None, hash_seed=seed, limits=limits, with_reference=False)
    return StudiedSuite(opened=opened, folder=folder, limits=limits, seed=seed)


def sample_tests(tests: Sequence[NodeId], max_tests: int, seed: int) -> list[NodeId]:
    """A random sample of the tests, in their order; all tests if they are not more than `max_tests`."""
    if len(tests) <= max_tests:
        return list(tests)
    chosen = set(random.Random(seed).sample(range(len(tests)), max_tests))
    return [test for number, test in enumerate(tests) if number in chosen]
