"""What a test executes besides its own lines: fixtures, setup, helpers, and production code it calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from flakehound.lint.collect.cases import StaticCase
from flakehound.lint.collect.fixtures import Fixture, VisibleFixtures, fixtures_for
from flakehound.lint.source.definitions import Definition
from flakehound.lint.source.functions import is_callable
from flakehound.lint.source.modules import Module
from flakehound.lint.source.names import ExpressionMeaning, Instance, names_of
from flakehound.lint.source.project import Project
from flakehound.lint.source.scopes import FunctionNode

MOST_REACHED = 200  # per test; what is beyond says little about this one
_METHODS = (
    *("setUpClass", "setup_class", "setUp", "asyncSetUp", "setup_method", "setup"),
    *("tearDown", "asyncTearDown", "teardown_method", "teardown", "tearDownClass", "teardown_class"),
)
_FUNCTIONS = ("setUpModule", "setup_module", "tearDownModule", "teardown_module")
_FUNCTION_ONLY = ("setup_function", "teardown_function")
_CONSTRUCTORS = ("__init__", "__new__", "__post_init__", "__enter__", "__aenter__")
_TEST_FOLDERS = frozenset({"test", "tests", "testing", "unittests", "unit_tests"})


class Role(Enum):
    """What a function is to the test that reaches it."""

    FIXTURE = "fixture"
    SETUP = "setup"
    HELPER = "helper"  # in test code
    PRODUCTION = "production"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReachedCode:
    """One function that a test executes, and how it comes to it."""

    function: FunctionNode
    module: Module
    via: tuple[str, ...]  # names on the way from the test, this function's own last
    depth: int  # calls from the test; a fixture or setup method counts as one call, a fixture's fixture too
    role: Role
    owner: Definition | None  # what `self` is one of
    fixture: Fixture | None = None  # set where it is one


def reached_functions(case: StaticCase, project: Project, depth: int = 2) -> tuple[ReachedCode, ...]:
    """What the test reaches within so many calls, each function once, the nearest way; without the test itself.

    Fixtures and setup methods are always in it, however long the chain of fixtures; calls are counted from there.
    """
    return tuple(_Walk(case, project, depth).found())


def is_test_code(path: str, project: Project) -> bool:
    """Whether a file belongs to the tests and not to what they test."""
    return project.compute_once(("test code", path), lambda: _is_test_code(path, project))


def _is_test_code(path: str, project: Project) -> bool:
    *folders, name = path.split("/")
    if name == "conftest.py" or project.patterns.is_test_file(path):
        return True
    return not _TEST_FOLDERS.isdisjoint(folder.lower() for folder in folders)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Step:
    """A function to look at."""

    function: FunctionNode
    module: Module
    owner: Definition | None
    role: Role
    via: tuple[str, ...]
    depth: int
    calls: int = 0  # from the test, its fixture or its setup
    fixture: Fixture | None = None


class _Walk:
    """One test's walk, breadth first."""

    def __init__(self, case: StaticCase, project: Project, depth: int) -> None:
        self._case = case
        self._project = project
        self._depth = depth
        self._seen: set[ast.AST] = {case.function}
        self._results: list[ReachedCode] = []

    def found(self) -> list[ReachedCode]:
        start = _Step(
            function=self._case.function,
            module=self._case.module,
            owner=self._case.owner,
            role=Role.HELPER,
            via=(),
            depth=0,
        )
        level = [start]
        level += self._accept(self._fixtures_and_setups())
        while level and len(self._results) < MOST_REACHED:
            level = [one for step in level for one in self._accept(self._callees_of(step))]
        return self._results

    def _accept(self, steps: Iterator[_Step]) -> list[_Step]:
        taken = []
        for step in steps:
            if step.function not in self._seen and len(self._results) < MOST_REACHED:
                self._seen.add(step.function)
                self._results.append(_reached_code(step))
                taken.append(step)
        return taken

    def _fixtures_and_setups(self) -> Iterator[_Step]:
        fixtures = fixtures_for(self._case.home, self._case.owner, self._project)
        asked = [one for name in self._case.fixtures if (one := fixtures.named(name))]
        for fixture in (*fixtures.autouse(), *asked):
            yield from self._fixture_steps(fixture, fixtures, ())
        yield from self._setups()

    def _fixture_steps(self, fixture: Fixture, fixtures: VisibleFixtures, via: tuple[str, ...]) -> Iterator[_Step]:
        way = (*via, fixture.name)
        if len(way) > MOST_REACHED or fixture.function in self._seen:
            return
        yield _Step(
            function=fixture.function,
            module=fixture.module,
            owner=fixture.owner,
            role=Role.FIXTURE,
            via=way,
            depth=1,
            fixture=fixture,
        )
        for name in fixture.requests:
            inner = fixtures.named(name, fixture)
            if inner is not None and inner is not fixture:
                yield from self._fixture_steps(inner, fixtures, way)

    def _setups(self) -> Iterator[_Step]:
        owner = self._case.owner
        if owner is not None:
            for name in _METHODS:
                yield from self._steps(self._project.member(owner, name), owner, Role.SETUP)
        names = _FUNCTIONS if owner is not None else (*_FUNCTIONS, *_FUNCTION_ONLY)
        for name in names:
            found = self._project.resolve_if_bound(self._case.home, name)
            if isinstance(found, Definition):
                yield from self._steps(found, None, Role.SETUP)

    def _callees_of(self, step: _Step) -> Iterator[_Step]:
        if step.calls >= self._depth:
            return
        for callee in callees(step.function, step.module, self._project, step.owner):
            role = Role.HELPER if is_test_code(callee.module.path, self._project) else Role.PRODUCTION
            yield from self._steps(callee.definition, callee.owner, role, step)

    def _steps(
        self, found: Definition | None, owner: Definition | None, role: Role, after: _Step | None = None
    ) -> Iterator[_Step]:
        if found is not None and found.function is not None:
            yield _Step(
                function=found.function,
                module=found.module,
                owner=owner,
                role=role,
                via=(*(after.via if after else ()), found.name),
                depth=after.depth + 1 if after else 1,
                calls=after.calls + 1 if after else 0,
            )


