"""Opens suites that write files, runs them as the loop does, and lists what is in their folders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine_samples import HASH_SEED, Sample

from flakehound.core.plans import Isolation, Setting, SingleRun
from flakehound.engine.processes.limits import Limits
from flakehound.engine.suite.open_suite import OpenSuite, open_suite


def listing(*folders: Path) -> dict[str, object]:
    """Every path with its content, without caches."""
    return {
        str(path): path.read_bytes() if path.is_file() else None
        for folder in folders
        for path in folder.rglob("*")
        if "__pycache__" not in path.parts and ".pytest_cache" not in path.parts
    }


@contextmanager
def opened(sample: Sample, isolation: Isolation | None = None) -> Iterator[OpenSuite]:
    """A suite with one run at a time; closed at the end."""
    suite = open_suite(sample.target, jobs=1, isolation=isolation, hash_seed=HASH_SEED, limits=Limits())
    try:
        yield suite
    finally:
        suite.close()


def run(suite: OpenSuite, *order: str, isolation: Isolation = Isolation.FORK):
    """One run as the engine's loop makes it."""
    assert suite.guard is not None
    (suite.guard.restore_for_spawn if isolation is Isolation.SPAWN else suite.guard.restore_for_fork)()
    plan = SingleRun(order=order, why="a test", setting=Setting.PROBE, isolation=isolation)
    (record,) = suite.pool.run_now(plan, Limits())
    return record
