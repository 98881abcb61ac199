"""The suite at the base, in a tree of its own: collected once, then run in forks and in new interpreters.

Opening it costs one collection of the needed files, a further run in a fork costs little more than the test. Names
go in and out as in the user's tree.
"""

from __future__ import annotations

import itertools
import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from flakehound.core.errors import FlakehoundError
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Isolation, Order, Setting, SingleRun, hash_seed_of_run
from flakehound.core.records import RunRecord
from flakehound.engine.git.base_interpreters import BaseInterpreters, why_missing
from flakehound.engine.git.base_names import BaseNames
from flakehound.engine.git.base_runs import NOT_AT_BASE, BaseRuns, why_not_run
from flakehound.engine.git.base_validity import BaseValidity, reason_by_import_path
from flakehound.engine.git.ignored_files import CopiedFiles, base_tree_with_ignored_files
from flakehound.engine.git.import_places import ImportPlaces, import_places
from flakehound.engine.git.untracked_files import UntrackedFiles
from flakehound.engine.git.worktree import BaseTree
from flakehound.engine.processes.handshake import CollectionTimeout
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.suite.budget import Budget
from flakehound.engine.suite.open_suite import OpenSuite, open_suite

NO_TIME = "there was no time to run the base"
_UNFINISHED = (Outcome.TIMED_OUT, Outcome.NOT_RUN)


