"""All the nodes below a node, faster than `ast.walk`, and how deep they go."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

_BLOCKS = (ast.stmt, ast.ExceptHandler, ast.match_case)
# Fields that hold no nodes (names, numbers, flags) or only marks without content (contexts, operators).
_PLAIN = frozenset(
    ("arg", "asname", "attr", "attribute", "conversion", "ctx", "id", "is_async", "kind", "kwd_attrs", "level",
     "module", "n", "name", "op", "ops", "rest", "s", "simple", "str", "tag", "type_comment", "type_ignores")
)  # fmt: skip
_PLAIN_OF_KIND: Mapping[type[ast.AST], frozenset[str]] = {
    ast.Constant: frozenset({"value"}),
    ast.MatchSingleton: frozenset({"value"}),
    ast.Global: frozenset({"names"}),
    ast.Nonlocal: frozenset({"names"}),
}


def _fields_by_kind() -> dict[type[ast.AST], tuple[str, ...]]:
    kinds = [kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)]
    return {
        kind: tuple(name for name in kind._fields if name not in _PLAIN | _PLAIN_OF_KIND.get(kind, frozenset()))
        for kind in kinds
    }


CHILD_FIELDS = _fields_by_kind()
"""The fields that hold child nodes, by the kind of node."""
_WITH_GAPS = frozenset(("keys", "kw_defaults"))  # `**rest` in a display has no key


def nodes_of(root: ast.AST) -> list[ast.AST]:
    """The node and everything below it, level by level as in `ast.walk`, without contexts and operators."""
    found = [root]
    for node in found:  # grows while we go
        for name in CHILD_FIELDS[node.__class__]:
            child = getattr(node, name)
            if child.__class__ is list:
                found += [one for one in child if one is not None] if name in _WITH_GAPS else child
            elif child is not None:
                found.append(child)
    return found


def statements_of(tree: ast.Module) -> Iterator[ast.AST]:
    """Every statement of a file, the inner ones too, with handlers and cases; outer ones first."""
    waiting: list[ast.AST] = list(reversed(tree.body))
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(list(_blocks_in(node)))


def is_nested_deeper(tree: ast.Module, lines: Sequence[str], levels: int) -> bool:
    """Whether some node is more than so many levels below the tree.

    Every level takes at least one character, so that short statements need no look inside.
    """
    waiting: list[tuple[ast.AST, int]] = [(one, 1) for one in tree.body]
    while waiting:
        node, depth = waiting.pop()
        inner = list(_blocks_in(node))
        waiting += [(one, depth + 1) for one in inner]
        left = levels - depth
        if left < 0 or (_length(node, inner, lines) > left and _goes_deeper(node, left)):
            return True
    return False


def _blocks_in(node: ast.AST) -> Iterator[ast.AST]:
    for value in node.__dict__.values():
        if isinstance(value, list) and value and isinstance(value[0], _BLOCKS):
            yield from value


def _length(node: ast.AST, inner: Sequence[ast.AST], lines: Sequence[str]) -> int:
    """Characters of the lines that a statement has for itself; a little more does not matter."""
    if not inner and isinstance(node, ast.stmt) and node.end_lineno == node.lineno:
        return node.end_col_offset or 0
    first = _first_line(node)
    last = min((_first_line(one) for one in inner), default=getattr(node, "end_lineno", None) or first)
    return sum(len(line) + 1 for line in lines[first - 1 : last])


def _first_line(node: ast.AST) -> int:
    if isinstance(node, ast.match_case):
        return node.pattern.lineno
    assert isinstance(node, ast.stmt | ast.ExceptHandler)
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)]) if decorators else node.lineno


def _goes_deeper(statement: ast.AST, levels: int) -> bool:
    level = [one for one in ast.iter_child_nodes(statement) if not isinstance(one, _BLOCKS)]
    for _ in range(levels):
        if not level:
            return False
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return bool(level)
