"""Repeat the condition of a failure at the base, without the change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from flakehound.app.triage.change import Change
from flakehound.app.triage.failing_run import FailingRun
from flakehound.app.triage.new_processes import NewProcesses
from flakehound.core.failure_signatures import signature_of
from flakehound.core.history import Tally
from flakehound.core.plans import Order
from flakehound.core.records import RunRecord
from flakehound.engine.git.base_runs import NOT_AT_BASE, runs_at_base
from flakehound.engine.git.worktree import BaseTree, NoTree, temporary_checkout
from flakehound.engine.processes.launch import Target
from flakehound.triage.evidence import NO_RUNS, BaseCheck, Condition


class BaseSuite:
    """The suite at the base: checked out when it is first needed, removed by `close`."""

    def __init__(self, run: FailingRun, change: Change, processes: NewProcesses) -> None:
        self._run = run
        self._change = change
        self._processes = processes
        self._open = ExitStack()
        self._tree: BaseTree | NoTree | None = None

    def close(self) -> None:
        """Remove the checkout."""
        self._open.close()

    def check(
        self,
        condition: Condition,
        order: Order,
        here: Tally = NO_RUNS,
        random_state: Mapping[str, Any] | None = None,
        *,
        times: int,
    ) -> BaseCheck | None:
        """Run an order at the base; None if there is no commit to check out."""
        if self._change.repository is None or self._change.base is None or not self._change.base.is_commit:
            return None
        tree = self._checkout()
        if isinstance(tree, NoTree):
            return BaseCheck(condition=condition, here=here, problem=tree.why)
        arguments = self._processes.arguments_for(order)
        runs = runs_at_base(
            tree,
            Target(python=self._run.python, cwd=self._run.cwd, pytest_args=arguments),
            order,
            times=times,
            limits=self._processes.limits,
            random_state=self._processes.state_file(random_state) if random_state else None,
            rootdir=self._run.rootdir,
        )
        return BaseCheck(
            condition=condition,
            here=here,
            base=tally_of(runs.records),
            signature=_signature(runs.records),
            problem=runs.problem,
            is_new=NOT_AT_BASE in runs.problem,
        )

    def _checkout(self) -> BaseTree | NoTree:
        if self._tree is None:
            assert self._change.repository is not None
            assert self._change.base is not None
            checkout = temporary_checkout(self._change.repository, self._change.base.revision)
            self._tree = self._open.enter_context(checkout)
        return self._tree


def tally_of(records: Sequence[RunRecord]) -> Tally:
    """How often the last test of each run passed or failed; skips are not counted."""
    outcomes = [record.last for record in records if record.last.is_failure or record.last.is_pass]
    return Tally(n=len(outcomes), failed=sum(outcome.is_failure for outcome in outcomes))


def _signature(records: Sequence[RunRecord]) -> str:
    failures = (record.failures.get(len(record.order) - 1) for record in records)
    return next((signature_of(failure) for failure in failures if failure), "")
