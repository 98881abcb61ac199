"""Seven test smells; each function counts how often the test has the smell."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from flakehound.lint.metrics.assertions import Assertion, checked_expressions, has_message
from flakehound.lint.metrics.code_nodes import Code, called_name
from flakehound.lint.metrics.resources import ResourceUse

_TEXT_FUNCTIONS = frozenset({"str", "repr", "ascii", "format", "__str__", "__repr__"})
_THREADS_AND_PROCESSES = frozenset({"Thread", "Timer", "Process"})
_TASK_FUNCTIONS = frozenset({"create_task", "ensure_future"})
_WAIT_FUNCTIONS = frozenset({"wait", "communicate", "poll"})


def assertion_roulette(assertions: Sequence[Assertion]) -> int:
    """Assertions without a message, if there are several."""
    without_message = sum(not has_message(assertion) for assertion in assertions)
    return without_message if without_message > 1 else 0


def conditional_test_logic(code: Code) -> int:
    """Branches and loops: `if`, `for`, `while`, `match`, conditional expressions and filters of comprehensions."""
    kinds: tuple[type[ast.AST], ...] = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.Match)
    filters = sum(len(node.ifs) for node in code.all_nodes(ast.comprehension))
    return sum(len(code.all_nodes(kind)) for kind in kinds) + filters


def eager_test(code: Code, methods: Collection[str]) -> int:
    """Distinct methods of the linked code that the test calls."""
    return len({called_name(call) for call in code.all_nodes(ast.Call)} & set(methods))


def fire_and_forget(code: Code) -> int:
    """Sleeps, and threads, tasks and processes that are started and never waited for."""
    named_calls = [(called_name(call), call) for call in code.all_nodes(ast.Call)]
    names = {name for name, _call in named_calls}
    sleeps = sum(name == "sleep" and not _is_zero(call) for name, call in named_calls)
    is_unjoined = "start" in names and "join" not in names
    unjoined = sum(name in _THREADS_AND_PROCESSES for name, _call in named_calls) if is_unjoined else 0
    return sleeps + unjoined + _unwaited_processes(code, names) + _unawaited_tasks(code)


def _is_zero(call: ast.Call) -> bool:
    # `sleep(0)` only lets other threads or tasks run.
    return len(call.args) == 1 and isinstance(call.args[0], ast.Constant) and not call.args[0].value


def _unwaited_processes(code: Code, names: Collection[str]) -> int:
    if "Popen" not in names or not _WAIT_FUNCTIONS.isdisjoint(names):
        return 0
    context_managers = [
        item.context_expr for item in code.all_nodes(ast.withitem)
    ]  # `with Popen(...)` waits at the end of its block
    started = [call for call in code.all_nodes(ast.Call) if called_name(call) == "Popen"]
    return sum(call not in context_managers for call in started)


def _unawaited_tasks(code: Code) -> int:
    statement_values = (statement.value for statement in code.all_nodes(ast.Expr))
    return sum(isinstance(value, ast.Call) and called_name(value) in _TASK_FUNCTIONS for value in statement_values)


def mystery_guest(uses: Sequence[ResourceUse]) -> int:
    """Uses of files, databases and connections that are not temporary."""
    return len(uses)


def resource_optimism(uses: Sequence[ResourceUse], checks: int) -> int:
    """Uses of files that must exist already, minus the checks whether files exist."""
    return max(0, sum(use.is_file and not use.creates_it for use in uses) - checks)


def sensitive_equality(code: Code, assertions: Sequence[Assertion]) -> int:
    """Assertions about the result of `str` or `repr` of an object."""
    text_calls = [
        call
        for call in code.all_nodes(ast.Call)
        if called_name(call) in _TEXT_FUNCTIONS and _is_text_of_object(call)
    ]
    return (
        sum(_any_inside(checked_expressions(assertion), text_calls) for assertion in assertions)
        if text_calls
        else 0
    )


def _any_inside(expressions: Sequence[ast.expr], calls: Sequence[ast.Call]) -> bool:
    return any(
        _start(expression) <= _start(call) < _end(expression) for expression in expressions for call in calls
    )


def _start(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _is_text_of_object(call: ast.Call) -> bool:
    name = called_name(call)
    if isinstance(call.func, ast.Attribute):
        return name in ("__str__", "__repr__")
    return name in _TEXT_FUNCTIONS and bool(call.args) and not isinstance(call.args[0], ast.Constant)
