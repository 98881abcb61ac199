"""Cyclomatic complexity: one plus the number of decisions.

Agrees with radon, but also counts what radon leaves out: `except*`, guards and alternatives of `case`, decisions
inside an `assert`, and classes and functions that are nested in functions.
"""

from __future__ import annotations

import ast

from flakehound.lint.metrics.code_nodes import Code

# Python 3.10 has no `except*`.
_TRIES: tuple[type[ast.Try], ...] = tuple(dict.fromkeys((ast.Try, getattr(ast, "TryStar", ast.Try))))


def complexity(code: Code, *, asserts: bool) -> int:
    """McCabe's number of the code with its inner functions; `asserts` says whether an `assert` is a decision."""
    decisions = sum(_decisions(region) for region in code.regions())
    return 1 + decisions + (len(code.all_nodes(ast.Assert)) if asserts else 0)


def _decisions(code: Code) -> int:
    return _branches(code) + _loops(code) + _handlers(code) + _cases(code)


def _branches(code: Code) -> int:
    operators = sum(len(node.values) - 1 for node in code.own_nodes(ast.BoolOp))
    return len(code.own_nodes(ast.If)) + len(code.own_nodes(ast.IfExp)) + operators


def _loops(code: Code) -> int:
    loops: list[ast.For | ast.AsyncFor | ast.While] = [
        *code.own_nodes(ast.For),
        *code.own_nodes(ast.AsyncFor),
        *code.own_nodes(ast.While),
    ]
    comprehensions = sum(1 + len(node.ifs) for node in code.own_nodes(ast.comprehension))
    return len(loops) + sum(bool(node.orelse) for node in loops) + comprehensions


def _handlers(code: Code) -> int:
    return sum(len(node.handlers) + bool(node.orelse) for kind in _TRIES for node in code.own_nodes(kind))


def _cases(code: Code) -> int:
    cases = [case for match in code.own_nodes(ast.Match) for case in match.cases]
    alternatives = sum(len(node.patterns) - 1 for node in code.own_nodes(ast.MatchOr))
    return sum(_can_fail(case.pattern) + (case.guard is not None) for case in cases) + alternatives


def _can_fail(pattern: ast.pattern) -> bool:
    # `case _` and `case name` always match: they are the `else` of a match.
    return not (isinstance(pattern, ast.MatchAs) and pattern.pattern is None)
