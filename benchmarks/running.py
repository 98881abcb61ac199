"""Run suites for the benchmarks: by flakehound's engine, by its command, and by plain pytest."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil

import flakehound
from flakehound.core.plans import RunPlan
from flakehound.core.records import RunRecord
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.suite.open_suite import OpenSuite, open_suite

PYTEST_ARGS = ("-p", "no:cacheprovider")
# Other plugins would slow down the peer's many sessions, and make us look better than we are.
NO_OTHER_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
# With this variable every run of either side would compile the installed packages again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@contextmanager
def open_collected_suite(target: Target, *, jobs: int) -> Iterator[OpenSuite]:
    """Collect the suite so that it is ready to fork, without the reference run of a hunt."""
    opened = open_suite(target, jobs=jobs, isolation=None, hash_seed=0, limits=Limits(), with_reference=False)
    try:
        yield opened
    finally:
        opened.close()


def target_in(folder: Path, pytest_args: tuple[str, ...] = PYTEST_ARGS) -> Target:
    """The suite in `folder`, run by this interpreter."""
    return Target(python=sys.executable, cwd=folder, pytest_args=pytest_args, env=NO_OTHER_PLUGINS)


def run_all(opened: OpenSuite, plans: Iterable[RunPlan]) -> Iterator[RunRecord]:
    """Run the plans, as many at once as there are slots; yield the records as the runs finish."""
    pool, waiting = opened.pool, iter(plans)
    while True:
        while len(pool.running) < pool.jobs and (plan := next(waiting, None)) is not None:
            pool.submit(plan, Limits())
        if not pool.running:
            return
        job = pool.next_finished(60.0)
        if job is None:
            continue
        if job.error is not None:
            raise job.error
        yield from job.records


def total_cpu_s() -> float:
    """CPU time so far of this process and its descendants, ended children included.

    Read it before the engine closes: closing kills the slots, and their time is lost.
    """
    total = 0.0
    own = psutil.Process()
    for process in [own, *own.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def run_plain_pytest(folder: Path, *args: str, env: Mapping[str, str] = NO_OTHER_PLUGINS) -> int:
    """Run `python -m pytest …` in a new process and return its exit code."""
    command = [sys.executable, "-m", "pytest", *PYTEST_ARGS, "-q", *args]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **env}, stdout=subprocess.DEVNULL, check=False
    ).returncode


def run_flakehound(
    folder: Path, *args: str, env: Mapping[str, str] = NO_OTHER_PLUGINS
) -> subprocess.CompletedProcess[str]:
    """Run `flakehound …` in a new process, with the same source as this process."""
    return subprocess.run(
        [sys.executable, "-m", "flakehound", *args],
        cwd=folder,
        env=environment_with_flakehound(env),
        capture_output=True,
        text=True,
        check=False,
    )


def environment_with_flakehound(extra: Mapping[str, str]) -> dict[str, str]:
    """Our environment and `extra`, with a path on which `-m flakehound` is found."""
    source = str(Path(flakehound.__file__).parents[1])
    return {**os.environ, **extra, "PYTHONPATH": os.pathsep.join([source, *_python_path_entries()])}


def _python_path_entries() -> list[str]:
    return [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder that is removed afterwards; yields its real path, as pytest will print it."""
    with tempfile.TemporaryDirectory(prefix="fh-bench-") as name:
        yield Path(name).resolve()
