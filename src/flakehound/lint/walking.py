"""All the nodes below a node, faster than `ast.walk`, and how deep they go."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

# Python shares one object of each of these between all places, so they tell nothing and are very many.
_MARKS = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
_ENDS = (ast.Name, ast.Constant)  # half of all nodes, with nothing below but marks
_BLOCKS = (ast.stmt, ast.ExceptHandler, ast.match_case)


def nodes_of(root: ast.AST) -> list[ast.AST]:
    """The node and everything below it, level by level as in `ast.walk`, without contexts and operators."""
    found = [root]
    for node in found:  # grows while we go
        if isinstance(node, _ENDS):
            continue
        for value in node.__dict__.values():
            if isinstance(value, list):
                found += [one for one in value if isinstance(one, ast.AST) and not isinstance(one, _MARKS)]
            elif isinstance(value, ast.AST) and not isinstance(value, _MARKS):
                found.append(value)
    return found


def is_deeper(tree: ast.Module, lines: Sequence[str], levels: int) -> bool:
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
