"""Find the tests of a file that pytest would collect, from the source alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from flakehound.core.collection_patterns import CollectionPatterns
from flakehound.core.outcomes import NodeId
from flakehound.lint.collect.fixture_requests import is_parametrised, requested_fixtures
from flakehound.lint.collect.pytest_rules import CollectionRules
from flakehound.lint.source.definitions import Definition
from flakehound.lint.source.functions import function_and_module
from flakehound.lint.source.modules import Module
from flakehound.lint.source.project import Project
from flakehound.lint.source.scopes import FunctionNode

_MAX_NESTED_CLASSES = 10
_EnclosingClasses = tuple[tuple[str, Definition], ...]  # name and class, outermost first


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StaticCase:
    """One test, with all its parameters."""

    id: NodeId  # pytest's node id, without the brackets of parameters
    path: str  # the file that pytest collects it from
    line: int  # line of the function in `module`
    name: str  # the last part of the id; differs from `function.name` for an alias
    classes: tuple[str, ...]  # names in the id, outermost first
    function: FunctionNode  # for a lambda, a function with the same body
    module: Module  # contains the function; differs from `collected_module` for inherited and imported tests
    collected_module: Module  # the file at `path`; its fixtures and conftests apply
    owner: Definition | None  # the innermost collected class: the class of `self`
    is_async: bool
    is_unittest: bool
    is_parametrised: bool
    fixtures: tuple[str, ...]  # requested by parameter or `usefixtures`, on the test or its classes


def cases_of(
    module: Module, patterns: CollectionPatterns, project: Project | None = None
) -> tuple[StaticCase, ...]:
    """The tests of a file in pytest's own order.

    With a project, tests and bases that the file imports from it are found too.
    """
    return tuple(_Collection(module, patterns, project or Project({module.path: module})).cases())


class _Collection:
    """Collects the tests of one file."""

    def __init__(self, collected_module: Module, patterns: CollectionPatterns, project: Project) -> None:
        self._collected_module = collected_module
        self._project = project
        self._rules = CollectionRules(collected_module, patterns, project)

    def cases(self) -> Iterator[StaticCase]:
        if not self._rules.is_collected_module():
            return
        for name in self._project.module_names(self._collected_module):
            meaning = (
                None if name.startswith("__") else self._project.resolve_if_bound(self._collected_module, name)
            )
            if isinstance(meaning, Definition):
                yield from self._cases_of_definition(name, meaning, ())

    def _cases_of_definition(
        self, name: str, definition: Definition, enclosing: _EnclosingClasses
    ) -> Iterator[StaticCase]:
        if definition.class_ is not None:
            yield from self._cases_of_class(name, definition, enclosing)
        elif (function := self._rules.test_function(name, definition)) is not None:
            yield self._case(name, definition, function, enclosing, is_unittest=False)

    def _cases_of_class(self, name: str, owner: Definition, enclosing: _EnclosingClasses) -> Iterator[StaticCase]:
        if len(enclosing) > _MAX_NESTED_CLASSES:
            return
        classes = (*enclosing, (name, owner))
        if self._rules.is_unittest(owner):
            for method in self._rules.unittest_methods(owner):
                yield self._case(method.name, method.definition, method.function, classes, is_unittest=True)
        elif self._rules.is_test_class(name, owner):
            for attribute, definition in self._rules.attributes(owner):
                yield from self._cases_of_definition(attribute, definition, classes)

    def _case(
        self,
        name: str,
        definition: Definition,
        function: FunctionNode,
        enclosing: _EnclosingClasses,
        *,
        is_unittest: bool,
    ) -> StaticCase:
        classes = tuple(class_name for class_name, _owner in enclosing)
        owners = tuple(owner for _class_name, owner in enclosing)
        source = function_and_module(definition, self._project)
        return StaticCase(
            id=NodeId("::".join([self._collected_module.path, *classes, name])),
            path=self._collected_module.path,
            line=function.lineno,
            name=name,
            classes=classes,
            function=function,
            module=source[1] if source is not None else definition.module,
            collected_module=self._collected_module,
            owner=owners[-1] if owners else None,
            is_async=isinstance(function, ast.AsyncFunctionDef),
            is_unittest=is_unittest,
            is_parametrised=is_parametrised(function, owners, self._collected_module, self._project),
            fixtures=requested_fixtures(function, definition, owners, self._collected_module, self._project),
        )
