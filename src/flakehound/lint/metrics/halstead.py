"""Halstead's counts of operators and operands, as radon defines them.

Operators are those of arithmetic, comparison, logic and augmented assignment. Operands are their arguments; names,
attributes and constants with the same text are one operand, any other expression is a new operand.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import dataclass

from flakehound.lint.metrics.code_nodes import Code


@dataclass(frozen=True, slots=True, kw_only=True)
class Halstead:
    """The four counts, and the values derived from them."""

    operators: int
    operands: int
    distinct_operators: int
    distinct_operands: int

    @property
    def length(self) -> int:
        """The number of operators and operands."""
        return self.operators + self.operands

    @property
    def vocabulary(self) -> int:
        """The number of distinct operators and operands."""
        return self.distinct_operators + self.distinct_operands

    @property
    def volume(self) -> float:
        """The bits that a program of this length with this vocabulary takes."""
        return self.length * math.log2(self.vocabulary) if self.vocabulary else 0.0


def halstead(code: Code) -> Halstead:
    """Count operators and operands; equal operands in functions of different names are distinct."""
    operators: list[type[ast.AST]] = []
    operands: list[tuple[str | None, object]] = []
    for region in code.regions():
        for kinds, values in _operations(region):
            operators += kinds
            operands += [(region.context, _identity(value)) for value in values]
    return Halstead(
        operators=len(operators),
        operands=len(operands),
        distinct_operators=len(set(operators)),
        distinct_operands=len(set(operands)),
    )


def _operations(code: Code) -> Iterator[tuple[list[type[ast.AST]], list[ast.expr]]]:
    for binary in code.own_nodes(ast.BinOp):
        yield [type(binary.op)], [binary.left, binary.right]
    for unary in code.own_nodes(ast.UnaryOp):
        yield [type(unary.op)], [unary.operand]
    for logical in code.own_nodes(ast.BoolOp):
        yield [type(logical.op)], logical.values
    for augmented in code.own_nodes(ast.AugAssign):
        yield [type(augmented.op)], [augmented.target, augmented.value]
    for compare in code.own_nodes(ast.Compare):
        yield [type(op) for op in compare.ops], [compare.left, *compare.comparators]


def _identity(operand: ast.expr) -> object:
    if isinstance(operand, ast.Name):
        return operand.id
    if isinstance(operand, ast.Attribute):
        return operand.attr
    return operand.value if isinstance(operand, ast.Constant) else operand
