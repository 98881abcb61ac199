"""Five code smells of production code, by DECOR's rules with the thresholds of the source's tool.

Each says whether the unit has the smell.
"""

from __future__ import annotations

import ast

from flakehound.lint.metrics.cohesion import unrelated_pairs
from flakehound.lint.metrics.units import Unit

MOST_PUBLIC_ATTRIBUTES = 10
MOST_COMPLEXITY = 200
FEW_METHODS = 2
MANY_FEATURES = 20
MANY_UNRELATED_PAIRS = 350
GOD_CLASS_LINES = 500
SPAGHETTI_LINES = 600
LONG_METHOD_LINES = 100
CONTROLLERS = ("process", "control", "command", "manage", "drive", "system")


def class_data_should_be_private(unit: Unit) -> bool:
    """Whether it shows more than ten attributes."""
    return sum(not name.startswith("_") for name in unit.attributes) > MOST_PUBLIC_ATTRIBUTES


def complex_class(wmc: int) -> bool:
    """Whether its methods' complexities sum up to more than 200."""
    return wmc > MOST_COMPLEXITY


def functional_decomposition(unit: Unit) -> bool:
    """Whether it is a function in disguise: one or two methods, no base class, every attribute private."""
    if not isinstance(unit.node, ast.ClassDef) or _inherits(unit.node):
        return False
    hidden = all(name.startswith("_") for name in unit.attributes)
    return 0 < len(unit.methods) <= FEW_METHODS and hidden


def god_class(unit: Unit, name: str, lines: int) -> bool:
    """Whether it is named like a controller, longer than 500 lines, and has many features or unrelated methods."""
    if lines <= GOD_CLASS_LINES or not any(word in name.lower() for word in CONTROLLERS):
        return False
    features = len(unit.methods) + len(unit.attributes)
    return features > MANY_FEATURES or unrelated_pairs(unit) > MANY_UNRELATED_PAIRS


def spaghetti_code(unit: Unit, lines: int) -> bool:
    """Whether it is longer than 600 lines and has a method of more than 100 without parameters."""
    tangled = (method.lines > LONG_METHOD_LINES and not method.parameters for method in unit.methods)
    return lines > SPAGHETTI_LINES and any(tangled)


def _inherits(node: ast.ClassDef) -> bool:
    return any(not (isinstance(base, ast.Name) and base.id == "object") for base in node.bases)
