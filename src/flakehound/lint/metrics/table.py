"""All metrics of a test, and the rows of `flakehound lint --metrics`."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import PurePosixPath
from typing import Any

from flakehound.lint.collect.cases import StaticCase
from flakehound.lint.links.tested_code import link_of
from flakehound.lint.metrics.case import CaseMetrics, CaseSource, case_metrics
from flakehound.lint.metrics.import_names import imported_names
from flakehound.lint.metrics.lines import LineCounter
from flakehound.lint.metrics.production import ProductionMetrics, UnitSource, production_metrics
from flakehound.lint.source.definitions import Definition
from flakehound.lint.source.modules import Module
from flakehound.lint.source.project import Project

Cell = str | int | float | None


@dataclass(frozen=True, kw_only=True)  # no slots: a class may inherit from one class with slots only
class LinkedCodeMetrics:
    """The metrics of the class, or of the module, that a test is linked to; None without a link."""

    cbo: int | None
    production_halstead_length: int | None
    production_halstead_vocabulary: int | None
    production_halstead_volume: float | None
    loc: int | None
    lcom2: float | None
    lcom5: float | None
    mpc: int | None
    rfc: int | None
    wmc: int | None
    class_data_should_be_private: bool | None
    complex_class: bool | None
    functional_decomposition: bool | None
    god_class: bool | None
    spaghetti_code: bool | None


@dataclass(frozen=True, kw_only=True)
class Metrics(CaseMetrics, LinkedCodeMetrics):
    """Every metric of one test: those of the linked code first, then its own."""


METRIC_NAMES = tuple(field.name for field in fields(Metrics))
COLUMNS = ("id", "path", "line", "linked_to", "linked_by", *METRIC_NAMES)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsRow:
    """The metrics of one test, with its place and the code it tests."""

    test_id: str
    path: str
    line: int
    linked_to: str | None  # "shop/cart.py:Cart.total"; None if nothing was found
    linked_by: str | None  # "naming", "imports" or "module"
    metrics: Metrics

    def metric_cells(self) -> dict[str, float | None]:
        """The metrics by name; true and false are 1 and 0, None is unknown."""
        return {name: _cell(getattr(self.metrics, name)) for name in METRIC_NAMES}

    def cells(self) -> dict[str, Cell]:
        """The whole row by column, in the order of `COLUMNS`."""
        location: dict[str, Cell] = {"id": self.test_id, "path": self.path, "line": self.line}
        return {**location, "linked_to": self.linked_to, "linked_by": self.linked_by, **self.metric_cells()}


def metrics_of(case: StaticCase, project: Project) -> Metrics:
    """Compute the metrics of a test; those of production code once for all tests that are linked to it."""
    production = _production_metrics(link_of(case, project).target, project)
    case_values = case_metrics(case.function, _case_source(case.module, project, production))
    return combine_metrics(case_values, production)


def combine_metrics(case_values: CaseMetrics, production: ProductionMetrics | None) -> Metrics:
    """Combine the metrics of a test and of the code it tests."""
    values: dict[str, Any] = {field.name: getattr(case_values, field.name) for field in fields(CaseMetrics)}
    for field in fields(LinkedCodeMetrics):
        # `halstead_volume` without prefix is that of the test, as in the table of features.
        values[field.name] = getattr(production, field.name.removeprefix("production_"), None)
    return Metrics(**values)


def metrics_row(case: StaticCase, project: Project) -> MetricsRow:
    """The row of metrics of one test."""
    link = link_of(case, project)
    return MetricsRow(
        test_id=str(case.id),
        path=case.path,
        line=case.line,
        linked_to=_target_name(link.target),
        linked_by=link.source.value if link.source else None,
        metrics=metrics_of(case, project),
    )


def _target_name(target: Definition | None) -> str | None:
    if target is None:
        return None
    return f"{target.module.path}:{target.name}" if target.name else target.module.path


def _cell(value: float | None) -> float | None:
    return int(value) if isinstance(value, bool) else value


def _production_metrics(target: Definition | None, project: Project) -> ProductionMetrics | None:
    if target is None:
        return None
    unit = _class_or_module(target)
    node = unit.node
    assert isinstance(node, ast.ClassDef | ast.Module)
    return project.compute_once(
        ("production", node), lambda: production_metrics(node, _unit_source(unit, project))
    )


def _class_or_module(target: Definition) -> Definition:
    """The class that a target is or belongs to, else its module."""
    definition: Definition | None = target
    while definition is not None and definition.class_ is None:
        definition = definition.owner
    return definition or Definition(name="", module=target.module, node=target.module.tree)


def _unit_source(unit: Definition, project: Project) -> UnitSource:
    module = unit.module
    return UnitSource(
        name=unit.class_.name if unit.class_ else PurePosixPath(module.path).stem,
        lines=line_counter_of(module, project),
        imports=_imported_names_of(module, project),
        classes={node.name for node in module.tree.body if isinstance(node, ast.ClassDef)},
        inherited=_inherited_methods(unit, project),
    )


def _inherited_methods(unit: Definition, project: Project) -> set[str]:
    if unit.class_ is None:
        return set()
    bases = [base.class_ for base in project.mro(unit)[1:] if isinstance(base, Definition) and base.class_]
    return {
        method.name
        for base in bases
        for method in base.body
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def _case_source(module: Module, project: Project, production: ProductionMetrics | None) -> CaseSource:
    return CaseSource(
        lines=line_counter_of(module, project),
        imports=_imported_names_of(module, project),
        is_own=lambda package: project.paths.path_of_module(package, module.path) is not None,
        methods=production.method_names if production else None,
    )


def line_counter_of(module: Module, project: Project) -> LineCounter:
    """The line counter of a file, made once."""
    return project.compute_once(("lines", module.tree), lambda: LineCounter(module.text))


def _imported_names_of(module: Module, project: Project) -> Mapping[str, str]:
    return project.compute_once(("imported names", module.tree), lambda: imported_names(module.tree.body))
