"""A test with every function that it runs, as far as the source shows."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar, cast

from flakehound.lint.facts.functions import FunctionFacts, facts_of, names_imported_by
from flakehound.lint.source.modules import Module
from flakehound.lint.source.scopes import FunctionNode
from flakehound.lint.source.syntax_walk import statements_of

_Result = TypeVar("_Result")
_IN_PROCESS_CLIENTS = frozenset(
    {"ASGITransport", "ASGIWebSocketTransport", "APIClient", "MockTransport", "TestClient", "WSGITransport"}
    | {"client_factory", "test_client", "test_client_factory"}
)
_PATCH_FUNCTIONS = (
    "delattr",
    "patch",
    "patch.dict",
    "patch.multiple",
    "patch.object",
    "setattr",
    "setitem",
    "stub",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePlace:
    """A line and column of a file."""

    path: str
    line: int
    column: int  # from 1, as editors count


def place_of(path: str, node: ast.AST) -> SourcePlace:
    """The place of a syntax node in a file."""
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
    return SourcePlace(path=path, line=line, column=column)


@dataclass(slots=True, kw_only=True, eq=False)
class ModuleFacts:
    """The facts of a module that all its functions share."""

    source: Module
    imports: Mapping[str, str]  # name -> full name
    bindings: Mapping[str, ast.expr]  # variable of the module -> its value
    owners: Mapping[int, ast.ClassDef]  # id of a function node -> the class that contains it
    top_level: FunctionFacts  # the statements outside of functions and classes
    name_sets: dict[str, frozenset[str]] = field(
        default_factory=dict
    )  # computed sets of names, by a key of the caller

    @property
    def imported_packages(self) -> set[str]:
        """Names of the packages that the module imports."""
        return {name.partition(".")[0] for name in self.imports.values()}


@dataclass(slots=True, kw_only=True, eq=False)
class ReachedFunction:
    """A function that a test runs, or the test function itself."""

    module: ModuleFacts
    node: ast.AST
    facts: FunctionFacts
    via: tuple[str, ...] = ()  # functions called from the test to this one, its own name last; () for the test
    is_production: bool = False
    is_fixture: bool = False
    outlives_test: bool = False  # a fixture with a scope wider than "function"
    runs_before_every_test: bool = False  # an autouse fixture in a conftest.py
    called_at: SourcePlace | None = None  # where test code calls the production code that leads here
    caller: ReachedFunction | None = None  # the function whose call is followed; None if pytest calls it
    is_far: bool = False  # so many calls away that only some rules check it

    @property
    def name(self) -> str:
        """The function's name."""
        return getattr(self.node, "name", "<lambda>")

    @property
    def owner(self) -> ast.ClassDef | None:
        """The class that contains it."""
        return self.module.owners.get(id(self.node))

    def place_of(self, node: ast.AST) -> SourcePlace:
        """The place of a node of the function."""
        return place_of(self.module.source.path, node)

    def compute_once(self, compute: Callable[[ReachedFunction], _Result]) -> _Result:
        """The result of `compute` for this function; computed once, also if several tests run the function."""
        result = self.facts.results.get(compute)
        if result is None:
            result = self.facts.results[compute] = compute(self)
        return cast("_Result", result)


class FactsCache:
    """Cached facts of modules and functions; one cache per project, because tests share helpers."""

    def __init__(self) -> None:
        self._modules: dict[int, ModuleFacts] = {}
        self._functions: dict[int, FunctionFacts] = {}

    def function(
        self,
        source: Module,
        node: ast.AST,
        *,
        via: tuple[str, ...] = (),
        is_production: bool = False,
        called_at: SourcePlace | None = None,
        caller: ReachedFunction | None = None,
    ) -> ReachedFunction:
        """A function that a test runs; its facts are read once for all tests."""
        module = self.module(source)
        if id(node) not in self._functions:
            self._functions[id(node)] = facts_of(node, module.imports, module.bindings)
        facts = self._functions[id(node)]
        return ReachedFunction(
            module=module,
            node=node,
            facts=facts,
            via=via,
            is_production=is_production,
            is_fixture=any(name.endswith("fixture") for name in facts.decorators),
            called_at=called_at,
            caller=caller,
        )

    def module(self, source: Module) -> ModuleFacts:
        """The facts of a module."""
        if id(source.tree) not in self._modules:
            self._modules[id(source.tree)] = _module_facts(source)
        return self._modules[id(source.tree)]


