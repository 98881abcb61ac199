"""Run plans at the base in new interpreters, and check whose files they used."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flakehound.core.plans import Order, SingleRun
from flakehound.core.records import RunRecord
from flakehound.engine.git.base_runs import last_error_line, missing_test
from flakehound.engine.git.base_validity import (
    BaseValidity,
    missing_on_import_path,
    reason_by_import_path,
    validity_of,
)
from flakehound.engine.git.untracked_files import UntrackedFiles
from flakehound.engine.git.worktree import BaseTree
from flakehound.engine.processes.handshake import Handshake
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.processes.spawn import RecordingRequest, Spawner


class BaseInterpreters:
    """New interpreters at the base, and what is known about the validity of their runs."""

    def __init__(
        self, tree: BaseTree, target: Target, folder: Path, files: UntrackedFiles, *, recorded: bool
    ) -> None:
        self._tree = tree
        self._target = target
        self._spawner = Spawner(target, folder)
        self._files = files
        self._recorded = recorded
        self.validity = BaseValidity()  # of all runs so far

    def run(self, plan: SingleRun, limits: Limits) -> Sequence[RunRecord]:
        """Run a plan, whose tests have their ids at the base; empty if it proves nothing about the base."""
        if self._recorded:
            recorded = self._spawner.run_recorded(
                plan, limits, (), RecordingRequest(root=self._tree.top, files=())
            )
            records, handshake = recorded.records, recorded.handshake
            validity = validity_of(self._tree, self._target, recorded.dependencies, self._files)
            missing = tuple(missing_on_import_path(handshake.import_path, self._files))
            validity = validity.joined(BaseValidity(missing=missing))
        else:
            made, handshake = self._spawner.run_single(plan, limits, ())
            records, validity = tuple(made), BaseValidity()
        problem = why_missing(plan.order, handshake) or validity.problem
        problem = problem or reason_by_import_path(self._tree, self._target, handshake.import_path)
        self.validity = self.validity.joined(BaseValidity(problem=problem) if problem else validity)
        return () if problem else records


def why_missing(order: Order, handshake: Handshake) -> str:
    """Why a session lacks a test: its file could not be imported, or has no such test; empty: it has all."""
    collected = frozenset(handshake.suite.order)
    for test in order:
        file = test.partition("::")[0]
        for failed, text in () if test in collected else handshake.errors.items():
            if file == failed or file.startswith(failed.rstrip("/") + "/") or test.startswith(failed + "::"):
                reason = last_error_line(text)
                return f"the tests do not run at the base: pytest could not collect {failed} ({reason})"
    return missing_test(order, collected)
