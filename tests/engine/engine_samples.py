"""Small projects on disk, run by the engine and by plain pytest."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Literal

from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Isolation, Order, RunPlan, RunSettings, Setting, SharedPrefix, SingleRun, Walk
from flakehound.core.records import RunRecord
from flakehound.engine.processes.forkserver import ForkServer
from flakehound.engine.processes.handshake import Handshake
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.processes.spawn import Spawner

Until = Literal["fails", "passes"] | None
HASH_SEED = 7
LONG_S = 120.0  # a limit that only a broken engine reaches
HANGING_S = 2.0  # a limit that a test which hangs reaches, and no other even on a busy machine
# Worst outcome first, because the summary of pytest may list one test in several categories.
_CATEGORIES = {
    "failed": Outcome.FAILED,
    "error": Outcome.ERROR,
    "xpassed": Outcome.XPASSED,
    "xfailed": Outcome.XFAILED,
    "skipped": Outcome.SKIPPED,
    "passed": Outcome.PASSED,
}
# Variables that pytest and its plugins set for their children; a sample must not get those of our own tests.
OUTER_PYTEST = (
    "PYTHONPATH",
    "PYTHONHASHSEED",
    "PYTEST_ADDOPTS",
    "PYTEST_CURRENT_TEST",
    "PYTEST_VERSION",
    "PYTEST_PLUGINS",
    "PYTEST_XDIST_WORKER",
    "PYTEST_XDIST_WORKER_COUNT",
    "PYTEST_XDIST_TESTRUNUID",
    "HYPOTHESIS_STORAGE_DIRECTORY",
)


def write_files(root: Path, files: Mapping[str, str]) -> None:
    """Write the files of a project; their text is dedented."""
    for name, source in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source))


class Sample:
    """One project; the collected session and the spawner start when they are needed."""

    def __init__(self, target: Target, folder: Path, slots: int) -> None:
        self.target = target
        self.root = target.cwd
        self.folder = folder
        folder.mkdir(parents=True)
        self.spawner = Spawner(target, folder / "n")
        self._slots = slots
        self._server: ForkServer | None = None
        self._handshake: Handshake | None = None

    @property
    def server(self) -> ForkServer:
        if self._server is None:
            self._server = ForkServer(self.target, self.folder / "s", slots=self._slots, hash_seed=HASH_SEED)
            self._handshake = self._server.wait_until_collected()
        return self._server

    @property
    def handshake(self) -> Handshake:
        assert self.server is not None
        assert self._handshake is not None
        return self._handshake

    @property
    def ids(self) -> tuple[NodeId, ...]:
        return self.handshake.suite.order

    def fork(self, *order: str, slot: int = 0, **options: object) -> RunRecord:
        """Run one order in a forked child."""
        (record,) = self.fork_tree(order, (), slot=slot, **options)
        return record

    def fork_tree(
        self, order: Sequence[str], branches: Sequence[Sequence[str]], slot: int = 0, **options: object
    ) -> list[RunRecord]:
        """Run an order and copies of its process."""
        plan, limits, self_seeded = _plan_and_limits(order, Isolation.FORK, branches, **options)
        return self.server.slots[slot].run(plan, limits, self_seeded)

    def spawn(self, *order: str, **options: object) -> RunRecord:
        """Run one order, or the whole suite, in a new interpreter."""
        plan, limits, self_seeded = _plan_and_limits(order, Isolation.SPAWN, (), **options)
        records, _handshake = self.spawner.run_single(plan, limits, self_seeded)
        (record,) = records
        return record

    def plain(self, *arguments: str) -> dict[NodeId, Outcome]:
        """The outcomes of `python -m pytest`, without the plugins that shuffle."""
        report = self.folder / "plain.json"
        report.unlink(missing_ok=True)
        done = self.plain_process(*arguments, env={"PLAIN_REPORT": str(report)}, reporter=True)
        assert report.exists(), done.stdout
        return outcomes_in(json.loads(report.read_text()))

    def plain_process(
        self, *arguments: str, env: Mapping[str, str] = {}, reporter: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """`python -m pytest` in the sample's folder and environment."""
        extra = ["-p", "plain_reporter"] if reporter else []
        path = {"PYTHONPATH": str(Path(__file__).parent)} if reporter else {}
        return subprocess.run(
            [self.target.python, "-m", "pytest", *extra, *self.target.pytest_args, *_PLAIN, *arguments],
            cwd=self.root,
            env={**os.environ, **self.target.env, "PYTHONHASHSEED": str(HASH_SEED), **path, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )

    def close(self) -> None:
        if self._server is not None:
            self._server.close()


BARE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
WITH_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": ""}  # all that are installed
_PLAIN = ("-p", "no:randomly", "-p", "no:rerunfailures", "-p", "no:cacheprovider")


def sample_at(
    root: Path,
    files: Mapping[str, str],
    *,
    python: str = sys.executable,
    pytest_args: Sequence[str] = (),
    slots: int = 1,
    env: Mapping[str, str] = {},
    memory_bytes: int | None = None,
    env_of_collection: Mapping[str, str] = {},
) -> Sample:
    """Write a project below `root` and prepare to run it.

    In our own environment without the plugins there: importing them takes most of a small session's time.
    """
    env = {**(BARE if python == sys.executable else WITH_PLUGINS), **env}
    project = root / "project"
    project.mkdir(parents=True)
    write_files(project, {"pytest.ini": "[pytest]\n", **files})
    target = Target(
        python=python,
        cwd=project,
        pytest_args=tuple(pytest_args),
        env=env,
        env_of_collection=env_of_collection,
        memory_bytes=memory_bytes,
    )
    return Sample(target, root / "ours", slots)


def _plan_and_limits(
    order: Sequence[str],
    isolation: Isolation,
    branches: Sequence[Sequence[str]],
    *,
    seed: int | None = 1,
    self_seeded: Sequence[str] = (),
    test_limit_s: float = LONG_S,
    run_limit_s: float | None = None,
    at: tuple[int, ...] = (),
    until: Until = None,
) -> tuple[RunPlan, Limits, Sequence[str]]:
    tests = tuple(NodeId(test) for test in order)
    single = SingleRun(
        order=tests,
        why="a test of the engine",
        setting=Setting.PROBE,
        isolation=isolation,
        seed=seed,
        hash_seed=HASH_SEED,
    )
    plan = _with_copies(single, [tuple(NodeId(test) for test in branch) for branch in branches], at, until)
    return plan, Limits(test_limit_s=test_limit_s, run_limit_s=run_limit_s), self_seeded


def _with_copies(
    plan: SingleRun, branches: Sequence[Order], stops: tuple[int, ...], until: Literal["fails", "passes"] | None
) -> RunPlan:
    settings = {one.name: getattr(plan, one.name) for one in fields(RunSettings)}
    if not branches:
        return plan
    if not stops:
        return SharedPrefix(prefix=plan.order, continuations=tuple(branches), **settings)
    assert set(branches) == {branches[0]}
    return Walk(order=plan.order, test=branches[0][0], stops=stops, until=until, **settings)


def outcomes_of(record: RunRecord) -> dict[NodeId, Outcome]:
    """Outcome by test, for orders without repetitions."""
    return dict(zip(record.order, record.outcomes, strict=True))


def outcomes_in(stats: Mapping[str, Sequence[str]]) -> dict[NodeId, Outcome]:
    """Outcome by test, from the categories of pytest's summary."""
    outcomes: dict[NodeId, Outcome] = {}
    for category, outcome in reversed(_CATEGORIES.items()):
        outcomes.update(dict.fromkeys(map(NodeId, stats.get(category, ())), outcome))
    return outcomes


def is_still_alive(pid: int) -> bool:
    """Whether a process still runs after the time that the system takes to end a killed process."""
    for _ in range(500):
        if not _is_alive(pid):
            return False
        time.sleep(0.02)
    return True


def _is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    with contextlib.suppress(OSError):
        status = Path(f"/proc/{pid}/stat").read_text()
        return status.rpartition(")")[2].split()[0] not in "ZX"
    return False
