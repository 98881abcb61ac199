"""What lint reads in the tests of the corpus, kept on disk until lint's code or the sdist changes.

Findings, metrics and the other inputs of a score are kept; scores are not, because they take seconds. The code
is what `import flakehound` finds: `PYTHONPATH=/other/checkout/src` judges another checkout.
"""

from __future__ import annotations

import gc
import gzip
import hashlib
import pickle
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from lint_corpus import CorpusProject, sources_of
from lint_labels import LabelledProject, located

import flakehound
from flakehound.core.collection_patterns import CollectionPatterns
from flakehound.lint.analyse import CaseAnalysis, analyse_file
from flakehound.lint.collect.cases import StaticCase, cases_of
from flakehound.lint.source.project import Project

_PACKAGE = Path(flakehound.__file__).parent
# Weights are applied after the analysis; a change of them must not throw it away.
_NOT_OF_ANALYSIS = _PACKAGE / "lint" / "scoring" / "rule_weights.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysedTest:
    """What lint reads in one test, and the test's own source for the baselines."""

    analysis: CaseAnalysis
    body: str  # the lines of the test function


@cache
def code_digest() -> str:
    """A hash of all code that an analysis can depend on: `lint`, `core`, this file, and the version of Python.

    Computed once: what is edited while this process runs is not in the code that runs.
    """
    files = [file for name in ("lint", "core") for file in sorted((_PACKAGE / name).rglob("*.py"))]
    hasher = hashlib.sha256(repr(sys.version_info[:2]).encode())
    for file in (*files, Path(__file__)):
        if file != _NOT_OF_ANALYSIS:
            hasher.update(f"{file.name} {file.stat().st_size} ".encode() + file.read_bytes())
    return hasher.hexdigest()[:16]


def analysis_of(project: CorpusProject, labelled: LabelledProject, folder: Path) -> list[AnalysedTest] | None:
    """What lint reads in the tests of a project, from the cache if it is there; None if lint crashed."""
    file = folder / ".analysis" / code_digest() / f"{project.sdist}.pickle.gz"
    if file.exists():
        with gzip.open(file, "rb") as stream:
            known: list[AnalysedTest] | None = pickle.load(stream)
        return known
    try:
        analysed = list(analyse_sources(sources_of(project, folder), labelled))
    except (RecursionError, ValueError, LookupError, TypeError, AttributeError):
        analysed = None
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    with gzip.open(new, "wb", compresslevel=3) as stream:
        pickle.dump(analysed, stream)
    new.rename(file)
    return analysed


def analyse_sources(root: Path, labelled: LabelledProject) -> Iterator[AnalysedTest]:
    """Analyse all tests in a folder of sources."""
    texts = {path.relative_to(root).as_posix(): path.read_bytes() for path in python_files(root)}
    files = {file for file, _class_name, _function in located(labelled.labels, frozenset(texts))}
    # The studies ran the files that they name, even those that pytest's default patterns do not match.
    names = sorted({PurePosixPath(file).name for file in files})
    project = Project(texts, patterns=CollectionPatterns(files=(*CollectionPatterns().files, *names)))
    for module in project.test_modules():
        cases = cases_of(module, project.patterns, project)
        for case, analysis in zip(cases, analyse_file(project, module), strict=True):
            yield AnalysedTest(analysis=analysis, body=_source_of(case))
    del project
    gc.collect()  # trees and facts refer to each other


def _source_of(case: StaticCase) -> str:
    """The lines of the test function; `ast.get_source_segment` would split the whole file again for each test."""
    lines = case.module.text.split("\n", case.function.end_lineno or 0)
    return textwrap.dedent("\n".join(lines[case.function.lineno - 1 : case.function.end_lineno]))


def python_files(root: Path) -> list[Path]:
    """All Python files below a folder, in the order of their paths."""
    return sorted(path for path in root.rglob("*.py") if path.is_file())
