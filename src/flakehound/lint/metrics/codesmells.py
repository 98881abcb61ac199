"""Five code smells of production code, by DECOR's rules with the thresholds of STATIC's tool.

Each function says whether the unit has the smell.
"""

from __future__ import annotations

import ast

from flakehound.lint.metrics.cohesion import unrelated_pairs
from flakehound.lint.metrics.units import Unit

MAX_PUBLIC_ATTRIBUTES = 10
MAX_COMPLEXITY = 200
MAX_METHODS_OF_DECOMPOSITION = 2
MAX_FEATURES = 20
MAX_UNRELATED_PAIRS = 350
MAX_LINES_BEFORE_GOD_CLASS = 500
MAX_LINES_BEFORE_SPAGHETTI = 600
MAX_METHOD_LINES = 100
CONTROLLER_WORDS = ("process", "control", "command", "manage", "drive", "system")


def class_data_should_be_private(unit: Unit) -> bool:
    """Whether it has more than ten public attributes."""
    return sum(not name.startswith("_") for name in unit.attributes) > MAX_PUBLIC_ATTRIBUTES


def complex_class(wmc: int) -> bool:
    """Whether the complexities of its methods add up to more than 200."""
    return wmc > MAX_COMPLEXITY


def functional_decomposition(unit: Unit) -> bool:
    """Whether it is rather a function: one or two methods, no base class, all attributes private."""
    if not isinstance(unit.node, ast.ClassDef) or _has_base_class(unit.node):
        return False
    all_private = all(name.startswith("_") for name in unit.attributes)
    return 0 < len(unit.methods) <= MAX_METHODS_OF_DECOMPOSITION and all_private


def god_class(unit: Unit, name: str, lines: int) -> bool:
    """Whether it is named like a controller, longer than 500 lines, and has many features or unrelated methods."""
    if lines <= MAX_LINES_BEFORE_GOD_CLASS or not any(word in name.lower() for word in CONTROLLER_WORDS):
        return False
    features = len(unit.methods) + len(unit.attributes)
    return features > MAX_FEATURES or unrelated_pairs(unit) > MAX_UNRELATED_PAIRS


def spaghetti_code(unit: Unit, lines: int) -> bool:
    """Whether it is longer than 600 lines and has a method of more than 100 without parameters."""
    is_long_without_parameters = (
        method.lines > MAX_METHOD_LINES and not method.parameters for method in unit.methods
    )
    return lines > MAX_LINES_BEFORE_SPAGHETTI and any(is_long_without_parameters)


def _has_base_class(node: ast.ClassDef) -> bool:
    return any(not (isinstance(base, ast.Name) and base.id == "object") for base in node.bases)
