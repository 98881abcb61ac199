"""The tests of one split of the corpus: what lint reads in them, and their labels."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from flaky_sources import DATA, Key
from lint_analysis import AnalysedTest, analysis_of, python_files
from lint_corpus import PROJECTS, SOURCES, CorpusProject, read_projects, sources_of
from lint_labels import NOD, NOT_JUDGED, ORDER_DEPENDENT, LabelledProject, labelled_projects, located

from flakehound.core.predictions import LintFinding
from flakehound.lint.analyse import CaseAnalysis


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledTest:
    """One test of the corpus with its label."""

    project: str
    label: str  # one of LABELS; "" if it was never seen to flake
    analysis: CaseAnalysis
    body: str

    @property
    def is_nod(self) -> bool:
        """Whether it fails now and then in one and the same order."""
        return self.label == NOD

    @property
    def is_order_dependent(self) -> bool:
        """Whether its result depends on the order of the tests."""
        return self.label in ORDER_DEPENDENT

    @property
    def is_judged(self) -> bool:
        """Whether it counts: tests that are flaky in another way are neither right nor wrong."""
        return self.label not in NOT_JUDGED

    @property
    def findings(self) -> tuple[LintFinding, ...]:
        """The findings that `flakehound lint` shows by default."""
        return self.analysis.findings


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """The tests of the projects of one split, and how complete they are."""

    split: str
    tests: list[LabelledTest]
    crashed: int  # projects on which lint raised an error
    without_labels: int  # projects left out because lint collects none of their labelled tests

    @property
    def projects(self) -> list[str]:
        """The names of the projects with tests, in order."""
        return sorted({test.project for test in self.tests})


def read_corpus(split: str, *, cache: Path = SOURCES, data: Path = DATA, projects: Path = PROJECTS) -> Corpus:
    """All tests of the split, analysed where the cache has no analysis yet."""
    labels = labelled_projects(data)
    tests: list[LabelledTest] = []
    crashed = without_labels = 0
    members = [project for project in read_projects(projects) if project.split == split]
    began = time.monotonic()
    for number, project in enumerate(members, 1):
        analysed = analysis_of(project, labels[project.project], cache)
        if analysed is None:
            crashed += 1
            continue
        labelled = list(_with_labels(project, labels[project.project], analysed, cache))
        without_labels += not any(test.label for test in labelled)
        tests += labelled if any(test.label for test in labelled) else []
        if number % 20 == 0:
            print(f"  {split}: {number} of {len(members)} projects, {time.monotonic() - began:.0f} s", flush=True)
    return Corpus(split=split, tests=tests, crashed=crashed, without_labels=without_labels)


def _with_labels(
    project: CorpusProject, labelled: LabelledProject, analysed: Iterable[AnalysedTest], cache: Path
) -> Iterator[LabelledTest]:
    root = sources_of(project, cache)
    files = frozenset(path.relative_to(root).as_posix() for path in python_files(root))
    labels = located(labelled.labels, files)
    for test in analysed:
        yield LabelledTest(
            project=project.project,
            label=labels.get(key_of_test(test.analysis.row.test_id), ""),
            analysis=test.analysis,
            body=test.body,
        )


def key_of_test(test_id: str) -> Key:
    """The file, class and function in the node id of a test."""
    path, *classes, function = test_id.split("::")
    return path, classes[-1] if classes else "", function
