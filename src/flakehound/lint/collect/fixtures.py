"""The fixtures in force for a test: its classes', its file's, the conftest chain's."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flakehound.lint.collect.fixture_requests import argument_names, used_fixtures
from flakehound.lint.source.definitions import Definition, dotted_name, string_literals
from flakehound.lint.source.functions import full_name, underlying_function
from flakehound.lint.source.modules import Module
from flakehound.lint.source.project import Project
from flakehound.lint.source.scopes import AssignedName, FunctionNode

_MAKERS = ("fixture", "yield_fixture")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fixture:
    """One fixture function."""

    name: str  # under which tests ask for it
    function: FunctionNode
    module: Module
    owner: Definition | None  # the class it is written in
    scope: str  # "function", "class", "module", "package", "session"; "function" where it is computed
    autouse: bool
    requests: tuple[str, ...]  # the fixtures it asks for itself


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VisibleFixtures:
    """All fixtures one test can see; for each name the nearest first, as an override asks for the next."""

    by_name: dict[str, list[Fixture]]

    def autouse(self) -> list[Fixture]:
        """Those in force without being asked for."""
        return [layers[0] for layers in self.by_name.values() if layers[0].autouse]

    def named(self, name: str, requester: Fixture | None = None) -> Fixture | None:
        """The fixture that a request means; a fixture that asks for its own name means the one it overrides."""
        layers = self.by_name.get(name, [])
        if requester is None or requester not in layers:
            return layers[0] if layers else None
        below = layers[layers.index(requester) + 1 :]
        return below[0] if below else None


def fixtures_for(home: Module, owner: Definition | None, project: Project) -> VisibleFixtures:
    """The fixtures that a test of the class in the file sees."""
    key = ("fixtures", home.tree, owner.node if owner else None)
    return project.compute_once(key, lambda: _visible_fixtures(home, owner, project))


def _visible_fixtures(home: Module, owner: Definition | None, project: Project) -> VisibleFixtures:
    by_name: dict[str, list[Fixture]] = {}
    layers: list[Sequence[Fixture]] = [_of_class(owner, project)] if owner else []
    layers += [fixtures_of(module, project) for module in (home, *project.conftests(home))]
    layers += [fixtures_of(module, project) for module in _plugins(home, project)]
    for layer in layers:
        for fixture in layer:
            by_name.setdefault(fixture.name, []).append(fixture)
    return VisibleFixtures(by_name=by_name)


def fixtures_of(module: Module, project: Project) -> tuple[Fixture, ...]:
    """The fixtures a file defines or imports from the project."""
    return project.compute_once(("fixtures_of", module.tree), lambda: tuple(_of_module(module, project)))


def _of_module(module: Module, project: Project) -> Iterator[Fixture]:
    for name in project.module_names(module):
        found = project.resolve_if_bound(module, name)
        if isinstance(found, Definition) and not found.is_module and (one := _fixture(name, found, None, project)):
            yield one


def _of_class(owner: Definition, project: Project) -> list[Fixture]:
    names = [
        name
        for one in project.mro(owner)
        if isinstance(one, Definition) and one.class_ is not None
        for name in project.scope(one.class_).names
    ]
    found = ((name, project.member(owner, name)) for name in dict.fromkeys(names))
    made = [_fixture(name, one, owner, project) for name, one in found if one is not None]
    outer = _of_class(owner.owner, project) if owner.owner else []
    return [*(one for one in made if one is not None), *outer]


def _plugins(home: Module, project: Project) -> Iterator[Module]:
    """Files of the project that a literal `pytest_plugins` names."""
    for module in (home, *project.conftests(home)):
        binding = project.scope(module.tree).names.get("pytest_plugins")
        if isinstance(binding, AssignedName):
            for name in string_literals(binding.value):
                if found := project.module_named(name, module):
                    yield found


def _fixture(name: str, found: Definition, owner: Definition | None, project: Project) -> Fixture | None:
    function = underlying_function(found, project)
    marker = _marker(function, found.module, project) if function is not None else None
    if function is None or marker is None:
        return None
    options = {key.arg: key.value for key in marker.keywords} if isinstance(marker, ast.Call) else {}
    renamed = _constant(options.get("name"))
    scope = _constant(options.get("scope"))
    return Fixture(
        name=renamed if isinstance(renamed, str) else name,
        function=function,
        module=found.module,
        owner=owner,
        scope=scope if isinstance(scope, str) else "function",
        autouse=bool(_constant(options.get("autouse"))),
        requests=(*used_fixtures(function), *argument_names(function, is_method=owner is not None)),
    )


def _marker(function: FunctionNode, module: Module, project: Project) -> ast.expr | None:
    for one in function.decorator_list:
        written = dotted_name(one.func if isinstance(one, ast.Call) else one)
        if written and full_name(project.resolve(module, written)).rpartition(".")[2] in _MAKERS:
            return one
    return None


def _constant(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None
