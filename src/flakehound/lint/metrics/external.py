"""Which third-party packages a test uses."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping

from flakehound.lint.metrics.code import Code, code_of
from flakehound.lint.source.scopes import FunctionNode, parameter_names


def external_modules(
    function: FunctionNode, code: Code, imports: Mapping[str, str], is_own: Callable[[str], bool]
) -> frozenset[str]:
    """Top-level packages, not standard, not pytest's and not the project's, that the test names or imports.

    `imports` says what names are bound to, those that imports inside the test bind included.
    """
    used = _global_names(function, code) & imports.keys()
    packages = {imports[name].partition(".")[0] for name in used} | set(_imported_inside(code))
    return frozenset(name for name in packages if name and not _is_known(name) and not is_own(name))


def _global_names(function: FunctionNode, code: Code) -> set[str]:
    decorators = code_of(function.decorator_list) if function.decorator_list else None
    outside = [node.id for node in decorators.all(ast.Name)] if decorators else []
    names = code.everywhere(ast.Name)
    local = {node.id for node in names if isinstance(node.ctx, ast.Store)} | set(parameter_names(function))
    return {node.id for node in names if node.id not in local} | set(outside)


def _imported_inside(code: Code) -> Iterator[str]:
    for plain in code.all(ast.Import):
        yield from (one.name.partition(".")[0] for one in plain.names)
    for chosen in code.all(ast.ImportFrom):
        if not chosen.level and chosen.module:
            yield chosen.module.partition(".")[0]


def _is_known(package: str) -> bool:
    return package in sys.stdlib_module_names or "pytest" in package
