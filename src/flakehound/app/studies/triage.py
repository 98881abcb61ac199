"""Carry out a study of triage, part by part; an interrupt leaves what is known by then."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flakehound.app.sessions.target import jobs_from, seed_from, target_from, test_limit_from
from flakehound.app.studies.disjoint_changes import RevisionStudy
from flakehound.app.studies.releases import releases_in
from flakehound.app.studies.revisions import Commits, History, NoHistory, commits_of, git_history
from flakehound.app.studies.suite import StudiedSuite, Tell, collected, sample
from flakehound.app.studies.triage_costs import PostponedCosts, ProcessCosts
from flakehound.app.studies.triage_options import StudyWishes
from flakehound.core.outcomes import NodeId
from flakehound.engine.git.repository import Repository, open_repository
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import FIRST_TEST_LIMIT_S, Limits

SCHEMA = "flakehound/study-triage/1"
MOST_TIMED = 10  # tests; each is rerun many times over


def studied(wishes: StudyWishes, *, tell: Tell) -> dict[str, Any]:
    """The figures as `flakehound/study-triage/1`."""
    with tempfile.TemporaryDirectory(prefix="fh-study-", ignore_cleanup_errors=True) as folder:
        study = _Study(wishes=wishes, tell=tell, folder=Path(folder))
        try:
            study.run()
        except KeyboardInterrupt:
            study.told["interrupted"] = True
            study.note("interrupted: what was not finished is missing")
    return study.told


@dataclass(slots=True)
class _Study:
    wishes: StudyWishes
    tell: Tell
    folder: Path
    told: dict[str, Any] = field(default_factory=dict)

    def run(self) -> None:
        suite = self.wishes.suite
        target, seed = target_from(suite), seed_from(suite)
        limits = Limits(test_limit_s=test_limit_from(suite) or FIRST_TEST_LIMIT_S)
        name = (self.wishes.releases or target.cwd).resolve().name
        self.told.update({"schema": SCHEMA, "project": name, "seed": seed, "interrupted": False, "notes": []})
        with ExitStack() as stack:
            history = self._history(target, stack)
            timed = history if history is not None and self.wishes.releases is not None else None
            if timed is not None:
                self._time_reruns(timed.target, limits, seed, timed.top)
            else:
                self._time_reruns(target, limits, seed, _root_of(target))
            if history is not None and "revisions" in self.wishes.parts:
                self._walk(history, limits, seed)

    def note(self, words: str) -> None:
        """Something the reader of the figures should know."""
        self.told.setdefault("notes", []).append(words)

    def _history(self, target: Target, stack: ExitStack) -> History | None:
        """The revisions; None, and a note, where there are none and other parts are asked for, too."""
        wishes = self.wishes
        if wishes.releases is not None:
            return stack.enter_context(releases_in(wishes.releases, target, revisions=wishes.revisions))
        if "revisions" not in wishes.parts:
            return None
        commits = commits_of(target.cwd, revisions=wishes.revisions, since=wishes.since)
        if isinstance(commits, Commits):
            return stack.enter_context(git_history(target, commits))
        problem = f"no history to study: {commits.why}"
        if wishes.parts == ("revisions",):
            raise NoHistory(problem, remedy=commits.remedy)
        self.note(problem)
        return None

    def _time_reruns(self, target: Target, limits: Limits, seed: int, root: Path) -> None:
        parts = [part for part in ("postponed", "processes") if part in self.wishes.parts]
        if not parts:
            return
        suite = collected(target, self.folder, limits, seed)
        try:
            tests = _timed_tests(suite, min(MOST_TIMED, self.wishes.tests), seed)
            for part in parts:
                self._timed(part, self._costs(part, suite, root), tests)
        finally:
            suite.opened.close()

    def _costs(self, part: str, suite: StudiedSuite, root: Path) -> PostponedCosts | ProcessCosts:
        wishes = self.wishes
        if part == "postponed":
            return PostponedCosts(suite=suite, repeats=wishes.repeats)
        return ProcessCosts(suite=suite, root=root, reruns=wishes.reruns, repeats=wishes.repeats)

    def _timed(self, part: str, costs: PostponedCosts | ProcessCosts, tests: Sequence[NodeId]) -> None:
        try:
            costs.measure(tests, self.tell)
        finally:
            self.told[part] = costs.told()

    def _walk(self, history: History, limits: Limits, seed: int) -> None:
        study = RevisionStudy(
            history=history,
            most=self.wishes.tests,
            folder=self.folder,
            limits=limits,
            seed=seed,
            jobs=jobs_from(self.wishes.suite),
            tell=self.tell,
        )
        try:
            study.run()
        finally:
            self.told["revisions"] = study.told()


def _timed_tests(suite: StudiedSuite, most: int, seed: int) -> list[NodeId]:
    return sample([test.id for test in suite.opened.suite.tests if test.repeatable], most, seed)


def _root_of(target: Target) -> Path:
    """The repository's top, whose code a test can depend on; without one the folder the tests run in."""
    found = open_repository(target.cwd)
    return found.top if isinstance(found, Repository) else target.cwd.resolve()
