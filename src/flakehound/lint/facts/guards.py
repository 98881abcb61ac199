"""Conditions around a place in a function: whether it runs in every call, and whether it can run in this one."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.source.scopes import FunctionNode

_Block = list[ast.stmt]


@dataclass(frozen=True, slots=True)
class Guard:
    """Lines that run only if a condition holds, or does not hold."""

    first: int
    last: int
    test: ast.expr | None  # None if it is no expression: an exception handler, a case
    holds: bool  # whether the lines run if the test is true


def is_conditional(function: ReachedFunction, node: ast.AST) -> bool:
    """Whether some call of the function does not run the node."""
    return any(True for _guard in _guards_around(function, node))


def never_runs(function: ReachedFunction, node: ast.AST) -> bool:
    """Whether the values of parameters that no call sets make a condition around the node fail."""
    guards = [guard for guard in _guards_around(function, node) if guard.test is not None]
    if not guards:
        return False
    defaults = _unset_parameters(function)
    if not defaults:
        return False
    return any(guard.test is not None and _truth(guard.test, defaults) is (not guard.holds) for guard in guards)


def _guards_around(function: ReachedFunction, node: ast.AST) -> Iterator[Guard]:
    line = getattr(node, "lineno", 0)
    for guard in function.compute_once(guards_of):
        if guard.first <= line <= guard.last:
            yield guard


def guards_of(function: ReachedFunction) -> tuple[Guard, ...]:
    """All guards in a function; computed once for all tests."""
    body = getattr(function.node, "body", [])
    return tuple(_guards_in(body)) if isinstance(body, list) else ()


def _guards_in(block: _Block) -> Iterator[Guard]:
    for index, statement in enumerate(block):
        yield from _guards_of_statement(statement, block[index + 1 :])
        if not isinstance(statement, FunctionNode | ast.ClassDef):
            for inner in _inner_blocks(statement):
                yield from _guards_in(inner)


def _guards_of_statement(statement: ast.stmt, rest: _Block) -> Iterator[Guard]:
    if isinstance(statement, ast.If):
        yield from _guard(statement.body, statement.test, holds=True)
        yield from _guard(statement.orelse, statement.test, holds=False)
        # What follows `if x is None: return` runs only otherwise. An exception would fail the test.
        if isinstance(statement.body[-1], ast.Return | ast.Continue | ast.Break):
            yield from _guard(rest, statement.test, holds=False)
    elif isinstance(statement, ast.While):
        yield from _guard(statement.body, statement.test, holds=True)
    elif isinstance(statement, ast.Match):
        for case in statement.cases:
            yield from _guard(case.body, None, holds=True)
    elif isinstance(statement, ast.Try):
        for handler in statement.handlers:
            yield from _guard(handler.body, None, holds=True)


def _guard(block: _Block, test: ast.expr | None, *, holds: bool) -> Iterator[Guard]:
    if block:
        yield Guard(block[0].lineno, block[-1].end_lineno or block[-1].lineno, test, holds)


def _inner_blocks(statement: ast.stmt) -> Iterator[_Block]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if block:
            yield block
    for branch in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield branch.body


def _unset_parameters(function: ReachedFunction) -> Mapping[str, object]:
    """The parameters with a constant default that no call in the caller sets, with their values."""
    if function.caller is None or not isinstance(function.node, FunctionNode):
        return {}
    calls = _calls_of(function, function.caller)
    if not calls or any(_has_unpacking(call) for call in calls):
        return {}
    names = _positional_names(function)
    given = {name for call in calls for name in names[: len(call.args)]}
    given |= {keyword.arg for call in calls for keyword in call.keywords if keyword.arg}
    assigned = function.facts.bindings.keys()
    defaults = _constant_defaults(function.node)
    return {name: value for name, value in defaults.items() if name not in given and name not in assigned}


def _calls_of(function: ReachedFunction, caller: ReachedFunction) -> list[ast.Call]:
    *owners, last = function.via[-1].split(".")
    called_name = owners[-1] if owners and last.startswith("__") else last
    return [call.node for call in caller.facts.calls if _last_word(call.node.func) == called_name]


def _last_word(callee: ast.expr) -> str:
    return callee.id if isinstance(callee, ast.Name) else getattr(callee, "attr", "")


def _has_unpacking(call: ast.Call) -> bool:
    return any(isinstance(argument, ast.Starred) for argument in call.args) or any(
        keyword.arg is None for keyword in call.keywords
    )


def _positional_names(function: ReachedFunction) -> list[str]:
    assert isinstance(function.node, FunctionNode)
    arguments = function.node.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    is_bound = function.owner is not None and "staticmethod" not in function.facts.decorators
    return names[1:] if is_bound else names


def _constant_defaults(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, object]:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(reversed(positional), reversed(arguments.defaults), strict=False)]
    pairs += [
        (name, value) for name, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value
    ]
    return {name.arg: value.value for name, value in pairs if isinstance(value, ast.Constant)}


def _truth(test: ast.expr, values: Mapping[str, object]) -> bool | None:
    """Whether a condition holds with these values of names; None if that cannot be said."""
    if isinstance(test, ast.Name):
        return bool(values[test.id]) if test.id in values else None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _truth(test.operand, values)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        return _truth_of_several([_truth(part, values) for part in test.values], isinstance(test.op, ast.And))
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Name):
        return _truth_of_comparison(test, values)
    return None


def _truth_of_several(truths: list[bool | None], is_and: bool) -> bool | None:
    decisive = not is_and
    if decisive in truths:
        return decisive
    return None if None in truths else is_and


def _truth_of_comparison(test: ast.Compare, values: Mapping[str, object]) -> bool | None:
    assert isinstance(test.left, ast.Name)
    right = test.comparators[0]
    if test.left.id not in values or not isinstance(right, ast.Constant):
        return None
    is_equal = values[test.left.id] == right.value and type(values[test.left.id]) is type(right.value)
    if isinstance(test.ops[0], ast.Is | ast.Eq):
        return is_equal
    return not is_equal if isinstance(test.ops[0], ast.IsNot | ast.NotEq) else None
