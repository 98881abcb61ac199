"""Halstead's counts of operators and operands, by radon's reading of what they are.

Operators are those of arithmetic, comparison, logic and augmented assignment. Operands are what they stand
between; a name, an attribute and a constant are distinguished by their text alone, anything else counts as new.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import dataclass

from flakehound.lint.metrics.code import Code


@dataclass(frozen=True, slots=True, kw_only=True)
class Halstead:
    """The four counts, and what follows from them."""

    operators: int
    operands: int
    distinct_operators: int
    distinct_operands: int

    @property
    def length(self) -> int:
        """All operators and operands."""
        return self.operators + self.operands

    @property
    def vocabulary(self) -> int:
        """The distinct ones."""
        return self.distinct_operators + self.distinct_operands

    @property
    def volume(self) -> float:
        """Bits that a program of this length over this vocabulary takes."""
        return self.length * math.log2(self.vocabulary) if self.vocabulary else 0.0


def halstead(code: Code) -> Halstead:
    """The counts of the code; equal operands of differently named functions are distinct."""
    operators: list[type[ast.AST]] = []
    operands: list[tuple[str | None, object]] = []
    for region in code.regions():
        for marks, values in _operations(region):
            operators += marks
            operands += [(region.context, _identity(value)) for value in values]
    return Halstead(
        operators=len(operators),
        operands=len(operands),
        distinct_operators=len(set(operators)),
        distinct_operands=len(set(operands)),
    )


def _operations(code: Code) -> Iterator[tuple[list[type[ast.AST]], list[ast.expr]]]:
    for binary in code.own(ast.BinOp):
        yield [type(binary.op)], [binary.left, binary.right]
    for unary in code.own(ast.UnaryOp):
        yield [type(unary.op)], [unary.operand]
    for logical in code.own(ast.BoolOp):
        yield [type(logical.op)], logical.values
    for augmented in code.own(ast.AugAssign):
        yield [type(augmented.op)], [augmented.target, augmented.value]
    for compare in code.own(ast.Compare):
        yield [type(op) for op in compare.ops], [compare.left, *compare.comparators]


def _identity(operand: ast.expr) -> object:
    if isinstance(operand, ast.Name):
        return operand.id
    if isinstance(operand, ast.Attribute):
        return operand.attr
    return operand.value if isinstance(operand, ast.Constant) else operand
