"""Cohesion: how much the methods of a unit share attributes."""

from __future__ import annotations

from itertools import combinations

from flakehound.lint.metrics.units import Unit


def lcom2(unit: Unit) -> float:
    """The share of methods that do not access an attribute, averaged over the attributes: 0 to 1."""
    pairs = len(unit.methods) * len(unit.attributes)
    return 1 - attribute_accesses(unit) / pairs if pairs else 0.0


def lcom5(unit: Unit) -> float:
    """Henderson-Sellers' measure: 0 if every method accesses every attribute, 1 if only one does."""
    methods, attributes = len(unit.methods), len(unit.attributes)
    if methods < 2 or not attributes:
        return 0.0
    return (methods - attribute_accesses(unit) / attributes) / (methods - 1)


def attribute_accesses(unit: Unit) -> int:
    """The number of pairs of a method and an attribute that it accesses."""
    return sum(len(method.attributes) for method in unit.methods)


def unrelated_pairs(unit: Unit) -> int:
    """Chidamber and Kemerer's count: pairs of methods without a common attribute minus those with one, at least 0.

    STATIC's tool reports this as LCOM2, and its threshold for a god class applies to it.
    """
    related = sum(
        not first.attributes.isdisjoint(second.attributes) for first, second in combinations(unit.methods, 2)
    )
    pairs = len(unit.methods) * (len(unit.methods) - 1) // 2
    return max(0, pairs - 2 * related)
