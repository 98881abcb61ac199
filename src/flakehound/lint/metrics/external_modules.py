"""Which third-party packages a test uses."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping

from flakehound.lint.metrics.code_nodes import Code, code_of
from flakehound.lint.source.scopes import FunctionNode, parameter_names


def external_modules(
    function: FunctionNode, code: Code, imports: Mapping[str, str], is_own: Callable[[str], bool]
) -> frozenset[str]:
    """The third-party packages that a test uses or imports; pytest and its plugins do not count.

    `imports` maps local names to full names, including those that imports inside the test bind.
    """
    used_names = _global_names(function, code) & imports.keys()
    packages = {imports[name].partition(".")[0] for name in used_names} | set(_packages_imported_inside(code))
    return frozenset(name for name in packages if name and not _is_standard_or_pytest(name) and not is_own(name))


def _global_names(function: FunctionNode, code: Code) -> set[str]:
    decorators = code_of(function.decorator_list) if function.decorator_list else None
    names_in_decorators = [node.id for node in decorators.all_nodes(ast.Name)] if decorators else []
    names = code.all_nodes_with_headers(ast.Name)
    local = {node.id for node in names if isinstance(node.ctx, ast.Store)} | set(parameter_names(function))
    return {node.id for node in names if node.id not in local} | set(names_in_decorators)


def _packages_imported_inside(code: Code) -> Iterator[str]:
    for statement in code.all_nodes(ast.Import):
        yield from (alias.name.partition(".")[0] for alias in statement.names)
    for import_from in code.all_nodes(ast.ImportFrom):
        if not import_from.level and import_from.module:
            yield import_from.module.partition(".")[0]


def _is_standard_or_pytest(package: str) -> bool:
    return package in sys.stdlib_module_names or "pytest" in package
