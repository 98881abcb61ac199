"""`flakehound study triage`: what reruns cost, and how often a change is disjoint from a test.

The parts run one after another. After an interrupt, the result has the figures so far.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from flakehound.app.progress import Progress
from flakehound.app.sessions.suite_options import SuiteOptions
from flakehound.app.sessions.target import jobs_from, seed_from, target_from, test_limit_from
from flakehound.app.studies.disjoint_changes import RevisionStudy
from flakehound.app.studies.releases import open_releases
from flakehound.app.studies.revisions import (
    CommitRange,
    NoHistory,
    RevisionHistory,
    commit_range,
    open_git_history,
)
from flakehound.app.studies.suite import StudiedSuite, open_studied_suite, sample_tests
from flakehound.app.studies.triage_costs import PostponedCosts, ProcessCosts
from flakehound.core.outcomes import NodeId
from flakehound.engine.git.repository import Repository, open_repository
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import FIRST_TEST_LIMIT_S, Limits
from flakehound.report.study.triage import TriageStudy

SCHEMA = "flakehound/study-triage/1"
POSTPONED, PROCESSES, REVISIONS = PARTS = ("postponed", "processes", "revisions")
MAX_TIMED_TESTS = 10  # each of them is rerun many times


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageStudyOptions:
    """The options of `flakehound study triage`."""

    suite: SuiteOptions
    parts: tuple[str, ...]  # of PARTS
    revisions: int
    since: str | None
    releases: Path | None  # None: commits
    tests: int
    reruns: tuple[int, ...]  # ascending
    repeats: int


def run_triage_study(options: TriageStudyOptions, progress: Progress) -> TriageStudy:
    """The figures of all requested parts, as `flakehound/study-triage/1`."""
    target = target_from(options.suite)
    result: TriageStudy = {
        "schema": SCHEMA,
        "project": (options.releases or target.cwd).resolve().name,
        "seed": seed_from(options.suite),
        "interrupted": False,
        "notes": [],
    }
    with tempfile.TemporaryDirectory(prefix="fh-study-", ignore_cleanup_errors=True) as folder:
        study = _Study(
            options=options,
            target=target,
            limits=Limits(test_limit_s=test_limit_from(options.suite) or FIRST_TEST_LIMIT_S),
            folder=Path(folder),
            progress=progress,
            result=result,
        )
        try:
            study.run()
        except KeyboardInterrupt:
            result["interrupted"] = True
            result["notes"].append("interrupted: unfinished parts are missing")
    return result


@dataclass(slots=True, kw_only=True)
class _Study:
    options: TriageStudyOptions
    target: Target
    limits: Limits
    folder: Path
    progress: Progress
    result: TriageStudy  # filled in part by part

    def run(self) -> None:
        with ExitStack() as stack:
            history = self._history(stack)
            if history is not None and self.options.releases is not None:
                self._time_reruns(history.target, history.top)
            else:
                self._time_reruns(self.target, _code_root(self.target))
            if history is not None and REVISIONS in self.options.parts:
                self._compare_revisions(history)

    def _history(self, stack: ExitStack) -> RevisionHistory | None:
        """The revisions to study; None, with a note, if there are none and other parts are requested, too."""
        options = self.options
        if options.releases is not None:
            return stack.enter_context(open_releases(options.releases, self.target, revisions=options.revisions))
        if REVISIONS not in options.parts:
            return None
        commits = commit_range(self.target.cwd, revisions=options.revisions, since=options.since)
        if isinstance(commits, CommitRange):
            return stack.enter_context(open_git_history(self.target, commits))
        problem = f"no history to study: {commits.why}"
        if options.parts == (REVISIONS,):
            raise NoHistory(problem, remedy=commits.remedy)
        self.result["notes"].append(problem)
        return None

    def _time_reruns(self, target: Target, root: Path) -> None:
        if not {POSTPONED, PROCESSES} & set(self.options.parts):
            return
        suite = open_studied_suite(target, self.folder, self.limits, self.result["seed"])
        try:
            tests = _tests_to_time(suite, min(MAX_TIMED_TESTS, self.options.tests))
            if POSTPONED in self.options.parts:
                self._time_postponed(suite, tests)
            if PROCESSES in self.options.parts:
                self._time_processes(suite, tests, root)
        finally:
            suite.opened.close()

    def _time_postponed(self, suite: StudiedSuite, tests: list[NodeId]) -> None:
        costs = PostponedCosts(suite=suite, repeats=self.options.repeats)
        try:
            costs.measure(tests, self.progress)
        finally:
            self.result["postponed"] = costs.figures()

    def _time_processes(self, suite: StudiedSuite, tests: list[NodeId], root: Path) -> None:
        options = self.options
        costs = ProcessCosts(suite=suite, root=root, reruns=options.reruns, repeats=options.repeats)
        try:
            costs.measure(tests, self.progress)
        finally:
            self.result["processes"] = costs.figures()

    def _compare_revisions(self, history: RevisionHistory) -> None:
        study = RevisionStudy(
            history=history,
            max_tests=self.options.tests,
            folder=self.folder,
            limits=self.limits,
            seed=self.result["seed"],
            jobs=jobs_from(self.options.suite),
            progress=self.progress,
        )
        try:
            study.run()
        finally:
            self.result["revisions"] = study.figures()


def _tests_to_time(suite: StudiedSuite, max_tests: int) -> list[NodeId]:
    repeatable = [test.id for test in suite.opened.suite.tests if test.repeatable]
    return sample_tests(repeatable, max_tests, suite.seed)


def _code_root(target: Target) -> Path:
    """The folder with the code that a test can depend on: the top of the repository, or the working folder."""
    repository = open_repository(target.cwd)
    return repository.top if isinstance(repository, Repository) else target.cwd.resolve()
