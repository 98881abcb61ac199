"""The fixtures that a test can see: of its classes, its file and the conftest files above it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flakehound.lint.collect.fixture_requests import parameters_filled_by_pytest, usefixtures_names
from flakehound.lint.source.definitions import Definition, dotted_name, string_literals
from flakehound.lint.source.functions import full_name, underlying_function
from flakehound.lint.source.modules import Module
from flakehound.lint.source.project import Project
from flakehound.lint.source.scopes import AssignedName, FunctionNode

_FIXTURE_DECORATORS = ("fixture", "yield_fixture")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fixture:
    """One fixture function."""

    name: str  # that tests request it by
    function: FunctionNode
    module: Module
    owner: Definition | None  # the class that contains it
    scope: str  # "function", "class", "module", "package", "session"; "function" if it is computed
    autouse: bool
    requests: tuple[str, ...]  # the fixtures that it requests itself


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VisibleFixtures:
    """All fixtures that a test can see, by name; where some override others, the nearest comes first."""

    by_name: dict[str, list[Fixture]]

    def autouse(self) -> list[Fixture]:
        """The fixtures that run without a request."""
        return [overrides[0] for overrides in self.by_name.values() if overrides[0].autouse]

    def find(self, name: str, requester: Fixture | None = None) -> Fixture | None:
        """The fixture that a request refers to; a fixture that requests its own name gets the one it overrides."""
        overrides = self.by_name.get(name, [])
        if requester is None or requester not in overrides:
            return overrides[0] if overrides else None
        overridden = overrides[overrides.index(requester) + 1 :]
        return overridden[0] if overridden else None


def visible_fixtures(collected_module: Module, owner: Definition | None, project: Project) -> VisibleFixtures:
    """The fixtures that the tests of a file see, or those of a class (`owner`) in it."""
    key = ("fixtures", collected_module.tree, owner.node if owner else None)
    return project.compute_once(key, lambda: _find_visible_fixtures(collected_module, owner, project))


def _find_visible_fixtures(
    collected_module: Module, owner: Definition | None, project: Project
) -> VisibleFixtures:
    by_name: dict[str, list[Fixture]] = {}
    layers: list[Sequence[Fixture]] = [_class_fixtures(owner, project)] if owner else []
    layers += [
        module_fixtures(module, project) for module in (collected_module, *project.conftests(collected_module))
    ]
    layers += [module_fixtures(module, project) for module in _plugin_modules(collected_module, project)]
    for layer in layers:
        for fixture in layer:
            by_name.setdefault(fixture.name, []).append(fixture)
    return VisibleFixtures(by_name=by_name)


def module_fixtures(module: Module, project: Project) -> tuple[Fixture, ...]:
    """The fixtures that a file defines or imports from the project."""
    return project.compute_once(
        ("fixtures_of", module.tree), lambda: tuple(_find_module_fixtures(module, project))
    )


def _find_module_fixtures(module: Module, project: Project) -> Iterator[Fixture]:
    for name in project.module_names(module):
        definition = project.resolve_if_bound(module, name)
        if isinstance(definition, Definition) and not definition.is_module:
            fixture = _fixture(name, definition, None, project)
            if fixture is not None:
                yield fixture


def _class_fixtures(owner: Definition, project: Project) -> list[Fixture]:
    names = [
        name
        for base in project.mro(owner)
        if isinstance(base, Definition) and base.class_ is not None
        for name in project.scope(base.class_).names
    ]
    members = ((name, project.member(owner, name)) for name in dict.fromkeys(names))
    fixtures = [_fixture(name, member, owner, project) for name, member in members if member is not None]
    outer = _class_fixtures(owner.owner, project) if owner.owner else []
    return [*(fixture for fixture in fixtures if fixture is not None), *outer]


def _plugin_modules(collected_module: Module, project: Project) -> Iterator[Module]:
    """Files of the project that a literal `pytest_plugins` names."""
    for module in (collected_module, *project.conftests(collected_module)):
        binding = project.scope(module.tree).names.get("pytest_plugins")
        if isinstance(binding, AssignedName):
            for name in string_literals(binding.value):
                if plugin := project.module_named(name, module):
                    yield plugin


def _fixture(name: str, definition: Definition, owner: Definition | None, project: Project) -> Fixture | None:
    """The fixture that a definition is; None if it is none."""
    function = underlying_function(definition, project)
    decorator = _fixture_decorator(function, definition.module, project) if function is not None else None
    if function is None or decorator is None:
        return None
    options = {key.arg: key.value for key in decorator.keywords} if isinstance(decorator, ast.Call) else {}
    renamed = _constant(options.get("name"))
    scope = _constant(options.get("scope"))
    return Fixture(
        name=renamed if isinstance(renamed, str) else name,
        function=function,
        module=definition.module,
        owner=owner,
        scope=scope if isinstance(scope, str) else "function",
        autouse=bool(_constant(options.get("autouse"))),
        requests=(
            *usefixtures_names(function),
            *parameters_filled_by_pytest(function, is_method=owner is not None),
        ),
    )


def _fixture_decorator(function: FunctionNode, module: Module, project: Project) -> ast.expr | None:
    for decorator in function.decorator_list:
        name = dotted_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if name and full_name(project.resolve(module, name)).rpartition(".")[2] in _FIXTURE_DECORATORS:
            return decorator
    return None


def _constant(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None