class BaseSession:
    """The suite at the base. One run at a time."""

    def __init__(
        self,
        tree: BaseTree,
        target: Target,
        *,
        rootdir: Path,
        limits: Limits,
        hash_seed: int,
        renames: Mapping[str, str] | None = None,
        deadline_s: float | None = None,
    ) -> None:
        """`target` is the suite in the user's tree; its arguments are options only, without paths and ids.

        `rootdir` is pytest's root folder there. `hash_seed` is that of the collected session. `renames` has the
        old path of each renamed file, by its new path, both below the top of the repository. `deadline_s`, by the
        monotonic clock: no run begins after it, and a run that it ends is not reported.
        """
        self._tree = tree
        self._target = target
        self._rootdir = rootdir
        self._limits = limits
        self._hash_seed = hash_seed
        self._deadline_s = math.inf if deadline_s is None else deadline_s
        self._names = BaseNames(tree=tree, rootdir=rootdir, renames=renames or {})
        self._folder = Path(tempfile.mkdtemp(prefix="r", dir=tree.folder))
        self._serial = itertools.count()
        self._places: ImportPlaces | None = None  # asked when first needed
        self._files = UntrackedFiles(tree)
        self._suite: OpenSuite | None = None
        self._problem = ""  # why the collected session proves nothing

    def open(self, files: Sequence[Path]) -> str:
        """Let pytest collect these test files, given by their paths in the user's tree; returns the problem.

        Files that the base lacks are left out. May be called again, with other files.
        """
        self.close()
        there = [file for file in map(self._names.file_at_base, files) if file.exists()]
        self._problem = self._problem_before_start()
        if not self._problem and not there:
            self._problem = f"{files[-1]} {NOT_AT_BASE}" if files else "no test is to be run at the base"
        if not self._problem:
            self._problem = self._collect(self._base_target(there))
        return self._problem

    def _collect(self, target: Target) -> str:
        budget = None if math.isinf(self._deadline_s) else Budget(limit_s=self._left_s)
        try:
            self._suite = open_suite(
                target,
                jobs=1,
                isolation=None,
                hash_seed=self._hash_seed,
                limits=self._limits,
                with_reference=False,
                budget=budget,
            )
        except CollectionTimeout:
            return NO_TIME if budget is not None else "pytest collects the base for too long"
        except FlakehoundError as error:
            return why_not_run(error, self._tree)
        return reason_by_import_path(self._tree, target, self._suite.handshake.import_path)

    def collected(self) -> frozenset[NodeId]:
        """The tests of the opened files that exist at the base, by their ids in the user's tree."""
        tests = () if self._suite is None else self._suite.suite.order
        return frozenset(map(self._names.here, tests))

    def why_not_collected(self, order: Order) -> str:
        """Why the opened session lacks a test: it is new, or its file cannot be imported; empty: it has all."""
        if self._suite is None or self._problem:
            return self._problem or "the base is not open"
        return why_missing(self._names.order_at_base(order), self._suite.handshake)

    def run_in_forks(self, order: Order, times: int, seed: int) -> list[RunRecord]:
        """Run an order in copies of the collected session; empty if it has none, or lacks one of the tests.

        What these runs import is not recorded: see `run_recorded`.
        """
        suite = self._suite
        if suite is None or suite.isolation is not Isolation.FORK or self.why_not_collected(order):
            return []

        def run(number: int) -> Sequence[RunRecord]:
            plan = self._plan(order, Isolation.FORK, seed=(seed + number) % 2**32)
            return suite.pool.run_now(plan, self._limits_now())

        return self._repeat(times, run)[0]

    def run_in_new_interpreters(
        self, order: Order, times: int, seed: int, random_state: Path | None = None, *, recorded: bool = True
    ) -> BaseRuns:
        """Run an order in new interpreters, each with another seed and hash seed; for `random_state` see `Target`.

        The session need not be open. Each run is recorded and checked, which takes some time of it; if not
        `recorded`, only the import path is checked.
        """
        problem = self._problem_before_start() or self._missing_file(order)
        if problem:
            return BaseRuns(problem=problem)
        files = dict.fromkeys(self._root / _file_of(test) for test in self._names.order_at_base(order))
        if random_state is not None:  # a copy in a folder that counts as ours when it is read
            random_state = Path(shutil.copy(random_state, self._folder / f"state-{next(self._serial)}.json"))
        target = replace(self._base_target(list(files)), random_state=random_state)
        interpreters = BaseInterpreters(
            self._tree, target, self._folder / f"{next(self._serial)}", self._files, recorded=recorded
        )

        def run(number: int) -> Sequence[RunRecord]:
            plan = self._plan(order, Isolation.SPAWN, seed=(seed + number) % 2**32)
            plan = replace(plan, hash_seed=hash_seed_of_run(seed + number))
            return interpreters.run(plan, self._limits_now())

        records, error = self._repeat(times, run)
        problem = interpreters.validity.problem or error
        if problem:
            return BaseRuns(problem=problem, validity=BaseValidity(problem=problem))
        return BaseRuns(records=tuple(records), validity=interpreters.validity)

    def run_recorded(self, order: Order, seed: int) -> BaseRuns:
        """Run an order once in a new interpreter; `validity` says what it used."""
        return self.run_in_new_interpreters(order, 1, seed)

    def add_ignored_files(self, *, since_s: float, changed: Sequence[str]) -> CopiedFiles:
        """Close the session and copy ignored files to the base, see `base_tree_with_ignored_files`."""
        self.close()
        if self._tree.repository is None:
            return CopiedFiles(notes=("which files are ignored is not known: the base is no commit",))
        return base_tree_with_ignored_files(self._tree, self._tree.repository, since_s=since_s, changed=changed)

    def close(self) -> None:
        """End the collected session; new interpreters can still be started."""
        suite, self._suite = self._suite, None
        if suite is not None:
            suite.close()

    @property
    def notes(self) -> tuple[str, ...]:
        """How the collected session is run, such as why it cannot be forked."""
        return () if self._suite is None else tuple(self._suite.notes)

    # -- how it is run --

    @property
    def _root(self) -> Path:
        return self._tree.counterpart(self._rootdir)

    @property
    def _left_s(self) -> float:
        return self._deadline_s - time.monotonic()

    def _limits_now(self) -> Limits:
        if math.isinf(self._deadline_s):
            return self._limits
        left_s = max(0.5, self._left_s)
        return replace(self._limits, run_limit_s=min(left_s, self._limits.run_limit_s or left_s))

    def _repeat(self, times: int, run: Callable[[int], Sequence[RunRecord]]) -> tuple[list[RunRecord], str]:
        """Run until it was often enough, the time is up, nothing comes back, or a run is not possible (why)."""
        records: list[RunRecord] = []
        for number in range(times):
            if self._left_s <= 0:
                return records, "" if records else NO_TIME
            try:
                made = run(number)
            except FlakehoundError as error:
                return records, why_not_run(error, self._tree)
            # A test that the deadline ended would otherwise count as one that hangs at the base.
            in_time = [record for record in made if self._left_s > 0 or record.last not in _UNFINISHED]
            records += map(self._names.record_here, in_time)
            if not in_time:
                return records, "" if records else NO_TIME
        return records, ""

    def _plan(self, order: Order, isolation: Isolation, *, seed: int) -> SingleRun:
        return SingleRun(
            order=self._names.order_at_base(order),
            why=f"does {order[-1]} fail at the base?",
            setting=Setting.ALONE if len(order) == 1 else Setting.PROBE,
            isolation=isolation,
            seed=seed,
        )

    def _base_target(self, files: Sequence[Path]) -> Target:
        """The suite with only these files of the base."""
        target = self._tree.target(self._target, self._known_places)
        # One file that the base cannot import must not hide the tests of the others.
        options = (f"--rootdir={self._root}", *target.pytest_args, "--continue-on-collection-errors")
        return replace(
            target,
            pytest_args=(*options, *map(str, files)),
            env={**target.env, **self._names.environment({**os.environ, **self._target.env})},
            moved=(str(self._tree.user_top), str(self._tree.top)),
        )

    @property
    def _known_places(self) -> ImportPlaces:
        if self._places is None:
            self._places = import_places(self._target)
        return self._places

    def _problem_before_start(self) -> str:
        if self._left_s <= 0:
            return NO_TIME
        if not self._tree.counterpart(self._target.cwd).is_dir():
            return f"{self._target.cwd} {NOT_AT_BASE}"
        if self._known_places.building_in(str(self._tree.user_top)):
            return "the installed package builds the changed tree whenever it is imported"
        return ""

    def _missing_file(self, order: Order) -> str:
        missing = [test for test in order if not (self._root / _file_of(self._names.at_base(test))).exists()]
        return f"{missing[-1]} {NOT_AT_BASE}" if missing else ""


def _file_of(test: NodeId) -> str:
    return test.partition("::")[0]
