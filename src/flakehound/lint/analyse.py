"""Analyse one test file: findings of the rules, metrics, and the other values that a score is computed from."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flakehound.core.predictions import LintFinding
from flakehound.lint.collect.cases import StaticCase, cases_of
from flakehound.lint.facts.case_context import FactsCache
from flakehound.lint.facts.read_context import context_of
from flakehound.lint.metrics.table import MetricsRow, metrics_row
from flakehound.lint.rules.registry import findings_of
from flakehound.lint.scoring.code_size import words_of_test
from flakehound.lint.scoring.shared_objects import FileSharing, SharingCounts
from flakehound.lint.source.enclosing_names import scope_at
from flakehound.lint.source.modules import Module
from flakehound.lint.source.project import Project
from flakehound.lint.suppression import Suppression, suppressions_in, without_suppressed


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseAnalysis:
    """What lint reads in the source of one test."""

    row: MetricsRow
    sharing: SharingCounts
    words: frozenset[str]  # of the names and strings of its own function
    suppressed: int  # number of findings that comments in the source suppress
    findings: tuple[LintFinding, ...]


def analyse_file(project: Project, module: Module) -> tuple[CaseAnalysis, ...]:
    """Analyse the tests of a file; in the order of the tests."""
    cache = project.compute_once(("rules",), FactsCache)
    cases = cases_of(module, project.patterns, project)
    sharing = FileSharing(cases)
    return tuple(_analyse_case(case, project, cache, sharing) for case in cases)


def measure_file(project: Project, module: Module) -> tuple[MetricsRow, ...]:
    """Compute the metrics of the tests of a file, without findings."""
    return tuple(metrics_row(case, project) for case in cases_of(module, project.patterns, project))


def case_ids(project: Project, module: Module) -> tuple[str, ...]:
    """The node ids of the tests of a file."""
    return tuple(case.id for case in cases_of(module, project.patterns, project))


def _analyse_case(case: StaticCase, project: Project, cache: FactsCache, sharing: FileSharing) -> CaseAnalysis:
    context = context_of(case, project, cache)
    findings = findings_of(context)
    paths = {case.path, *(path for finding in findings for path in (finding.path, finding.call_path) if path)}
    suppressions = {path: _suppressions_in_file(path, project) for path in paths}
    remaining = list(without_suppressed(findings, suppressions, case.path, case.line))
    return CaseAnalysis(
        row=metrics_row(case, project),
        sharing=sharing.counts_of(case, context),
        words=words_of_test(context),
        suppressed=len(findings) - len(remaining),
        findings=tuple(
            replace(finding, scope=scope_at(finding.path, finding.line, project)) for finding in remaining
        ),
    )


def _suppressions_in_file(path: str, project: Project) -> tuple[Suppression, ...]:
    def read() -> tuple[Suppression, ...]:
        module = project.module(path)
        return suppressions_in(module.text) if module is not None else ()

    return project.compute_once(("comments", path), read)
