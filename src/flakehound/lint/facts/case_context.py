"""One test with every function that it runs, as far as the source shows."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedPlace:
    """Where a finding is reported."""

    path: str
    line: int
    column: int  # from 1, as editors count


def place_of(path: str, node: ast.AST) -> ReportedPlace:
    """The place of a syntax node in a file."""
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
    return ReportedPlace(path=path, line=line, column=column)


@dataclass(slots=True, kw_only=True, eq=False)
class ModuleFacts:
    """What is known of a module, for all of its functions."""

    source: Module
    imports: Mapping[str, str]  # name -> full name
    bindings: Mapping[str, ast.expr]  # names of the module and their values
    owners: Mapping[int, ast.ClassDef]  # id of a function -> the class it is written in
    top_level: FunctionFacts  # the statements outside of functions and classes
    name_sets: dict[str, frozenset[str]] = field(default_factory=dict)  # computed once, by a key of their own

    @property
    def imported_packages(self) -> set[str]:
        """Names of the packages that the module imports."""
        return {name.partition(".")[0] for name in self.imports.values()}


@dataclass(slots=True, kw_only=True, eq=False)
class ReachedFunction:
    """One function that a test runs, the test itself among them."""

    module: ModuleFacts
    node: ast.AST
    facts: FunctionFacts
    via: tuple[str, ...] = ()  # names on the way from the test, this function's own last; () is the test
    is_production: bool = False
    is_fixture: bool = False
    outlives_test: bool = False  # a fixture of a scope wider than the test
    runs_before_every_test: bool = False  # an autouse fixture of a conftest
    reported_at: ReportedPlace | None = None  # the place to report instead of the sign's own
    is_far: bool = False  # so many calls away that only some rules look at it

    @property
    def name(self) -> str:
        """The function's name."""
        return getattr(self.node, "name", "<lambda>")

    @property
    def owner(self) -> ast.ClassDef | None:
        """The class it is written in."""
        return self.module.owners.get(id(self.node))

    def place_of(self, node: ast.AST) -> ReportedPlace:
        """Where to report a finding about a node of the function."""
        return self.reported_at or place_of(self.module.source.path, node)

    def once(self, compute: Callable[[ReachedFunction], _Result]) -> _Result:
        """The result of `compute` for this function; computed once, however many tests run the function."""
        found = self.facts.results.get(compute)
        if found is None:
            found = self.facts.results[compute] = compute(self)
        return cast("_Result", found)

    def how_reached(self, node: ast.AST) -> str:
        """The end of a message about a function that is not the test itself."""
        if not self.via:
            return ""
        place = f" at {self.module.source.path}:{getattr(node, 'lineno', 1)}" if self.reported_at else ""
        return f", reached through {' -> '.join(self.via)}{place}"


class FactsCache:
    """The facts that were read already; one cache for a whole project, because tests share helpers."""

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
        reported_at: ReportedPlace | None = None,
    ) -> ReachedFunction:
        """One function of a test; its facts are read only if no other test has reached it."""
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
            reported_at=reported_at,
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
            owners.update((id(one), node) for one in node.body if isinstance(one, FunctionNode))
    plain = [one for one in source.tree.body if not isinstance(one, FunctionNode | ast.ClassDef)]
    top = facts_of(ast.Module(body=plain, type_ignores=[]), imports, {})
    return ModuleFacts(source=source, imports=imports, bindings=top.bindings, owners=owners, top_level=top)


@dataclass(kw_only=True, eq=False)
class CaseContext:
    """One test with all functions that it reaches."""

    test_id: str
    functions: tuple[ReachedFunction, ...]  # the test first
    cache: FactsCache
    conftests: tuple[Module, ...] = ()

    @cached_property
    def near(self) -> tuple[ReachedFunction, ...]:
        """All functions but those that are many calls away."""
        return tuple(function for function in self.functions if not function.is_far)

    @cached_property
    def test_code(self) -> tuple[ReachedFunction, ...]:
        """The test, its fixtures, set-ups and helpers, without production code."""
        return tuple(function for function in self.near if not function.is_production)

    @cached_property
    def used_names(self) -> frozenset[str]:
        """Dotted names of all that the test code calls, decorates with, requests, or does at import."""
        found: set[str] = set()
        for function in self.test_code:
            found |= _names_used_by(function)
        for source in self.conftests:
            found |= {call.name for call in self.cache.module(source).top_level.calls}
        return frozenset(found)

    @cached_property
    def replaced_names(self) -> frozenset[str]:
        """Last parts of the names that the test patches."""
        return frozenset(name for function in self.test_code for name in _names_patched_by(function))

    def uses(self, *prefixes: str) -> bool:
        """Whether the test uses something whose full name has one of the prefixes."""
        return any(name.startswith(prefixes) for name in self.used_names)

    def replaces(self, function: ReachedFunction) -> bool:
        """Whether the test patches the function, so that its own code does not run."""
        return bool(function.via) and function.name in self.replaced_names

    def replaces_call(self, function: ReachedFunction, node: ast.AST) -> bool:
        """Whether the test patches what a node of the function calls."""
        if not self.replaced_names or not isinstance(node, ast.Call):
            return False
        name = function.facts.dotted_name(node.func).replace("()", "").replace("(_)", "")
        return not self.replaced_names.isdisjoint(name.split("."))


def _names_used_by(function: ReachedFunction) -> set[str]:
    facts, top_level = function.facts, function.module.top_level
    found = {call.name for call in facts.calls} | {call.name for call in top_level.calls}
    found |= set(facts.decorators) | facts.parameters
    if function.owner is not None:
        decorators = function.owner.decorator_list
        found |= {facts.dotted_name(one.func if isinstance(one, ast.Call) else one) for one in decorators}
    return found


_PATCHERS = ("patch", "patch.object", "patch.multiple", "setattr", "setitem", "patch.dict", "delattr", "stub")


def _names_patched_by(function: ReachedFunction) -> Iterator[str]:
    nodes = [call.node for call in function.facts.calls]
    nodes += [one for one in getattr(function.owner, "decorator_list", []) if isinstance(one, ast.Call)]
    for node in nodes:
        if function.facts.dotted_name(node.func).endswith(_PATCHERS):
            yield from _patch_targets(node)


def _patch_targets(node: ast.Call) -> Iterator[str]:
    for argument in node.args[:2]:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            yield argument.value.rpartition(".")[2]
