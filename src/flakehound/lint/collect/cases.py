"""The tests of a file, as pytest would collect them, read from the source alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from flakehound.core.collection_patterns import Patterns
from flakehound.core.outcomes import NodeId
from flakehound.lint.collect.fixture_requests import is_parametrised, requested_fixtures
from flakehound.lint.collect.pytest_rules import CollectionRules
from flakehound.lint.source.definitions import Definition
from flakehound.lint.source.functions import function_and_module
from flakehound.lint.source.modules import Module
from flakehound.lint.source.project import Project
from flakehound.lint.source.scopes import FunctionNode

_DEEPEST_NESTING = 10
_Within = tuple[tuple[str, Definition], ...]  # name and class, outermost first


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StaticCase:
    """One test; one for all its parameters."""

    id: NodeId  # pytest's, without the brackets of parameters
    path: str  # of the file that pytest collects it from
    line: int  # of the function in `module`
    name: str  # the last part of the id; an alias can differ from `function.name`
    classes: tuple[str, ...]  # names in the id, outermost first
    function: FunctionNode  # made up for a lambda, from its parts
    module: Module  # where the function is written; for inherited and imported tests not the collected file
    home: Module  # the collected file, whose fixtures and conftests are in force
    owner: Definition | None  # the collected class, innermost: what `self` is one of
    is_async: bool
    is_unittest: bool
    parametrised: bool
    fixtures: tuple[str, ...]  # requested by parameter or `usefixtures`, on the test or its classes


def cases_of(module: Module, patterns: Patterns, project: Project | None = None) -> tuple[StaticCase, ...]:
    """The tests of a file in pytest's own order.

    With a project, tests and bases that the file imports from it are found too.
    """
    return tuple(_Collection(module, patterns, project or Project({module.path: module})).cases())


class _Collection:
    """One file's collection."""

    def __init__(self, home: Module, patterns: Patterns, project: Project) -> None:
        self._home = home
        self._project = project
        self._rules = CollectionRules(home, patterns, project)

    def cases(self) -> Iterator[StaticCase]:
        if not self._rules.is_collected_module():
            return
        for name in self._project.module_names(self._home):
            found = None if name.startswith("__") else self._project.resolve_if_bound(self._home, name)
            if isinstance(found, Definition):
                yield from self._item(name, found, ())

    def _item(self, name: str, found: Definition, within: _Within) -> Iterator[StaticCase]:
        if found.class_ is not None:
            yield from self._of_class(name, found, within)
        elif (function := self._rules.test_function(name, found)) is not None:
            yield self._case(name, found, function, within, is_unittest=False)

    def _of_class(self, name: str, owner: Definition, within: _Within) -> Iterator[StaticCase]:
        if len(within) > _DEEPEST_NESTING:
            return
        inside = (*within, (name, owner))
        if self._rules.is_unittest(owner):
            for method in self._rules.unittest_methods(owner):
                yield self._case(method.name, method.definition, method.function, inside, is_unittest=True)
        elif self._rules.is_test_class(name, owner):
            for attribute, found in self._rules.attributes(owner):
                yield from self._item(attribute, found, inside)

    def _case(
        self, name: str, found: Definition, function: FunctionNode, within: _Within, *, is_unittest: bool
    ) -> StaticCase:
        classes = tuple(one for one, _owner in within)
        owners = tuple(owner for _name, owner in within)
        written = function_and_module(found, self._project)
        return StaticCase(
            id=NodeId("::".join([self._home.path, *classes, name])),
            path=self._home.path,
            line=function.lineno,
            name=name,
            classes=classes,
            function=function,
            module=written[1] if written is not None else found.module,
            home=self._home,
            owner=owners[-1] if owners else None,
            is_async=isinstance(function, ast.AsyncFunctionDef),
            is_unittest=is_unittest,
            parametrised=is_parametrised(function, owners, self._home, self._project),
            fixtures=requested_fixtures(function, found, owners, self._home, self._project),
        )
