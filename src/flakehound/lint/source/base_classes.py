"""In which order a class and its bases are asked for an attribute."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from flakehound.lint.source.definitions import Definition, External, Meaning

Bases = Callable[[Definition], Sequence[Meaning]]
_DEEPEST = 30


def method_resolution_order(definition: Definition, bases_of: Bases) -> tuple[Meaning, ...]:
    """Python's method resolution order without `object`, as far as the bases can be seen.

    A class that Python would refuse for its order, or that names itself among its bases, still gets one.
    """
    return tuple(_merged(definition, bases_of, depth=0))


def _merged(definition: Definition, bases_of: Bases, depth: int) -> list[Meaning]:
    bases = [base for base in bases_of(definition) if _key(base) != _key(definition)]
    if depth > _DEEPEST:
        return [definition, *bases]
    lines = [
        _merged(base, bases_of, depth + 1) if isinstance(base, Definition) and base.class_ else [base]
        for base in bases
    ]
    return [definition, *_c3([*lines, list(bases)])]


def _c3(lines: list[list[Meaning]]) -> list[Meaning]:
    order: list[Meaning] = []
    while lines := [line for line in lines if line]:
        chosen = next((line[0] for line in lines if _is_free(line[0], lines)), lines[0][0])
        order.append(chosen)
        lines = [[one for one in line if _key(one) != _key(chosen)] for line in lines]
    return order


def _is_free(candidate: Meaning, lines: list[list[Meaning]]) -> bool:
    return all(_key(candidate) != _key(one) for line in lines for one in line[1:])


def _key(meaning: Meaning) -> int | str:
    return meaning.name if isinstance(meaning, External) else id(meaning.node)


def base_expressions(node: ast.ClassDef) -> list[ast.expr]:
    """The bases as written, with `Generic[T]` without its brackets and without unpacked ones."""
    bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
    return [base for base in bases if not isinstance(base, ast.Starred)]