def _reached_code(step: _Step) -> ReachedCode:
    return ReachedCode(
        function=step.function,
        module=step.module,
        via=step.via,
        depth=step.depth,
        role=step.role,
        owner=step.owner,
        fixture=step.fixture,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Callee:
    """A function of the project that another calls or hands on."""

    definition: Definition
    owner: Definition | None

    @property
    def module(self) -> Module:
        """The file it is written in."""
        return self.definition.module


def callees(
    function: FunctionNode, module: Module, project: Project, owner: Definition | None = None
) -> tuple[Callee, ...]:
    """The project's functions that a function calls, or hands to another as `Thread(target=work)` does."""
    key = ("callees", function, owner.node if owner else None)
    return project.compute_once(key, lambda: tuple(_callees(function, module, project, owner)))


def _callees(
    function: FunctionNode, module: Module, project: Project, owner: Definition | None
) -> Iterator[Callee]:
    names = names_of(function, module, project, owner)
    seen: set[ast.AST] = set()
    for node in _executed(names.nodes):
        found = names.meaning_of(node)
        for callee in _functions_in(found, node, names.owner, project):
            if callee.definition.node not in seen and not callee.definition.name.startswith("<locals>"):
                seen.add(callee.definition.node)
                yield callee


def _executed(nodes: Sequence[ast.AST]) -> Iterator[ast.expr]:
    """What is called, and what is handed on as an argument."""
    for node in nodes:
        if isinstance(node, ast.Call):
            yield node.func
            yield from (one for one in node.args if isinstance(one, ast.Name | ast.Attribute))
            yield from (one.value for one in node.keywords if isinstance(one.value, ast.Name | ast.Attribute))


def _functions_in(
    found: ExpressionMeaning | None, node: ast.expr, caller_class: Definition | None, project: Project
) -> Iterator[Callee]:
    if isinstance(found, Instance) or not isinstance(found, Definition):
        return
    if found.function is not None and is_callable(found.function):
        is_own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and found.owner is not None
        yield Callee(
            definition=found,
            owner=caller_class
            if is_own and caller_class and _belongs_to(found, caller_class, project)
            else found.owner,
        )
    elif found.class_ is not None:
        for name in _CONSTRUCTORS:
            member = project.member(found, name)
            if member is not None and member.function is not None:
                yield Callee(definition=member, owner=found)


def _belongs_to(found: Definition, caller_class: Definition, project: Project) -> bool:
    return any(
        isinstance(one, Definition) and found.owner is not None and one.node is found.owner.node
        for one in project.mro(caller_class)
    )
