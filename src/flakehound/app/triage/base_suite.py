"""The suite at the base of the change: checked out when it is first needed, then run there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flakehound.app.triage.change import Change
from flakehound.app.triage.failing_run import FailingRun
from flakehound.app.triage.new_processes import NewProcesses
from flakehound.core.plans import Order
from flakehound.core.records import RunRecord
from flakehound.engine.git.base_runs import NOT_AT_BASE
from flakehound.engine.git.base_session import BaseSession
from flakehound.engine.git.base_validity import BaseValidity
from flakehound.engine.git.worktree import BaseTree, NoTree, folder_checkout, temporary_checkout
from flakehound.engine.processes.launch import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsAtBase:
    """The runs of an order at the base, or why there are none."""

    records: tuple[RunRecord, ...] = ()
    problem: str = ""

    @property
    def is_new(self) -> bool:
        """Whether the reason is that a test does not exist at the base."""
        return NOT_AT_BASE in self.problem


class BaseSuite:
    """The suite at the base; `close` removes the checkout."""

    def __init__(self, run: FailingRun, change: Change, processes: NewProcesses, deadline_s: float) -> None:
        self._run = run
        self._change = change
        self._processes = processes
        self._deadline_s = deadline_s
        self._open = ExitStack()
        self._session: BaseSession | None = None
        self._no_tree = ""
        self._collected_files: tuple[Path, ...] | None = None
        self.notes: list[str] = []

    def close(self) -> None:
        """End the session at the base and remove the checkout."""
        self._open.close()

    @property
    def problem(self) -> str:
        """Why nothing can be run at the base, as part of a sentence; empty: nothing is known against it."""
        base = self._change.base
        if base is None:
            return self._change.problem or "no base is known"
        if not base.is_commit and base.folder is None:
            return f"{base.name} has no files"
        return self._no_tree

    def run(
        self,
        order: Order,
        *,
        forks: int,
        new_interpreters: int,
        seed: int,
        random_state: Mapping[str, Any] | None = None,
    ) -> RunsAtBase:
        """Run an order at the base, with seeds from this one upwards.

        Where it cannot be forked, all runs are in new interpreters.
        """
        session = self._session_for(order)
        if session is None:
            return RunsAtBase(problem=self.problem)
        problem = session.why_not_collected(order)
        if problem:
            return RunsAtBase(problem=problem)
        records = session.run_in_forks(order, forks, seed) if forks else []
        missing = new_interpreters + forks - len(records)
        if missing:
            state = self._processes.state_file(random_state) if random_state else None
            runs = session.run_in_new_interpreters(order, missing, seed + len(records), state, recorded=False)
            if runs.problem:
                return RunsAtBase(problem=runs.problem)
            records += runs.records
        return RunsAtBase(records=tuple(records))

    def why_invalid(
        self,
        order: Order,
        *,
        seeds: Iterable[int],
        is_same_failure: Callable[[RunRecord], bool],
        random_state: Mapping[str, Any] | None = None,
    ) -> str:
        """Run an order at the base until it fails in the same way, and check what these runs used.

        Empty: only what the base has. A run that passes may not use what the failing ones do, so that one of these
        has to be seen. `seeds` has one for each run that is tried.
        """
        session = self._session_for(order)
        if session is None:
            return self.problem
        for seed in seeds:
            state = self._processes.state_file(random_state) if random_state else None
            runs = session.run_in_new_interpreters(order, 1, seed, state)
            problem = runs.problem or _why_not_the_base(runs.validity)
            if problem or any(map(is_same_failure, runs.records)):
                return problem
        return "none of the runs that were checked has failed there"

    def _session_for(self, order: Order) -> BaseSession | None:
        """The session, with the files of these tests collected; None: there is no tree."""
        if self._session is None and not self.problem:
            self._start()
        session = self._session
        if session is None:
            return None
        files = tuple(dict.fromkeys(self._run.rootdir / test.partition("::")[0] for test in order))
        if self._collected_files is None or not set(files) <= set(self._collected_files):
            failing = [self._run.rootdir / failed.id.partition("::")[0] for failed in self._run.failures]
            self._collected_files = tuple(dict.fromkeys([*(self._collected_files or failing), *files]))
            session.open(self._collected_files)
        return session

    def _start(self) -> None:
        base = self._change.base
        assert base is not None
        if base.folder is not None:
            checkout = folder_checkout(base.folder, self._run.rootdir)
        else:
            assert self._change.repository is not None
            checkout = temporary_checkout(self._change.repository, base.revision)
        tree = self._open.enter_context(checkout)
        if isinstance(tree, NoTree):
            self._no_tree = tree.why
            return
        self._session = self._new_session(tree)
        self._open.callback(self._session.close)
        copied = self._session.add_ignored_files(since_s=self._run.started_s, changed=self._change.paths)
        self.notes += copied.notes

    def _new_session(self, tree: BaseTree) -> BaseSession:
        run = self._run
        return BaseSession(
            tree,
            Target(python=run.python, cwd=run.cwd, pytest_args=self._processes.options),
            rootdir=run.rootdir,
            limits=self._processes.limits,
            hash_seed=self._processes.hash_seed,
            renames=self._change.renames,
            deadline_s=self._deadline_s,
        )


def _why_not_the_base(validity: BaseValidity) -> str:
    """Why a run at the base may depend on the change all the same; empty: it does not."""
    if validity.problem:
        return validity.problem
    if validity.ignored_files:
        return f"it uses {validity.ignored_files[0]}, which git ignores and the change may have written"
    if validity.missing:
        return f"it uses {validity.missing[0]}, which is not in git, so that a checkout lacks it"
    if validity.outside_files:
        return f"it reads {validity.outside_files[0]}, which the change may have written"
    if validity.services:
        return f"it talks to {validity.services[0]}, which may run the change"
    return validity.doubts[0] if validity.doubts else ""
