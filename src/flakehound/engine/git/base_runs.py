"""Run tests at the base revision, in new interpreters.

A failure there speaks against the base only if it is the failure seen here: files that git does not know,
submodules and what else surrounds the user's tree are missing there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flakehound.core.errors import FlakehoundError
from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Isolation, Order, Setting, SingleRun
from flakehound.core.records import RunRecord
from flakehound.engine.git.worktree import BaseTree
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.processes.spawn import RecordWish, Spawner

NOT_AT_BASE = "does not exist at the base"
_INSTALLED = re.compile(r".*/(site-packages|dist-packages)/")
_STANDARD = re.compile(r".*/lib/python3\.\d+/")  # an environment may lie in the user's tree


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseRuns:
    """How an order of tests ended at the base."""

    records: tuple[RunRecord, ...] = ()
    problem: str = ""  # why it could not be checked; then there are no records

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The outcome of the last test, per run."""
        return tuple(record.last for record in self.records)


def runs_at_base(
    tree: BaseTree,
    target: Target,
    order: Order,
    *,
    times: int = 1,
    limits: Limits | None = None,
    seed: int | None = None,
    random_state: Path | None = None,
    rootdir: Path | None = None,
) -> BaseRuns:
    """Run an order at the base, `times` over; `target` is the suite in the user's tree.

    Seeds count upwards from `seed`; `random_state` is what the last test starts from, see `Target`. `rootdir` is
    pytest's in the user's tree, from which the tests have their names; None: as pytest finds it.
    """
    there = replace(tree.target(target), random_state=random_state)
    if rootdir is not None:
        there = replace(there, pytest_args=(f"--rootdir={tree.counterpart(rootdir)}", *there.pytest_args))
    if not there.cwd.is_dir():
        return BaseRuns(problem=f"{target.cwd} {NOT_AT_BASE}")
    root = tree.counterpart(rootdir or target.cwd)
    missing = [test for test in order if not (root / test.partition("::")[0]).exists()]
    if missing and rootdir is not None:
        return BaseRuns(problem=f"{missing[-1]} {NOT_AT_BASE}")
    spawner = Spawner(there, tree.folder / "runs" / "n")
    records: list[RunRecord] = []
    for number in range(times):
        plan = SingleRun(
            order=order,
            why=f"does {order[-1]} fail at {tree.revision[:10]}?",
            setting=Setting.ALONE if len(order) == 1 else Setting.PROBE,
            isolation=Isolation.SPAWN,
            seed=None if seed is None else (seed + number) % 2**32,
        )
        try:
            # Lines are not asked for: nothing is traced.
            told = spawner.run_recorded(plan, limits or Limits(), (), RecordWish(root=tree.top, files=()))
        except FlakehoundError as error:
            return BaseRuns(problem=_without_tree(f"the tests do not run at the base: {_reason(error)}", tree))
        problem = _missing(order, told.handshake.suite.order) or _strayed(tree, told.dependencies)
        if problem:
            return BaseRuns(problem=problem)
        records += [_as_if_here(record, tree) for record in told.records]
    return BaseRuns(records=tuple(records))


def _as_if_here(record: RunRecord, tree: BaseTree) -> RunRecord:
    """The record with the paths of the user's tree, so that its failures can be compared with those seen there."""
    here, there = str(tree.repository.top), str(tree.top)
    failures = {
        place: replace(
            failure,
            message=failure.message.replace(there, here),
            where=failure.where.replace(there, here),
            text=failure.text.replace(there, here),
        )
        for place, failure in record.failures.items()
    }
    return replace(record, failures=failures)


def _reason(error: FlakehoundError) -> str:
    """The last line of pytest's own words that says something, else ours."""
    said = [line.strip() for line in error.detail.splitlines() if line.strip()]
    errors = [
        line.removeprefix("E ").strip() for line in said if line.startswith(("E ", "ERROR", "ModuleNotFound"))
    ]
    return f"{error.what} ({errors[-1]})" if errors else error.what


def _without_tree(text: str, tree: BaseTree) -> str:
    return text.replace(f"{tree.top}/", "").replace(str(tree.top), "its folder")


def _missing(order: Order, collected: Order) -> str:
    lacking = [test for test in order if test not in set(collected)]
    return f"{lacking[-1]} {NOT_AT_BASE}" if lacking else ""


def _strayed(tree: BaseTree, dependencies: Mapping[str, Any] | None) -> str:
    """Why a run there says nothing about the base: it used the user's changed files, or may have."""
    if dependencies is None:
        return "the test took its process with it, so it cannot be told whose code it ran"
    for name, file in sorted(dependencies["imported"].items()):
        installed = _INSTALLED.search(file or "")
        if installed and tree.holds_module(file[installed.end() :]):
            return f"the tests import the installed copy of {name}, {file}"
        if file and tree.is_in_user_tree(file) and not _is_of_an_environment(file):
            return f"the installed package points to the changed tree: {name} comes from {file}"
    for file in dependencies["opened"]:
        if tree.is_in_user_tree(file) and not _is_of_an_environment(file):
            return f"the test reads a file of the changed tree, {file}"
    return ""


def _is_of_an_environment(file: str) -> bool:
    return bool(_INSTALLED.search(file) or _STANDARD.search(file))
