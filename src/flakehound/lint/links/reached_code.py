"""Which functions a test runs in addition to its own: fixtures, set-up, helpers, and production code it calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from flakehound.lint.collect.cases import StaticCase
from flakehound.lint.collect.fixtures import Fixture, VisibleFixtures, visible_fixtures
from flakehound.lint.source.definitions import Definition
from flakehound.lint.source.functions import is_callable
from flakehound.lint.source.modules import Module
from flakehound.lint.source.names import ExpressionMeaning, Instance, names_of
from flakehound.lint.source.project import Project
from flakehound.lint.source.scopes import FunctionNode

MAX_REACHED_FUNCTIONS = 200  # per test; functions beyond that say little about the test
_SETUP_METHODS = (
    "setUpClass",
    "setup_class",
    "setUp",
    "asyncSetUp",
    "setup_method",
    "setup",
    "tearDown",
    "asyncTearDown",
    "teardown_method",
    "teardown",
    "tearDownClass",
    "teardown_class",
)
_MODULE_SETUPS = ("setUpModule", "setup_module", "tearDownModule", "teardown_module")
_SETUPS_OF_PLAIN_FUNCTIONS = ("setup_function", "teardown_function")
_METHODS_CALLED_WITH_CLASS = ("__init__", "__new__", "__post_init__", "__enter__", "__aenter__")
_TEST_FOLDERS = frozenset({"test", "tests", "testing", "unittests", "unit_tests"})


class Role(Enum):
    """What kind of function a test reaches."""

    FIXTURE = "fixture"
    SETUP = "setup"
    HELPER = "helper"  # a function in test code
    PRODUCTION = "production"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReachedCode:
    """One function that a test runs, and how the test reaches it."""

    function: FunctionNode
    module: Module
    via: tuple[str, ...]  # names of the functions called from the test to this one, its own name last
    depth: int  # calls from the test; a fixture, a fixture's fixture or a set-up method counts as one call
    role: Role
    owner: Definition | None  # the class of `self`
    fixture: Fixture | None = None  # None if it is no fixture


def reached_functions(case: StaticCase, project: Project, depth: int = 2) -> tuple[ReachedCode, ...]:
    """The functions that a test reaches within `depth` calls, each once by its shortest path, without the test.

    Fixtures and set-up methods are always included, also fixtures of fixtures; calls are counted from them.
    """
    return tuple(_Walk(case, project, depth).reached_functions())


def is_test_code(path: str, project: Project) -> bool:
    """Whether a file is part of the tests, and not of the code that they test."""
    return project.compute_once(("test code", path), lambda: _is_test_code(path, project))


def _is_test_code(path: str, project: Project) -> bool:
    name = path.rpartition("/")[2]
    return name == "conftest.py" or project.patterns.is_test_file(path) or has_test_folder(path)


def has_test_folder(path: str) -> bool:
    """Whether a file is in a folder whose name says that it has tests."""
    folders = path.split("/")[:-1]
    return not _TEST_FOLDERS.isdisjoint(folder.lower() for folder in folders)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Step:
    """A function on the way of the walk."""

    function: FunctionNode
    module: Module
    owner: Definition | None
    role: Role
    via: tuple[str, ...]
    depth: int
    calls: int = 0  # number of calls since the test, its fixture or its set-up method
    fixture: Fixture | None = None


class _Walk:
    """Walks breadth first through the functions that a test reaches."""

    def __init__(self, case: StaticCase, project: Project, depth: int) -> None:
        self._case = case
        self._project = project
        self._depth = depth
        self._visited: set[ast.AST] = {case.function}
        self._results: list[ReachedCode] = []

    def reached_functions(self) -> list[ReachedCode]:
        start = _Step(
            function=self._case.function,
            module=self._case.module,
            owner=self._case.owner,
            role=Role.HELPER,
            via=(),
            depth=0,
        )
        level = [start]
        level += self._record_new(self._fixtures_and_setups())
        while level and len(self._results) < MAX_REACHED_FUNCTIONS:
            level = [callee for step in level for callee in self._record_new(self._callees_of(step))]
        return self._results

    def _record_new(self, steps: Iterator[_Step]) -> list[_Step]:
        new_steps = []
        for step in steps:
            if step.function not in self._visited and len(self._results) < MAX_REACHED_FUNCTIONS:
                self._visited.add(step.function)
                self._results.append(_reached_code(step))
                new_steps.append(step)
        return new_steps

    def _fixtures_and_setups(self) -> Iterator[_Step]:
        fixtures = visible_fixtures(self._case.collected_module, self._case.owner, self._project)
        requested = [fixture for name in self._case.fixtures if (fixture := fixtures.find(name))]
        for fixture in (*fixtures.autouse(), *requested):
            yield from self._fixture_steps(fixture, fixtures, ())
        yield from self._setup_steps()

    def _fixture_steps(self, fixture: Fixture, fixtures: VisibleFixtures, via: tuple[str, ...]) -> Iterator[_Step]:
        path = (*via, fixture.name)
        if len(path) > MAX_REACHED_FUNCTIONS or fixture.function in self._visited:
            return
        yield _Step(
            function=fixture.function,
            module=fixture.module,
            owner=fixture.owner,
            role=Role.FIXTURE,
            via=path,
            depth=1,
            fixture=fixture,
        )
        for name in fixture.requests:
            inner = fixtures.find(name, fixture)
            if inner is not None and inner is not fixture:
                yield from self._fixture_steps(inner, fixtures, path)

    def _setup_steps(self) -> Iterator[_Step]:
        owner = self._case.owner
        if owner is not None:
            for name in _SETUP_METHODS:
                yield from self._steps_to(self._project.member(owner, name), owner, Role.SETUP)
        names = _MODULE_SETUPS if owner is not None else (*_MODULE_SETUPS, *_SETUPS_OF_PLAIN_FUNCTIONS)
        for name in names:
            definition = self._project.resolve_if_bound(self._case.collected_module, name)
            if isinstance(definition, Definition):
                yield from self._steps_to(definition, None, Role.SETUP)

    def _callees_of(self, step: _Step) -> Iterator[_Step]:
        if step.calls >= self._depth:
            return
        for callee in callees(step.function, step.module, self._project, step.owner):
            role = Role.HELPER if is_test_code(callee.module.path, self._project) else Role.PRODUCTION
            yield from self._steps_to(callee.definition, callee.owner, role, step)

    def _steps_to(
        self, definition: Definition | None, owner: Definition | None, role: Role, caller: _Step | None = None
    ) -> Iterator[_Step]:
        if definition is not None and definition.function is not None:
            yield _Step(
                function=definition.function,
                module=definition.module,
                owner=owner,
                role=role,
                via=(*(caller.via if caller else ()), definition.name),
                depth=caller.depth + 1 if caller else 1,
                calls=caller.calls + 1 if caller else 0,
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
    """A function of the project that another function calls or passes on."""

    definition: Definition
    owner: Definition | None

    @property
    def module(self) -> Module:
        """The file that contains it."""
        return self.definition.module


def callees(
    function: FunctionNode, module: Module, project: Project, owner: Definition | None = None
) -> tuple[Callee, ...]:
    """The functions of the project that a function calls, or passes on as in `Thread(target=work)`."""
    key = ("callees", function, owner.node if owner else None)
    return project.compute_once(key, lambda: tuple(_find_callees(function, module, project, owner)))


def _find_callees(
    function: FunctionNode, module: Module, project: Project, owner: Definition | None
) -> Iterator[Callee]:
    names = names_of(function, module, project, owner)
    visited: set[ast.AST] = set()
    for node in _called_expressions(names.nodes):
        meaning = names.meaning_of(node)
        for callee in _callees_in(meaning, node, names.owner, project):
            if callee.definition.node not in visited and not callee.definition.name.startswith("<locals>"):
                visited.add(callee.definition.node)
                yield callee


def _called_expressions(nodes: Sequence[ast.AST]) -> Iterator[ast.expr]:
    """The expressions that are called or passed as arguments."""
    for node in nodes:
        if isinstance(node, ast.Call):
            yield node.func
            yield from (argument for argument in node.args if isinstance(argument, ast.Name | ast.Attribute))
            values = (keyword.value for keyword in node.keywords)
            yield from (value for value in values if isinstance(value, ast.Name | ast.Attribute))


def _callees_in(
    meaning: ExpressionMeaning | None, node: ast.expr, caller_class: Definition | None, project: Project
) -> Iterator[Callee]:
    if isinstance(meaning, Instance) or not isinstance(meaning, Definition):
        return
    if meaning.function is not None and is_callable(meaning.function):
        is_method_call = (
            isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and meaning.owner is not None
        )
        is_of_caller = is_method_call and caller_class is not None and _is_member(meaning, caller_class, project)
        yield Callee(definition=meaning, owner=caller_class if is_of_caller else meaning.owner)
    elif meaning.class_ is not None:
        for name in _METHODS_CALLED_WITH_CLASS:
            member = project.member(meaning, name)
            if member is not None and member.function is not None:
                yield Callee(definition=member, owner=meaning)


def _is_member(method: Definition, class_: Definition, project: Project) -> bool:
    return any(
        isinstance(base, Definition) and method.owner is not None and base.node is method.owner.node
        for base in project.mro(class_)
    )
