"""Walk syntax trees faster than `ast.walk`, and check how deep they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

_BLOCKS = (ast.stmt, ast.ExceptHandler, ast.match_case)
# Fields without child nodes (names, numbers, flags), or with nodes that have no content (contexts, operators).
_FIELDS_WITHOUT_CHILDREN = frozenset(
    {
        "arg",
        "asname",
        "attr",
        "attribute",
        "conversion",
        "ctx",
        "id",
        "is_async",
        "kind",
        "kwd_attrs",
        "level",
        "module",
        "n",
        "name",
        "op",
        "ops",
        "rest",
        "s",
        "simple",
        "str",
        "tag",
        "type_comment",
        "type_ignores",
    }
)
_FIELDS_WITHOUT_CHILDREN_BY_KIND: Mapping[type[ast.AST], frozenset[str]] = {
    ast.Constant: frozenset({"value"}),
    ast.MatchSingleton: frozenset({"value"}),
    ast.Global: frozenset({"names"}),
    ast.Nonlocal: frozenset({"names"}),
}


def _fields_by_kind() -> dict[type[ast.AST], tuple[str, ...]]:
    kinds = [kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)]
    return {kind: _child_fields(kind) for kind in kinds}


def _child_fields(kind: type[ast.AST]) -> tuple[str, ...]:
    excluded = _FIELDS_WITHOUT_CHILDREN | _FIELDS_WITHOUT_CHILDREN_BY_KIND.get(kind, frozenset())
    return tuple(name for name in kind._fields if name not in excluded)


CHILD_FIELDS = _fields_by_kind()
"""The fields that contain child nodes, by the kind of node."""
_LISTS_WITH_NONE = frozenset({"keys", "kw_defaults"})  # None stands for `**rest` in a dict and for no default


def nodes_of(root: ast.AST) -> list[ast.AST]:
    """The node and all nodes below it, level by level as in `ast.walk`, without contexts and operators."""
    nodes = [root]
    for node in nodes:  # the list grows during the loop
        for name in CHILD_FIELDS[node.__class__]:
            child = getattr(node, name)
            if child.__class__ is list:
                nodes += [item for item in child if item is not None] if name in _LISTS_WITH_NONE else child
            elif child is not None:
                nodes.append(child)
    return nodes


def statements_of(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements of a file, also nested ones, with handlers and cases; outer ones first."""
    pending: list[ast.AST] = list(reversed(tree.body))
    while pending:
        node = pending.pop()
        yield node
        pending += reversed(list(_blocks_in(node)))


def is_deeper_than(tree: ast.Module, lines: Sequence[str], levels: int) -> bool:
    """Whether some node is more than `levels` levels below the tree.

    Each level takes at least one character, so short statements need not be walked.
    """
    pending: list[tuple[ast.AST, int]] = [(statement, 1) for statement in tree.body]
    while pending:
        node, depth = pending.pop()
        inner = list(_blocks_in(node))
        pending += [(block, depth + 1) for block in inner]
        levels_left = levels - depth
        if levels_left < 0 or (
            _length_of_own_lines(node, inner, lines) > levels_left and _goes_deeper(node, levels_left)
        ):
            return True
    return False


def _blocks_in(node: ast.AST) -> Iterator[ast.AST]:
    for value in node.__dict__.values():
        if isinstance(value, list) and value and isinstance(value[0], _BLOCKS):
            yield from value


def _length_of_own_lines(node: ast.AST, inner: Sequence[ast.AST], lines: Sequence[str]) -> int:
    """Characters on the lines of a statement without its inner blocks, or a few more."""
    if not inner and isinstance(node, ast.stmt) and node.end_lineno == node.lineno:
        return node.end_col_offset or 0
    first = _first_line(node)
    last = min((_first_line(block) for block in inner), default=getattr(node, "end_lineno", None) or first)
    return sum(len(line) + 1 for line in lines[first - 1 : last])


def _first_line(node: ast.AST) -> int:
    if isinstance(node, ast.match_case):
        return node.pattern.lineno
    assert isinstance(node, ast.stmt | ast.ExceptHandler)
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)]) if decorators else node.lineno


def _goes_deeper(statement: ast.AST, levels: int) -> bool:
    level = [node for node in ast.iter_child_nodes(statement) if not isinstance(node, _BLOCKS)]
    for _ in range(levels):
        if not level:
            return False
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return bool(level)
