"""Metrics of small programs, for tests that compare them with values counted by hand."""

from __future__ import annotations

import ast
from textwrap import dedent

from flakehound.lint.collect.cases import cases_of
from flakehound.lint.metrics.case import CaseMetrics, CaseSource, case_metrics
from flakehound.lint.metrics.import_names import imported_names
from flakehound.lint.metrics.lines import LineCounter
from flakehound.lint.metrics.production import ProductionMetrics, UnitSource, production_metrics
from flakehound.lint.metrics.table import Metrics, metrics_of
from flakehound.lint.source.project import Project
from flakehound.lint.source.scopes import FunctionNode


def project_of(**files: str) -> Project:
    """A project of files given by keywords: `cart="..."` is cart.py."""
    return Project({f"{name}.py": dedent(text).lstrip("\n").encode() for name, text in files.items()})


def metrics_in(project: Project, name: str) -> Metrics:
    """The metrics of the test of that name."""
    cases = [case for module in project.test_modules() for case in cases_of(module, project.patterns, project)]
    (case,) = [case for case in cases if case.name == name]
    return metrics_of(case, project)


def metrics_of_test(source: str, *, methods: frozenset[str] | None = None) -> CaseMetrics:
    """The metrics of the last test function of a source text, without a project."""
    text = dedent(source).lstrip("\n")
    tree = ast.parse(text)
    function = [
        node for node in ast.walk(tree) if isinstance(node, FunctionNode) and node.name.startswith("test")
    ][-1]
    return case_metrics(
        function,
        CaseSource(
            lines=LineCounter(text),
            imports=imported_names(tree.body),
            is_own=lambda package: package == "shop",
            methods=methods,
        ),
    )


def metrics_of_class(source: str) -> ProductionMetrics:
    """The metrics of the first class of a source text."""
    text = dedent(source).lstrip("\n")
    tree = ast.parse(text)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return production_metrics(
        classes[0],
        UnitSource(
            name=classes[0].name,
            lines=LineCounter(text),
            imports=imported_names(tree.body),
            classes={node.name for node in classes},
        ),
    )


def metrics_of_module(source: str, name: str = "shop") -> ProductionMetrics:
    """The metrics of a source text as a module."""
    text = dedent(source).lstrip("\n")
    tree = ast.parse(text)
    return production_metrics(
        tree, UnitSource(name=name, lines=LineCounter(text), imports=imported_names(tree.body))
    )
