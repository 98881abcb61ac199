"""Analyse one test file: findings of the rules, metrics, and the other values that a score is computed from."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flakehound.core.predictions import LintFinding
from flakehound.lint.collect.cases import StaticCase, cases_of
from flakehound.lint.facts.case_context import FactsCache
from flakehound.lint.facts.reading import context_of
from flakehound.lint.metrics.table import MetricsRow, row_of
from flakehound.lint.rules.registry import findings_of
from flakehound.lint.scoring.shared_objects import FileSharing, SharingCounts
from flakehound.lint.scoring.vocabulary import words_of
from flakehound.lint.source.enclosing_names import scope_at
from flakehound.lint.source.modules import Module
from flakehound.lint.source.project import Project
from flakehound.lint.suppression import Suppression, suppressions_in, without_suppressed


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseAnalysis:
    """What lint reads in the source of one test."""

    row: MetricsRow
    sharing: SharingCounts
    words: tuple[str, ...]  # of `core.vocabulary.WORDS`, those that its code uses
    suppressed: int  # findings that comments in the source take out
    findings: tuple[LintFinding, ...]


def analyse_file(project: Project, module: Module) -> tuple[CaseAnalysis, ...]:
    """Everything that lint reads in the tests of a file, in their order."""
    cache = project.compute_once(("rules",), FactsCache)
    cases = cases_of(module, project.patterns, project)
    sharing = FileSharing(cases)
    return tuple(_analysis(case, project, cache, sharing) for case in cases)


def measure_file(project: Project, module: Module) -> tuple[MetricsRow, ...]:
    """The metrics of the tests of a file, without findings."""
    return tuple(row_of(case, project) for case in cases_of(module, project.patterns, project))


def case_ids(project: Project, module: Module) -> tuple[str, ...]:
    """The node ids of the tests of a file."""
    return tuple(case.id for case in cases_of(module, project.patterns, project))


def _analysis(case: StaticCase, project: Project, cache: FactsCache, sharing: FileSharing) -> CaseAnalysis:
    context = context_of(case, project, cache)
    found = findings_of(context)
    comments = {path: _comments(path, project) for path in {case.path, *(one.path for one in found)}}
    remaining = list(without_suppressed(found, comments, case.path, case.line))
    return CaseAnalysis(
        row=row_of(case, project),
        sharing=sharing.counts_of(case, context),
        words=tuple(words_of(context.test_code)),
        suppressed=len(found) - len(remaining),
        findings=tuple(replace(one, scope=scope_at(one.path, one.line, project)) for one in remaining),
    )


def _comments(path: str, project: Project) -> tuple[Suppression, ...]:
    def read() -> tuple[Suppression, ...]:
        module = project.module(path)
        return suppressions_in(module.text) if module is not None else ()

    return project.compute_once(("comments", path), read)
