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
# Other people's plugins would only slow the peer's many sessions down and flatter us.
BARE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
# Installed packages are compiled once; where this is set, every run of either side would compile them anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@contextmanager
def engine_on(target: Target, *, jobs: int) -> Iterator[OpenSuite]:
    """The suite, collected and ready to fork; without the hunt's reference run."""
    opened = open_suite(target, jobs=jobs, isolation=None, hash_seed=0, limits=Limits(), with_reference=False)
    try:
        yield opened
    finally:
        opened.close()


def bare(folder: Path, pytest_args: tuple[str, ...] = PYTEST_ARGS) -> Target:
    """The suite in `folder`, in this interpreter."""
    return Target(python=sys.executable, cwd=folder, pytest_args=pytest_args, env=BARE)


def run_all(opened: OpenSuite, plans: Iterable[RunPlan]) -> Iterator[RunRecord]:
    """Run the plans, as many at once as there are slots; the records come as they finish."""
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


def processor_s() -> float:
    """Processor time so far of this process, of all it started that still lives, and of all they waited for.

    Take both readings before the engine closes: its slots are killed then, and their time is lost to us.
    """
    total = 0.0
    me = psutil.Process()
    for process in [me, *me.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def plain_pytest(folder: Path, *args: str, env: Mapping[str, str] = BARE) -> int:
    """`python -m pytest …` in a process of its own; its exit code comes back."""
    command = [sys.executable, "-m", "pytest", *PYTEST_ARGS, "-q", *args]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **env}, stdout=subprocess.DEVNULL, check=False
    ).returncode


def flakehound_command(
    folder: Path, *args: str, env: Mapping[str, str] = BARE
) -> subprocess.CompletedProcess[str]:
    """`flakehound …` in a process of its own, whether it is installed or lies beside us."""
    return subprocess.run(
        [sys.executable, "-m", "flakehound", *args],
        cwd=folder,
        env=own_environment(env),
        capture_output=True,
        text=True,
        check=False,
    )


def own_environment(more: Mapping[str, str]) -> dict[str, str]:
    """The environment in which `-m flakehound` is found."""
    source = str(Path(flakehound.__file__).parents[1])
    return {**os.environ, **more, "PYTHONPATH": os.pathsep.join([source, *_python_path()])}


def _python_path() -> list[str]:
    return [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that is gone afterwards; its real path, as pytest will print it."""
    with tempfile.TemporaryDirectory(prefix="fh-bench-") as name:
        yield Path(name).resolve()
