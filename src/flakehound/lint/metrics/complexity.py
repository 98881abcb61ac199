"""Cyclomatic complexity: one, and one more for every point at which the way through the code can part.

Agrees with radon except where radon is silent: `except*`, guards and alternatives of `case`, decisions inside an
`assert`, and code of classes and functions that are nested in functions.
"""

from __future__ import annotations

import ast

from flakehound.lint.metrics.code import Code

# Python 3.10 has no `except*`.
_TRIES: tuple[type[ast.Try], ...] = tuple(dict.fromkeys((ast.Try, getattr(ast, "TryStar", ast.Try))))


def complexity(code: Code, *, asserts: bool) -> int:
    """McCabe's number of the code, inner functions included; an `assert` is a decision only if asked for."""
    decisions = sum(_decisions(region) for region in code.regions())
    return 1 + decisions + (len(code.all(ast.Assert)) if asserts else 0)


def _decisions(code: Code) -> int:
    return _branches(code) + _loops(code) + _handlers(code) + _cases(code)


def _branches(code: Code) -> int:
    operators = sum(len(node.values) - 1 for node in code.own(ast.BoolOp))
    return len(code.own(ast.If)) + len(code.own(ast.IfExp)) + operators


def _loops(code: Code) -> int:
    loops: list[ast.For | ast.AsyncFor | ast.While] = [
        *code.own(ast.For),
        *code.own(ast.AsyncFor),
        *code.own(ast.While),
    ]
    comprehensions = sum(1 + len(node.ifs) for node in code.own(ast.comprehension))
    return len(loops) + sum(bool(node.orelse) for node in loops) + comprehensions


def _handlers(code: Code) -> int:
    return sum(len(node.handlers) + bool(node.orelse) for kind in _TRIES for node in code.own(kind))


def _cases(code: Code) -> int:
    cases = [case for match in code.own(ast.Match) for case in match.cases]
    alternatives = sum(len(node.patterns) - 1 for node in code.own(ast.MatchOr))
    return sum(_can_fail(case.pattern) + (case.guard is not None) for case in cases) + alternatives


def _can_fail(pattern: ast.pattern) -> bool:
    # `case _` and `case name` take everything: they are the `else` of a match.
    return not (isinstance(pattern, ast.MatchAs) and pattern.pattern is None)
