"""The metrics of the class or module that a test is linked to."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from flakehound.lint.metrics import codesmells
from flakehound.lint.metrics.code_nodes import first_line
from flakehound.lint.metrics.cohesion import lcom2, lcom5
from flakehound.lint.metrics.complexity import complexity
from flakehound.lint.metrics.coupling import cbo, mpc, rfc
from flakehound.lint.metrics.halstead import halstead
from flakehound.lint.metrics.lines import LineCounter
from flakehound.lint.metrics.units import unit_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductionMetrics:
    """The fifteen metrics of a unit, and the names of its methods."""

    cbo: int
    halstead_length: int
    halstead_vocabulary: int
    halstead_volume: float
    loc: int
    lcom2: float
    lcom5: float
    mpc: int
    rfc: int
    wmc: int
    class_data_should_be_private: bool
    complex_class: bool
    functional_decomposition: bool
    god_class: bool
    spaghetti_code: bool
    method_names: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitSource:
    """What the metrics of a unit need from its file."""

    name: str  # of the class or module
    lines: LineCounter
    imports: Mapping[str, str]  # local name -> full dotted name
    classes: Collection[str] = ()  # names of the file's classes
    inherited: Collection[str] = ()  # names of methods of base classes


def production_metrics(node: ast.ClassDef | ast.Module, source: UnitSource) -> ProductionMetrics:
    """Compute the metrics of a class or a module."""
    unit = unit_of(node)
    counts = halstead(unit.code)
    loc = _line_count(node, source.lines)
    wmc = sum(complexity(method.code, asserts=False) for method in unit.methods)
    return ProductionMetrics(
        cbo=cbo(unit, source.imports, source.classes if unit.name else ()),
        halstead_length=counts.length,
        halstead_vocabulary=counts.vocabulary,
        halstead_volume=counts.volume,
        loc=loc,
        lcom2=lcom2(unit),
        lcom5=lcom5(unit),
        mpc=mpc(unit),
        rfc=rfc(unit, source.inherited),
        wmc=wmc,
        class_data_should_be_private=codesmells.class_data_should_be_private(unit),
        complex_class=codesmells.complex_class(wmc),
        functional_decomposition=codesmells.functional_decomposition(unit),
        god_class=codesmells.god_class(unit, source.name, loc),
        spaghetti_code=codesmells.spaghetti_code(unit, loc),
        method_names=unit.method_names,
    )


def _line_count(node: ast.ClassDef | ast.Module, lines: LineCounter) -> int:
    if isinstance(node, ast.Module):
        return lines.whole_file().non_blank
    return lines.between(first_line(node), node.end_lineno or node.lineno).non_blank
