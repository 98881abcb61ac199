"""How often a change is disjoint from what a test depends on, over a range of revisions (figures 4.1 and 4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from flakehound.app.progress import Progress
from flakehound.app.studies.revisions import Revision, RevisionHistory
from flakehound.app.studies.suite import StudiedSuite, open_studied_suite, sample_tests
from flakehound.core.errors import FailedStep, FlakehoundError, attempt
from flakehound.core.outcomes import NodeId
from flakehound.engine.processes.limits import Limits
from flakehound.report.study.triage import RevisionFigures
from flakehound.triage.changes import FileChange
from flakehound.triage.dependencies import RecordedDependencies
from flakehound.triage.entities import changed_entities
from flakehound.triage.study.figures import distribution_of
from flakehound.triage.study.revision_walk import RevisionChange, RevisionWalk


class WrongTree(FlakehoundError):
    """The tests of one revision import the code of another one."""


@dataclass(slots=True)
class RevisionStudy:
    """Goes through the revisions, the newest first; its figures can be read at any time."""

    history: RevisionHistory
    max_tests: int
    folder: Path
    limits: Limits
    seed: int
    jobs: int
    progress: Progress
    chosen: Sequence[NodeId] = ()  # tests of the newest revision that are studied
    walk: RevisionWalk = field(default_factory=RevisionWalk)
    skipped: list[dict[str, str]] = field(default_factory=list)
    recordings: int = 0

    def run(self) -> None:
        """Compare all changes, the newest first."""
        newer: Revision | None = None
        oldest = len(self.history.revisions) - 1
        for number, revision in enumerate(self.history.revisions):
            self.progress.message(f"revision {number} of {oldest}: {revision.name}")
            self.progress.show_steps("revisions", number, oldest)
            files = self.history.changes(revision, newer) if newer else []
            suite = self._open_suite(revision)
            if suite is None:
                continue
            try:
                if newer is None:
                    self.chosen = sample_tests(suite.opened.suite.order, self.max_tests, self.seed)
                else:
                    self._compare_with_older(revision, newer, files, suite)
                if number < oldest:
                    self._record_missing(suite)
            finally:
                suite.opened.close()
            newer = revision

    def figures(self) -> RevisionFigures:
        """The figures so far."""
        shares = self.walk.shares()
        tests = [
            {"id": test, "disjoint": share.disjoint, "compared": share.compared, "percent": share.percent}
            for test, share in shares.items()
        ]
        return {
            "compared": len(self.walk.steps),
            "skipped": self.skipped,
            "recordings": self.recordings,
            "summary": asdict(distribution_of([share.percent for share in shares.values()])) if shares else None,
            "reasons": dict(self.walk.reasons.most_common()),
            "tests": tests,
            "steps": [asdict(step) for step in self.walk.steps],
        }

    def _open_suite(self, revision: Revision) -> StudiedSuite | None:
        """The collected suite of a revision; None, with an entry in `skipped`, if it cannot be collected."""

        def collect() -> StudiedSuite:
            self.history.check_out(revision)
            return open_studied_suite(self.history.target, self.folder, self.limits, self.seed)

        suite = attempt(collect)
        if not isinstance(suite, FailedStep):
            return suite
        self.skipped.append({"revision": revision.name, "why": suite.what})
        self.progress.message(f"skipped {revision.name}: {suite.what}")
        return None

    def _compare_with_older(
        self, older: Revision, newer: Revision, files: Sequence[FileChange], suite: StudiedSuite
    ) -> None:
        """Compare the change between two revisions with what each test depends on."""
        change = RevisionChange(
            older=older.name,
            newer=newer.name,
            files=files,
            entities=[entity for file in files for entity in changed_entities(file)],
            root=str(self.history.top),
            rootdir=str(suite.rootdir),
        )
        step = self.walk.go_back(change, frozenset(suite.opened.suite.order))
        self.progress.message(
            f"  {step.changed} entities changed, disjoint for {step.disjoint} of {step.compared} tests"
        )

    def _record_missing(self, suite: StudiedSuite) -> None:
        """Record what the studied tests depend on if that is not known for this revision."""
        collected = set(suite.opened.suite.order)
        missing = self.walk.missing(test for test in self.chosen if test in collected)
        if missing:
            self.progress.message(f"  recording {len(missing)} tests")
        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                dependencies = list(pool.map(lambda test: self._record(suite, test), missing))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        self.walk.add_recorded(dict(zip(missing, dependencies, strict=True)))
        self.recordings += len(missing)

    def _record(self, suite: StudiedSuite, test: NodeId) -> RecordedDependencies | None:
        content = attempt(lambda: suite.run_recorded(test, self.history.top).run.dependencies)
        if content is None or isinstance(content, FailedStep):
            return None
        self._check_imports(content)
        return RecordedDependencies.from_json(content)

    def _check_imports(self, dependencies: Mapping[str, Any]) -> None:
        for name, file in dependencies.get("imported", {}).items():
            if file and self.history.is_in_user_tree(file):
                raise WrongTree(
                    f"the tests of a revision import {name} from {file}, not from the revision",
                    remedy="python -m pip install --editable .",
                )
