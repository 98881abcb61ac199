"""Run tests at the base revision, in new interpreters.

Only the same failure as in the user's tree shows that the base has it: files that git does not track, submodules
and everything next to the user's tree are missing at the base.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

from flakehound.core.errors import FlakehoundError
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Isolation, Order, Setting, SingleRun
from flakehound.core.records import RunRecord
from flakehound.engine.git.base_validity import BaseValidity, reason_if_invalid
from flakehound.engine.git.worktree import BaseTree
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.processes.spawn import RecordingRequest, Spawner

NOT_AT_BASE = "does not exist at the base"


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseRuns:
    """The runs of an order of tests at the base."""

    records: tuple[RunRecord, ...] = ()
    problem: str = ""  # why they prove nothing about the base; then there are no records
    validity: BaseValidity = field(default_factory=BaseValidity)  # what recorded runs used, beside the base

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
    """Run an order at the base, `times` times; `target` is the suite in the user's tree.

    Seeds count upwards from `seed`; for `random_state` see `Target`. `rootdir` is pytest's root folder in the
    user's tree, to which the node ids are relative; None: as pytest determines it.
    """
    base_target = replace(tree.target(target), random_state=random_state)
    if rootdir is not None:
        base_target = replace(
            base_target, pytest_args=(f"--rootdir={tree.counterpart(rootdir)}", *base_target.pytest_args)
        )
    if not base_target.cwd.is_dir():
        return BaseRuns(problem=f"{target.cwd} {NOT_AT_BASE}")
    root = tree.counterpart(rootdir or target.cwd)
    missing = [test for test in order if not (root / test.partition("::")[0]).exists()]
    if missing and rootdir is not None:
        return BaseRuns(problem=f"{missing[-1]} {NOT_AT_BASE}")
    spawner = Spawner(base_target, tree.folder / "runs" / "n")
    records: list[RunRecord] = []
    for number in range(times):
        plan = _plan(tree, order, seed=None if seed is None else (seed + number) % 2**32)
        base_runs = _run(tree, spawner, plan, limits or Limits())
        if base_runs.problem:
            return base_runs
        records += base_runs.records
    return BaseRuns(records=tuple(records))


def _plan(tree: BaseTree, order: Order, *, seed: int | None) -> SingleRun:
    return SingleRun(
        order=order,
        why=f"does {order[-1]} fail at {tree.revision[:10]}?",
        setting=Setting.ALONE if len(order) == 1 else Setting.PROBE,
        isolation=Isolation.SPAWN,
        seed=seed,
    )


def _run(tree: BaseTree, spawner: Spawner, plan: SingleRun, limits: Limits) -> BaseRuns:
    """Run a plan once and check that it used the files of the base."""
    request = RecordingRequest(root=tree.top, files=())
    try:
        run = spawner.run_recorded(plan, limits, (), request)
    except FlakehoundError as error:
        return BaseRuns(problem=why_not_run(error, tree))
    problem = missing_test(plan.order, run.handshake.suite.order) or reason_if_invalid(tree, run.dependencies)
    if problem:
        return BaseRuns(problem=problem)
    return BaseRuns(records=tuple(with_user_paths(record, tree) for record in run.records))


def with_user_paths(record: RunRecord, tree: BaseTree) -> RunRecord:
    """The record with paths of the user's tree, so that its failures can be compared with those there."""
    user_top, base_top = str(tree.user_top), str(tree.top)
    failures = {
        place: replace(
            failure,
            message=failure.message.replace(base_top, user_top),
            where=failure.where.replace(base_top, user_top),
            text=failure.text.replace(base_top, user_top),
        )
        for place, failure in record.failures.items()
    }
    return replace(record, failures=failures)


def why_not_run(error: FlakehoundError, tree: BaseTree) -> str:
    """Our message, with the last error line of pytest's own output if there is one."""
    return _without_tree(f"the tests do not run at the base: {_last_error(error)}", tree)


def _last_error(error: FlakehoundError) -> str:
    """Our message, with the last error line of pytest's own output if there is one."""
    line = last_error_line(error.detail)
    return f"{error.what} ({line})" if line else error.what


def last_error_line(output: str) -> str:
    """The last line of pytest's output that names an error; empty if there is none."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [
        line.removeprefix("E ").strip() for line in lines if line.startswith(("E ", "ERROR", "ModuleNotFound"))
    ]
    return errors[-1] if errors else ""


def _without_tree(text: str, tree: BaseTree) -> str:
    return text.replace(f"{tree.top}/", "").replace(str(tree.top), "its folder")


def missing_test(order: Order, collected: Collection[NodeId]) -> str:
    """The problem that the last of the tests that were not collected does not exist at the base; empty: none."""
    missing = [test for test in order if test not in set(collected)]
    return f"{missing[-1]} {NOT_AT_BASE}" if missing else ""
