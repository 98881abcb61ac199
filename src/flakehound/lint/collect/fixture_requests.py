"""The fixtures that a function asks for, and whether pytest gives it parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from flakehound.lint.source.definitions import Definition, dotted_name, string_literals
from flakehound.lint.source.functions import decorator_names
from flakehound.lint.source.modules import Module
from flakehound.lint.source.project import Project
from flakehound.lint.source.scopes import AssignedName, FunctionNode

_PARAMETRIZE = "parametrize"
_PATCHES = ("mock.patch", "mock.patch.object")  # with unittest. or alone


def argument_names(function: FunctionNode, *, is_method: bool) -> tuple[str, ...]:
    """The parameters pytest fills: no default, not `self`, not those that `mock.patch` fills."""
    arguments = function.args
    positional = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
    if arguments.defaults:
        positional = positional[: -len(arguments.defaults)]
    named = [
        one.arg
        for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is None
    ]
    first = int(is_method and not _is_static(function)) + _patched(function)
    return (*positional[first:], *named)


def requested_fixtures(
    function: FunctionNode, found: Definition, owners: Sequence[Definition], home: Module, project: Project
) -> tuple[str, ...]:
    """Fixtures that a test names itself, or that a mark on it, its classes or its module names."""
    marks = list(_marks(function, found.module, owners, home, project))
    given = {name for mark in marks if mark[0] == _PARAMETRIZE for name in _parameter_names(mark[1])}
    used = [name for mark in marks if mark[0] == "usefixtures" for name in _strings(mark[1])]
    asked = argument_names(function, is_method=bool(owners))
    if any(name.endswith("hypothesis.given") for name in decorator_names(function, found.module, project)):
        asked = ()
    return tuple(dict.fromkeys([*used, *(name for name in asked if name not in given)]))


def used_fixtures(function: FunctionNode) -> list[str]:
    """Fixtures that `usefixtures` names on the function itself."""
    return [
        name for kind, mark in _calls(function.decorator_list) if kind == "usefixtures" for name in _strings(mark)
    ]


def is_parametrised(function: FunctionNode, owners: Sequence[Definition], home: Module, project: Project) -> bool:
    """Whether the test, one of its classes or its module is marked with `parametrize`."""
    module = owners[0].module if owners else home
    return any(kind == _PARAMETRIZE for kind, _mark in _marks(function, module, owners, home, project))


def _marks(
    function: FunctionNode, module: Module, owners: Sequence[Definition], home: Module, project: Project
) -> Iterator[tuple[str, ast.Call]]:
    yield from _calls(function.decorator_list)
    for owner in owners:
        for one in project.mro(owner):
            if isinstance(one, Definition) and one.class_ is not None:
                yield from _calls(one.class_.decorator_list)
                yield from _calls(_pytestmark(one.class_, project))
    yield from _calls(_pytestmark(home.tree, project))


def _calls(marks: Sequence[ast.expr]) -> Iterator[tuple[str, ast.Call]]:
    for mark in marks:
        if isinstance(mark, ast.Call):
            name = (dotted_name(mark.func) or "").rpartition(".")[2]
            if name in (_PARAMETRIZE, "usefixtures"):
                yield name, mark


def _pytestmark(node: ast.Module | ast.ClassDef, project: Project) -> list[ast.expr]:
    binding = project.scope(node).names.get("pytestmark")
    value = binding.value if isinstance(binding, AssignedName) else None
    if isinstance(value, ast.List | ast.Tuple):
        return list(value.elts)
    return [value] if value is not None else []


def _parameter_names(mark: ast.Call) -> list[str]:
    keyword = next((key.value for key in mark.keywords if key.arg == "argnames"), None)
    names = mark.args[0] if mark.args else keyword
    indirect = next((key.value for key in mark.keywords if key.arg == "indirect"), None)
    if isinstance(indirect, ast.Constant) and indirect.value is True:
        return []
    passed_on = set(string_literals(indirect)) if indirect is not None else set()
    written = [name.strip() for text in string_literals(names) for name in text.split(",")]
    return [name for name in written if name and name not in passed_on]


def _strings(call: ast.Call) -> list[str]:
    return [text for argument in call.args for text in string_literals(argument)]


def _is_static(function: FunctionNode) -> bool:
    return any(dotted_name(one) == "staticmethod" for one in function.decorator_list)


def _patched(function: FunctionNode) -> int:
    """How many leading parameters `mock.patch` decorators fill: those that name no replacement."""
    return sum(1 for one in function.decorator_list if isinstance(one, ast.Call) and _fills(one))


def _fills(call: ast.Call) -> bool:
    name = dotted_name(call.func) or ""
    if name != "patch" and name != "patch.object" and not name.endswith(_PATCHES):
        return False
    places = 2 if name.endswith(".object") else 1
    return len(call.args) <= places and not any(key.arg == "new" for key in call.keywords)
