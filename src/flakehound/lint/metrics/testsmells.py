"""Seven test smells; each gives how often the test has it, 0 for not at all."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from flakehound.lint.metrics.assertions import Assertion, checked, is_documented
from flakehound.lint.metrics.code import Code, called_name
from flakehound.lint.metrics.resources import ResourceUse

_TEXTS = frozenset({"str", "repr", "ascii", "format", "__str__", "__repr__"})
_STARTED = frozenset({"Thread", "Timer", "Process"})
_TASKS = frozenset({"create_task", "ensure_future"})
_PROCESS_WAITS = frozenset({"wait", "communicate", "poll"})


def assertion_roulette(found: Sequence[Assertion]) -> int:
    """Assertions without a message of their own, where there are several of them."""
    silent = sum(not is_documented(one) for one in found)
    return silent if silent > 1 else 0


def conditional_test_logic(code: Code) -> int:
    """Branches and loops: `if`, `for`, `while`, `match`, conditional expressions and filters of comprehensions."""
    kinds: tuple[type[ast.AST], ...] = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.Match)
    filters = sum(len(node.ifs) for node in code.all(ast.comprehension))
    return sum(len(code.all(kind)) for kind in kinds) + filters


def eager_test(code: Code, methods: Collection[str]) -> int:
    """Distinct methods of the linked code that the test calls."""
    return len({called_name(call) for call in code.all(ast.Call)} & set(methods))


def fire_and_forget(code: Code) -> int:
    """Waits by sleeping, and threads, tasks and processes that are started and never waited for."""
    called = [(called_name(call), call) for call in code.all(ast.Call)]
    names = {name for name, _call in called}
    sleeps = sum(name == "sleep" and not _is_zero(call) for name, call in called)
    is_unjoined = "start" in names and "join" not in names
    unjoined = sum(name in _STARTED for name, _call in called) if is_unjoined else 0
    return sleeps + unjoined + _forgotten_processes(code, names) + _dropped_tasks(code)


def _is_zero(call: ast.Call) -> bool:
    # `sleep(0)` lets others run and waits for nothing.
    return len(call.args) == 1 and isinstance(call.args[0], ast.Constant) and not call.args[0].value


def _forgotten_processes(code: Code, names: Collection[str]) -> int:
    if "Popen" not in names or not _PROCESS_WAITS.isdisjoint(names):
        return 0
    held = [item.context_expr for item in code.all(ast.withitem)]  # `with Popen(...)` waits at its end
    started = [call for call in code.all(ast.Call) if called_name(call) == "Popen"]
    return sum(call not in held for call in started)


def _dropped_tasks(code: Code) -> int:
    dropped = (statement.value for statement in code.all(ast.Expr))
    return sum(isinstance(value, ast.Call) and called_name(value) in _TASKS for value in dropped)


def mystery_guest(found: Sequence[ResourceUse]) -> int:
    """Uses of files, databases and connections that are not the test's own."""
    return len(found)


def resource_optimism(found: Sequence[ResourceUse], checks: int) -> int:
    """Uses of files that must already be there, less the checks whether they are."""
    return max(0, sum(use.is_file and not use.makes_it for use in found) - checks)


def sensitive_equality(code: Code, found: Sequence[Assertion]) -> int:
    """Assertions about what `str` or `repr` makes of an object."""
    text_calls = [call for call in code.all(ast.Call) if called_name(call) in _TEXTS and _is_text_of_object(call)]
    return sum(_any_inside(checked(one), text_calls) for one in found) if text_calls else 0


def _any_inside(expressions: Sequence[ast.expr], calls: Sequence[ast.Call]) -> bool:
    return any(_begin(one) <= _begin(call) < _end(one) for one in expressions for call in calls)


def _begin(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _is_text_of_object(call: ast.Call) -> bool:
    name = called_name(call)
    if isinstance(call.func, ast.Attribute):
        return name in ("__str__", "__repr__")
    return name in _TEXTS and bool(call.args) and not isinstance(call.args[0], ast.Constant)
