"""Which fixtures a function requests, and whether it is parametrised."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from flakehound.lint.source.definitions import Definition, dotted_name, string_literals
from flakehound.lint.source.functions import decorator_names
from flakehound.lint.source.modules import Module
from flakehound.lint.source.project import Project
from flakehound.lint.source.scopes import AssignedName, FunctionNode

_PARAMETRIZE = "parametrize"
_USEFIXTURES = "usefixtures"
_PATCHES = ("mock.patch", "mock.patch.object")  # also after `unittest.`


def parameters_filled_by_pytest(function: FunctionNode, *, is_method: bool) -> tuple[str, ...]:
    """The parameters that pytest fills: without default, without `self` and those that `mock.patch` fills."""
    arguments = function.args
    positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    if arguments.defaults:
        positional = positional[: -len(arguments.defaults)]
    keyword_only = [
        argument.arg
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is None
    ]
    first = int(is_method and not _is_static(function)) + _patched_parameter_count(function)
    return (*positional[first:], *keyword_only)


def requested_fixtures(
    function: FunctionNode,
    definition: Definition,
    owners: Sequence[Definition],
    collected_module: Module,
    project: Project,
) -> tuple[str, ...]:
    """The fixtures that a test requests by parameters, or by marks on it, its classes or its module."""
    marks = list(_all_fixture_marks(function, owners, collected_module, project))
    parametrised = {name for mark in marks if mark[0] == _PARAMETRIZE for name in _parameter_names(mark[1])}
    named_by_marks = [name for mark in marks if mark[0] == _USEFIXTURES for name in _strings(mark[1])]
    parameters = parameters_filled_by_pytest(function, is_method=bool(owners))
    if any(name.endswith("hypothesis.given") for name in decorator_names(function, definition.module, project)):
        parameters = ()
    return tuple(dict.fromkeys([*named_by_marks, *(name for name in parameters if name not in parametrised)]))


def usefixtures_names(function: FunctionNode) -> list[str]:
    """The fixtures that `usefixtures` marks on the function itself name."""
    return [
        name
        for kind, mark in _fixture_marks_in(function.decorator_list)
        if kind == _USEFIXTURES
        for name in _strings(mark)
    ]


def is_parametrised(
    function: FunctionNode, owners: Sequence[Definition], collected_module: Module, project: Project
) -> bool:
    """Whether the test, one of its classes or its module is marked with `parametrize`."""
    marks = _all_fixture_marks(function, owners, collected_module, project)
    return any(kind == _PARAMETRIZE for kind, _mark in marks)


def _all_fixture_marks(
    function: FunctionNode, owners: Sequence[Definition], collected_module: Module, project: Project
) -> Iterator[tuple[str, ast.Call]]:
    yield from _fixture_marks_in(function.decorator_list)
    for owner in owners:
        for base in project.mro(owner):
            if isinstance(base, Definition) and base.class_ is not None:
                yield from _fixture_marks_in(base.class_.decorator_list)
                yield from _fixture_marks_in(_pytestmark(base.class_, project))
    yield from _fixture_marks_in(_pytestmark(collected_module.tree, project))


def _fixture_marks_in(marks: Sequence[ast.expr]) -> Iterator[tuple[str, ast.Call]]:
    """The marks `parametrize` and `usefixtures` among decorators, with their names."""
    for mark in marks:
        if isinstance(mark, ast.Call):
            name = (dotted_name(mark.func) or "").rpartition(".")[2]
            if name in (_PARAMETRIZE, _USEFIXTURES):
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
    indirect_names = set(string_literals(indirect)) if indirect is not None else set()
    names_in_mark = [name.strip() for text in string_literals(names) for name in text.split(",")]
    return [name for name in names_in_mark if name and name not in indirect_names]


def _strings(call: ast.Call) -> list[str]:
    return [text for argument in call.args for text in string_literals(argument)]


def _is_static(function: FunctionNode) -> bool:
    return any(dotted_name(decorator) == "staticmethod" for decorator in function.decorator_list)


def _patched_parameter_count(function: FunctionNode) -> int:
    """How many leading parameters `mock.patch` decorators fill: one for each patch without a replacement."""
    return sum(
        1
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Call) and _fills_parameter(decorator)
    )


def _fills_parameter(call: ast.Call) -> bool:
    name = dotted_name(call.func) or ""
    if name != "patch" and name != "patch.object" and not name.endswith(_PATCHES):
        return False
    arguments_before_replacement = 2 if name.endswith(".object") else 1
    return len(call.args) <= arguments_before_replacement and not any(key.arg == "new" for key in call.keywords)
