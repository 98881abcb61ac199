"""Floating point numbers are compared for equality."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import isfinite

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import ValueComparison
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign
from flakehound.lint.rules._values import number_value
from flakehound.lint.source.syntax_walk import nodes_of

_COMPUTING_FUNCTIONS = frozenset(
    {
        "average",
        "dot",
        "exp",
        "log",
        "mean",
        "median",
        "norm",
        "pow",
        "score",
        "sqrt",
        "std",
        "stdev",
        "sum",
        "var",
    }
)
_NUMBER_FUNCTIONS = _COMPUTING_FUNCTIONS | {"float", "int", "len", "max", "min"}
_TOLERANT_FUNCTIONS = frozenset({"Decimal", "Fraction", "allclose", "approx", "isclose", "round"})


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for comparison in function.facts.comparisons:
        if (
            comparison.relation == "equal"
            and _is_fractional(comparison)
            and not _is_tolerant(comparison.left)
            and not _is_tolerant(comparison.right)
        ):
            computed = any(_is_computed(function, side) for side in comparison.sides)
            weak = "" if computed else "the number may be stored and not computed"
            yield Sign(comparison.node, "asks two floating point numbers to be exactly equal", weak)


def _is_computed(function: ReachedFunction, side: ast.expr) -> bool:
    value = function.facts.value_of(side)
    if isinstance(value, ast.Call):
        return _called_name(value) in _COMPUTING_FUNCTIONS
    is_number = number_value(value) is not None
    return (
        isinstance(value, ast.BinOp)
        and not is_number
        and not isinstance(value.op, ast.Mod)
        and _has_inexact(value)
    )


def _has_inexact(value: ast.BinOp) -> bool:
    has_literals_only = all(
        not isinstance(part, ast.Name | ast.Call | ast.Attribute | ast.Subscript) for part in nodes_of(value)
    )
    return not has_literals_only


def _is_fractional(comparison: ValueComparison) -> bool:
    return (
        _is_inexact(comparison.left) != _is_inexact(comparison.right)
        or _computes(comparison.left)
        or _computes(comparison.right)
    )


def _is_tolerant(node: ast.expr) -> bool:
    return any(_called_name(part) in _TOLERANT_FUNCTIONS for part in nodes_of(node) if isinstance(part, ast.Call))


def _called_name(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def _is_inexact(node: ast.expr) -> bool:
    """Whether it is a fraction that has no exact binary form: 0.1 has none, 0.5 has one."""
    number = number_value(node)
    return number is not None and isfinite(number) and not float(number * 1024).is_integer()


def _computes(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and (
        (isinstance(node.op, ast.Div) and _is_about_numbers(node))
        or _is_inexact(node.left)
        or _is_inexact(node.right)
    )


def _is_about_numbers(division: ast.BinOp) -> bool:
    """Whether a division has a number or a function of numbers in it; `/` also joins paths."""
    parts = nodes_of(division)
    return any(
        number_value(part) is not None or (isinstance(part, ast.Call) and _called_name(part) in _NUMBER_FUNCTIONS)
        for part in parts
    ) and not any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in parts)


RULE = LintRule(
    id="FH603",
    name="float-equality",
    cause=Cause.FLOATING_POINT,
    title="Floating point numbers are compared with ==",
    why="The last digits hang on the order of summation, the processor, the number of threads and "
    "the library's version.",
    fix="Use `pytest.approx`, `math.isclose` or `numpy.testing.assert_allclose`.",
    bad="def test_sum():\n    assert total([0.1, 0.2]) == 0.3\n",
    good="import pytest\n\ndef test_sum():\n    assert total([0.1, 0.2]) == pytest.approx(0.3)\n",
    check=in_each_function(_find, in_production=False),
)
