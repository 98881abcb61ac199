"""How much the methods of a unit have to do with each other."""

from __future__ import annotations

from itertools import combinations

from flakehound.lint.metrics.units import Unit


def lcom2(unit: Unit) -> float:
    """The share of methods that do not access an attribute, averaged over the attributes: 0 to 1."""
    pairs = len(unit.methods) * len(unit.attributes)
    return 1 - accesses(unit) / pairs if pairs else 0.0


def lcom5(unit: Unit) -> float:
    """Henderson-Sellers' measure: 0 if every method accesses every attribute, 1 if only one does."""
    methods, attributes = len(unit.methods), len(unit.attributes)
    if methods < 2 or not attributes:
        return 0.0
    return (methods - accesses(unit) / attributes) / (methods - 1)


def accesses(unit: Unit) -> int:
    """How many pairs of a method and an attribute it accesses there are."""
    return sum(len(method.attributes) for method in unit.methods)


def unrelated_pairs(unit: Unit) -> int:
    """Chidamber and Kemerer's count: pairs of methods without a common attribute minus those with one, at least 0.

    The source's tool reports this as LCOM2, and its threshold for a god class is meant for it.
    """
    related = sum(not one.attributes.isdisjoint(two.attributes) for one, two in combinations(unit.methods, 2))
    pairs = len(unit.methods) * (len(unit.methods) - 1) // 2
    return max(0, pairs - 2 * related)
