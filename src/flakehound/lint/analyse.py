"""What is found out about one test file; runs in any process, answers in plain JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flakehound.lint.collect.cases import StaticCase, cases_of
from flakehound.lint.findings import Finding
from flakehound.lint.metrics.table import row_of
from flakehound.lint.rules._context import Memory
from flakehound.lint.rules._joining import context_of
from flakehound.lint.rules.registry import findings_of
from flakehound.lint.scoring.shared_objects import Sharings, cells_of
from flakehound.lint.scoring.vocabulary import words_of
from flakehound.lint.source.enclosing_names import scope_at
from flakehound.lint.source.modules import Module
from flakehound.lint.source.project import Project
from flakehound.lint.suppression import Suppression, heard, suppressions_in

FORMAT = 4  # of the answers; another one makes those in the cache useless


def remarks_on(project: Project, module: Module) -> list[dict[str, Any]]:
    """Every test of a file: its row of metrics, and what the rules say about it."""
    memory = project.kept(("rules",), Memory)
    cases = cases_of(module, project.patterns, project)
    sharings = Sharings(cases)
    return [_told(case, project, memory, sharings) for case in cases]


def _told(case: StaticCase, project: Project, memory: Memory, sharings: Sharings) -> dict[str, Any]:
    context = context_of(case, project, memory)
    found = findings_of(context)
    comments = {path: _comments(path, project) for path in {case.path, *(one.path for one in found)}}
    loud = list(heard(found, comments, case.path, case.line))
    return {
        "row": row_of(case, project),
        "sharing": cells_of(sharings.of(case, context)),
        "words": words_of(context.own),
        "suppressed": len(found) - len(loud),
        "findings": [_plain(finding, project) for finding in loud],
    }


def _plain(finding: Finding, project: Project) -> dict[str, Any]:
    scope = scope_at(finding.path, finding.line, project)
    return {**asdict(finding), "cause": finding.cause.value, "scope": scope}


def _comments(path: str, project: Project) -> tuple[Suppression, ...]:
    def read() -> tuple[Suppression, ...]:
        module = project.module(path)
        return suppressions_in(module.text) if module is not None else ()

    return project.kept(("comments", path), read)


def metrics_on(project: Project, module: Module) -> list[dict[str, Any]]:
    """One row of metrics per test of a file, where no finding is asked for."""
    return [row_of(case, project) for case in cases_of(module, project.patterns, project)]
