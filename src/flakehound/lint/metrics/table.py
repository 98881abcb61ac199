"""All metrics of a test in one place, and the rows of `flakehound lint --metrics`."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import PurePosixPath
from typing import Any

from flakehound.lint.collect.cases import StaticCase
from flakehound.lint.links.tested_code import link_of
from flakehound.lint.metrics.case import CaseMetrics, CaseSource, case_metrics
from flakehound.lint.metrics.imported import imported_names
from flakehound.lint.metrics.lines import Lines
from flakehound.lint.metrics.production import ProductionMetrics, UnitSource, production_metrics
from flakehound.lint.source.definitions import Definition
from flakehound.lint.source.modules import Module
from flakehound.lint.source.project import Project

Cell = str | int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Every metric of one test. Those of the linked production code are None where none is linked."""

    # The linked class, or the module where no class fits.
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
    # The test, as STATIC measures it.
    mccabe: int
    tloc: int
    assertion_density: float
    assertion_roulette: int
    conditional_test_logic: int
    eager_test: int | None
    fire_and_forget: int
    mystery_guest: int
    resource_optimism: int
    sensitive_equality: int
    # The test, as CANNIER measures it.
    ast_depth: int
    assertions: int
    external_modules: int
    halstead_volume: float
    cyclomatic_complexity: int
    test_lines_of_code: int
    maintainability: float


METRIC_NAMES = tuple(field.name for field in fields(Metrics))
COLUMNS = ("id", "path", "line", "linked_to", "linked_by", *METRIC_NAMES)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsRow:
    """The metrics of one test, with its place and the code it tests."""

    test_id: str
    path: str
    line: int
    linked_to: str | None  # "shop/cart.py:Cart.total"; None where nothing was found
    linked_by: str | None  # "naming", "imports" or "module"
    metrics: Metrics

    def metric_cells(self) -> dict[str, float | None]:
        """The metrics by name; yes and no are 1 and 0, None is unknown."""
        return {name: _cell(getattr(self.metrics, name)) for name in METRIC_NAMES}

    def cells(self) -> dict[str, Cell]:
        """The whole row by column, in the order of `COLUMNS`."""
        place: dict[str, Cell] = {"id": self.test_id, "path": self.path, "line": self.line}
        return {**place, "linked_to": self.linked_to, "linked_by": self.linked_by, **self.metric_cells()}


def metrics_of(case: StaticCase, project: Project) -> Metrics:
    """The metrics of a test; those of production code are computed once for all tests linked to it."""
    production = _production(link_of(case, project).target, project)
    own = case_metrics(case.function, _around(case.module, project, production))
    return combined(own, production)


def combined(own: CaseMetrics, production: ProductionMetrics | None) -> Metrics:
    """The test's own metrics and those of the code it tests."""
    found: dict[str, Any] = {name: getattr(own, name) for name in _OF_CASE}
    found |= {name: getattr(production, field, None) for name, field in _PRODUCTION.items()}
    return Metrics(**found)


_OF_CASE = METRIC_NAMES[METRIC_NAMES.index("mccabe") :]
# `halstead_volume` alone is the test's, as in the table of features.
_PRODUCTION: Mapping[str, str] = {
    name: name.removeprefix("production_") for name in METRIC_NAMES[: METRIC_NAMES.index("mccabe")]
}


def row_of(case: StaticCase, project: Project) -> MetricsRow:
    """The row of one test."""
    link = link_of(case, project)
    return MetricsRow(
        test_id=str(case.id),
        path=case.path,
        line=case.line,
        linked_to=_name_of(link.target),
        linked_by=link.source.value if link.source else None,
        metrics=metrics_of(case, project),
    )


def _name_of(target: Definition | None) -> str | None:
    if target is None:
        return None
    return f"{target.module.path}:{target.name}" if target.name else target.module.path


def _cell(value: float | None) -> float | None:
    return int(value) if isinstance(value, bool) else value


def _production(target: Definition | None, project: Project) -> ProductionMetrics | None:
    if target is None:
        return None
    unit = _unit(target)
    node = unit.node
    assert isinstance(node, ast.ClassDef | ast.Module)
    return project.compute_once(
        ("production", node), lambda: production_metrics(node, _around_unit(unit, project))
    )


def _unit(target: Definition) -> Definition:
    """The class that a target is or belongs to, else its module."""
    found: Definition | None = target
    while found is not None and found.class_ is None:
        found = found.owner
    return found or Definition(name="", module=target.module, node=target.module.tree)


def _around_unit(unit: Definition, project: Project) -> UnitSource:
    module = unit.module
    return UnitSource(
        name=unit.class_.name if unit.class_ else PurePosixPath(module.path).stem,
        lines=lines_of(module, project),
        imports=_imports_of(module, project),
        classes={node.name for node in module.tree.body if isinstance(node, ast.ClassDef)},
        inherited=_inherited(unit, project),
    )


def _inherited(unit: Definition, project: Project) -> set[str]:
    if unit.class_ is None:
        return set()
    bases = [one.class_ for one in project.mro(unit)[1:] if isinstance(one, Definition) and one.class_]
    return {
        method.name
        for base in bases
        for method in base.body
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def _around(module: Module, project: Project, production: ProductionMetrics | None) -> CaseSource:
    return CaseSource(
        lines=lines_of(module, project),
        imports=_imports_of(module, project),
        is_own=lambda package: project.paths.path_of_module(package, module.path) is not None,
        methods=production.method_names if production else None,
    )


def lines_of(module: Module, project: Project) -> Lines:
    """The file's line counts, computed once."""
    return project.compute_once(("lines", module.tree), lambda: Lines(module.text))


def _imports_of(module: Module, project: Project) -> Mapping[str, str]:
    return project.compute_once(("imported names", module.tree), lambda: imported_names(module.tree.body))
