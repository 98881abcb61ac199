"""Run a suite for a study: one plan at a time, timed from outside as the user would wait for it."""

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

_WHY = "a study"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedRun:
    """A process that ran tests."""

    record: RunRecord
    wall_s: float

    @property
    def all_passed(self) -> bool:
        """Whether every test of it did."""
        return all(outcome.is_pass for outcome in self.record.outcomes)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedRecording:
    """A process that recorded what a test depends on."""

    run: RecordedRun
    wall_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StudiedSuite:
    """A collected suite."""

    opened: OpenSuite
    folder: Path  # for the files of its runs
    limits: Limits
    seed: int

    @property
    def rootdir(self) -> Path:
        """pytest's, without links."""
        return Path(self.opened.handshake.rootdir).resolve()

    def whole(self, order: Order) -> TimedRun:
        """An order in a new interpreter that collects the whole suite."""
        return self._timed(self._spawner(self.opened.target), order)

    def alone(self, order: Order) -> TimedRun:
        """An order in a new interpreter that collects only the files of its tests, as triage does it."""
        return self._timed(self._spawner(self._narrowed(order)), order)

    def forked(self, test: NodeId) -> TimedRun | None:
        """A test in a copy of the collected session; None where there can be none."""
        if self.opened.isolation is not Isolation.FORK:
            return None
        plan = Batch(orders=((test,),), why=_WHY, setting=Setting.PROBE, seed=self.seed)
        began = time.perf_counter()
        records = self.opened.pool.run_now(plan, self.limits)
        return TimedRun(record=records[0], wall_s=time.perf_counter() - began)

    def recorded(self, test: NodeId, root: Path) -> TimedRecording:
        """A test in a new interpreter that records what the test depends on."""
        spawner = self._spawner(self._narrowed((test,)))
        began = time.perf_counter()
        run = spawner.run_recorded(self._plan((test,)), self.limits, (), RecordingRequest(root=root))
        return TimedRecording(run=run, wall_s=time.perf_counter() - began)

    def _timed(self, spawner: Spawner, order: Order) -> TimedRun:
        began = time.perf_counter()
        records, _handshake = spawner.run_single(self._plan(order), self.limits, ())
        return TimedRun(record=records[0], wall_s=time.perf_counter() - began)

    def _plan(self, order: Order) -> SingleRun:
        return SingleRun(order=order, why=_WHY, setting=Setting.PROBE, isolation=Isolation.SPAWN, seed=self.seed)

    def _narrowed(self, order: Order) -> Target:
        target = self.opened.target
        files = dict.fromkeys(str(self.rootdir / test.partition("::")[0]) for test in order)
        return replace(target, pytest_args=(*options_only(target.pytest_args, str(target.cwd)), *files))

    def _spawner(self, target: Target) -> Spawner:
        return Spawner(target, self.folder / f"r{time.monotonic_ns()}" / "n")


def open_studied_suite(target: Target, folder: Path, limits: Limits, seed: int) -> StudiedSuite:
    """Let pytest collect a suite; its errors are the user's to see."""
    opened = open_suite(target, jobs=1, isolation=None, hash_seed=seed, limits=limits, with_reference=False)
    return StudiedSuite(opened=opened, folder=folder, limits=limits, seed=seed)


def sampled_tests(tests: Sequence[NodeId], most: int, seed: int) -> list[NodeId]:
    """As many tests as asked for, in the order of the suite."""
    if len(tests) <= most:
        return list(tests)
    chosen = set(random.Random(seed).sample(range(len(tests)), most))
    return [test for place, test in enumerate(tests) if place in chosen]
