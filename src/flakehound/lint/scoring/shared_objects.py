"""What a test shares with others: its file and class, wide fixtures, objects that live longer than a test.

A test depends on the order where it reads what another one writes. Who writes is not looked for test by test: a
name counts as state if any function of its module changes it.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from flakehound.lint.collect.cases import StaticCase
from flakehound.lint.facts.case_context import CaseContext, ModuleFacts, ReachedFunction
from flakehound.lint.rules.module_state import MUTATING_METHODS
from flakehound.lint.source.scopes import FunctionNode
from flakehound.lint.source.syntax_walk import nodes_of, statements_of

_ONCE = frozenset(("setUpClass", "setup_class", "setUpModule", "setup_module"))
_EACH = frozenset(("setUp", "asyncSetUp", "setup_method", "setup", "setup_function"))
_UNDOING = frozenset(("tearDown", "asyncTearDown", "teardown_method", "teardown", "teardown_function"))
_SELF = ("self", "cls")
_PATH = re.compile(r"(?!https?:)(?=\S{4,79}\Z)(?:\S*/|\S*\.[a-z]\w{1,4}\Z)")
_NUMBERED = re.compile(r"^test_?(\d|[a-z]_|[a-z]\d)|_\d+$|^test_?step", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingCounts:
    """What one test shares with others, in numbers."""

    tests_in_file: int
    tests_in_class: int  # of the innermost class; tests outside of classes count as one class
    place_in_file: float  # 0 is the first test, 1 the last
    numbered_name: int  # `test_1_login`, `test_b_list`: names that ask for an order
    unittest_style: int
    parametrised: int
    asynchronous: int
    fixtures: int  # fixtures that run for it, those of fixtures too
    wide_fixtures: int  # those of them that live longer than a test
    set_up_once: int  # set-ups of its class or module
    set_up_each: int  # set-ups that run before each test
    torn_down_each: int
    test_functions: int  # functions of test code that it reaches, itself among them
    production_functions: int
    shared_objects: int  # objects of its module or class that its test code uses
    state_in_tests: int  # names that test code reads and a function of their module changes
    state_in_production: int
    patches: int  # what it replaces
    paths: int  # different texts in its test code that look like paths of files
    set_at_import: int  # parts of other things that its file sets where it is imported

    def cells(self) -> dict[str, float | None]:
        """The numbers by name; `asdict` would copy each of them."""
        return {name: getattr(self, name) for name in SHARING_NAMES}


SHARING_NAMES = tuple(field.name for field in fields(SharingCounts))


class FileSharing:
    """Counts what the tests of one file share."""

    def __init__(self, cases: Sequence[StaticCase]) -> None:
        self._place = {case.id: place for place, case in enumerate(cases)}
        self._in_class = Counter(case.classes for case in cases)

    def counts_of(self, case: StaticCase, context: CaseContext) -> SharingCounts:
        """What one test shares with others."""
        own, production = (
            context.test_code,
            [function for function in context.near_functions if function.is_production],
        )
        steps = [
            function.via[-1].rpartition(".")[2] for function in own if function.via and not function.is_fixture
        ]
        return SharingCounts(
            tests_in_file=len(self._place),
            tests_in_class=self._in_class[case.classes],
            place_in_file=round(self._place[case.id] / max(1, len(self._place) - 1), 4),
            numbered_name=int(bool(_NUMBERED.search(case.name))),
            unittest_style=int(case.is_unittest),
            parametrised=int(case.is_parametrised),
            asynchronous=int(case.is_async),
            fixtures=sum(function.is_fixture for function in own),
            wide_fixtures=sum(function.outlives_test for function in own),
            set_up_once=sum(step in _ONCE for step in steps),
            set_up_each=sum(step in _EACH for step in steps),
            torn_down_each=sum(step in _UNDOING for step in steps),
            test_functions=len(own),
            production_functions=len(production),
            shared_objects=_shared_objects(own),
            state_in_tests=_state_read(own),
            state_in_production=_state_read(production),
            patches=len(context.replaced_names),
            paths=len(frozenset[str]().union(*(function.compute_once(_paths_in) for function in own))),
            set_at_import=_set_at_import(own[0].module) if own else 0,
        )


_Names = frozenset[tuple[str, str]]  # path and name


@dataclass(frozen=True, slots=True, kw_only=True)
class _OutsideNames:
    """Names from outside that a function uses, with the paths of their files."""

    objects: _Names  # of its module or class
    state: _Names  # those that some function of their module changes


def _shared_objects(functions: Sequence[ReachedFunction]) -> int:
    return len(
        frozenset[tuple[str, str]]().union(
            *(function.compute_once(_names_from_outside).objects for function in functions)
        )
    )


def _state_read(functions: Sequence[ReachedFunction]) -> int:
    return len(
        frozenset[tuple[str, str]]().union(
            *(function.compute_once(_names_from_outside).state for function in functions)
        )
    )


def _paths_in(function: ReachedFunction) -> frozenset[str]:
    strings = {str(one.value) for one in function.facts.strings}
    return frozenset(text for text in strings if _PATH.match(text))


def _set_at_import(module: ModuleFacts) -> int:
    return sum(
        isinstance(target, ast.Attribute | ast.Subscript) for target, _statement in module.top_level.assignments
    )


def _names_from_outside(function: ReachedFunction) -> _OutsideNames:
    local = function.facts.parameters | (function.facts.bindings.keys() - function.facts.globals)
    names, attributes = set(), set()
    for node in nodes_of(function.node):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in _SELF:
            attributes.add(node.attr)
    names -= local
    path, module, owner = function.module.source.path, function.module, function.owner
    objects = {(path, name) for name in names & _objects_of(module)}
    if owner is not None and attributes:
        objects |= {(path, f"{owner.name}.{name}") for name in attributes & _objects_in(owner)}
    state = {(path, name) for name in names & changed_names(module)} if names else set()
    return _OutsideNames(objects=frozenset(objects), state=frozenset(state))


def _objects_of(module: ModuleFacts) -> frozenset[str]:
    if "objects" not in module.name_sets:
        module.name_sets["objects"] = frozenset(
            name for name, value in module.bindings.items() if _is_object(value)
        )
    return module.name_sets["objects"]


def _objects_in(owner: ast.ClassDef) -> frozenset[str]:
    return frozenset(
        target.id
        for one in owner.body
        if isinstance(one, ast.Assign) and _is_object(one.value)
        for target in one.targets
        if isinstance(target, ast.Name)
    )


def _is_object(value: ast.expr) -> bool:
    return isinstance(value, ast.Call | ast.List | ast.Dict | ast.Set)


def changed_names(module: ModuleFacts) -> frozenset[str]:
    """Names of a module that one of its functions binds again, or changes what they stand for."""
    if "changed" not in module.name_sets:
        module.name_sets["changed"] = frozenset(_changed(module))
    return module.name_sets["changed"]


def _changed(module: ModuleFacts) -> Iterator[str]:
    statements = list(statements_of(module.source.tree))
    classes = {one.name for one in statements if isinstance(one, ast.ClassDef)}
    known = {*module.bindings, *module.imports, *classes}
    for statement in statements:
        for node in nodes_of(statement) if isinstance(statement, FunctionNode) else ():
            if isinstance(node, ast.Global):
                yield from node.names
            elif isinstance(node, ast.Attribute | ast.Subscript):
                name = _changed_by(node, module)
                if name in known:
                    yield name


def _changed_by(node: ast.Attribute | ast.Subscript, module: ModuleFacts) -> str:
    """The name whose object an access changes: by setting a part of it, or by asking for a method that does."""
    if not isinstance(node.value, ast.Name):
        return ""
    if isinstance(node.ctx, ast.Store | ast.Del):
        return node.value.id
    mutates = isinstance(node, ast.Attribute) and node.attr in MUTATING_METHODS
    return node.value.id if mutates and node.value.id in module.bindings else ""