def _module_facts(source: Module) -> ModuleFacts:
    imports: dict[str, str] = {}
    owners: dict[int, ast.ClassDef] = {}
    for node in statements_of(source.tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.update(names_imported_by(node))
        elif isinstance(node, ast.ClassDef):
            owners.update((id(method), node) for method in node.body if isinstance(method, FunctionNode))
    statements = [node for node in source.tree.body if not isinstance(node, FunctionNode | ast.ClassDef)]
    top_level = facts_of(ast.Module(body=statements, type_ignores=[]), imports, {})
    return ModuleFacts(
        source=source, imports=imports, bindings=top_level.bindings, owners=owners, top_level=top_level
    )


@dataclass(kw_only=True, eq=False)
class CaseContext:
    """A test with all functions that it reaches."""

    test_id: str
    functions: tuple[ReachedFunction, ...]  # the test first
    cache: FactsCache
    conftests: tuple[Module, ...] = ()

    @cached_property
    def near_functions(self) -> tuple[ReachedFunction, ...]:
        """The functions without those that are many calls away."""
        return tuple(function for function in self.functions if not function.is_far)

    @cached_property
    def test_code(self) -> tuple[ReachedFunction, ...]:
        """The test, its fixtures, set-ups and helpers, without production code."""
        return tuple(function for function in self.near_functions if not function.is_production)

    @cached_property
    def used_names(self) -> frozenset[str]:
        """Full names of everything that the test code calls, requests, decorates with, or calls at import."""
        names: set[str] = set()
        for function in self.test_code:
            names |= _names_used_by(function)
        for source in self.conftests:
            names |= {call.name for call in self.cache.module(source).top_level.calls}
        return frozenset(names)

    @cached_property
    def replaced_names(self) -> frozenset[str]:
        """The names that the test patches, without the modules and classes before them."""
        return frozenset(name for function in self.test_code for name in _names_patched_by(function))

    @cached_property
    def uses_in_process_transport(self) -> bool:
        """Whether the test code makes a client whose requests an application in the process answers."""
        return any(name.rpartition(".")[2] in _IN_PROCESS_CLIENTS for name in self.used_names)

    def uses(self, *prefixes: str) -> bool:
        """Whether the test uses a name that starts with one of the prefixes."""
        return any(name.startswith(prefixes) for name in self.used_names)

    def replaces(self, function: ReachedFunction) -> bool:
        """Whether the test patches the function, so its code does not run."""
        return bool(function.via) and function.name in self.replaced_names

    def replaces_call(self, function: ReachedFunction, node: ast.AST) -> bool:
        """Whether the test patches what a node of the function calls."""
        if not self.replaced_names or not isinstance(node, ast.Call):
            return False
        name = function.facts.dotted_name(node.func).replace("()", "").replace("(_)", "")
        return not self.replaced_names.isdisjoint(name.split("."))


def _names_used_by(function: ReachedFunction) -> set[str]:
    facts, top_level = function.facts, function.module.top_level
    names = {call.name for call in facts.calls} | {call.name for call in top_level.calls}
    names |= set(facts.decorators) | facts.parameters
    if function.owner is not None:
        decorators = function.owner.decorator_list
        names |= {
            facts.dotted_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
            for decorator in decorators
        }
    return names


def _names_patched_by(function: ReachedFunction) -> Iterator[str]:
    nodes = [call.node for call in function.facts.calls]
    decorators = getattr(function.owner, "decorator_list", [])
    nodes += [decorator for decorator in decorators if isinstance(decorator, ast.Call)]
    for node in nodes:
        if function.facts.dotted_name(node.func).endswith(_PATCH_FUNCTIONS):
            yield from _patch_targets(node)


def _patch_targets(node: ast.Call) -> Iterator[str]:
    for argument in node.args[:2]:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            yield argument.value.rpartition(".")[2]
