"""The order in which Python looks up an attribute in a class and its bases."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from flakehound.lint.source.definitions import Definition, External, Meaning

Bases = Callable[[Definition], Sequence[Meaning]]
_MAX_DEPTH = 30  # of base classes; also ends a cycle


def method_resolution_order(definition: Definition, bases_of: Bases) -> tuple[Meaning, ...]:
    """Python's method resolution order without `object`, as far as the source shows the bases.

    Also gives an order for a class that Python would reject, such as one that is its own base.
    """
    return tuple(_linearise(definition, bases_of, depth=0))


def _linearise(definition: Definition, bases_of: Bases, depth: int) -> list[Meaning]:
    bases = [base for base in bases_of(definition) if _key(base) != _key(definition)]
    if depth > _MAX_DEPTH:
        return [definition, *bases]
    base_orders = [
        _linearise(base, bases_of, depth + 1) if isinstance(base, Definition) and base.class_ else [base]
        for base in bases
    ]
    return [definition, *_merge_orders([*base_orders, list(bases)])]


def _merge_orders(orders: list[list[Meaning]]) -> list[Meaning]:
    """The merge step of the C3 algorithm; takes the first candidate where C3 finds none."""
    result: list[Meaning] = []
    while orders := [order for order in orders if order]:
        chosen = next((order[0] for order in orders if _can_come_next(order[0], orders)), orders[0][0])
        result.append(chosen)
        orders = [[base for base in order if _key(base) != _key(chosen)] for order in orders]
    return result


def _can_come_next(candidate: Meaning, orders: list[list[Meaning]]) -> bool:
    return all(_key(candidate) != _key(base) for order in orders for base in order[1:])


def _key(meaning: Meaning) -> int | str:
    return meaning.name if isinstance(meaning, External) else id(meaning.node)


def base_expressions(node: ast.ClassDef) -> list[ast.expr]:
    """The bases as written; `Generic[T]` becomes `Generic`, and `*bases` is left out."""
    bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
    return [base for base in bases if not isinstance(base, ast.Starred)]
