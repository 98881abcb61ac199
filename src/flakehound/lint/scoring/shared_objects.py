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
from flakehound.lint.rules._context import Context, Part, Surroundings
from flakehound.lint.rules._function_facts import FunctionNode
from flakehound.lint.rules.module_state import MUTATORS
from flakehound.lint.source.syntax_walk import nodes_of, statements_of

_ONCE = frozenset(("setUpClass", "setup_class", "setUpModule", "setup_module"))
_EACH = frozenset(("setUp", "asyncSetUp", "setup_method", "setup", "setup_function"))
_UNDOING = frozenset(("tearDown", "asyncTearDown", "teardown_method", "teardown", "teardown_function"))
_SELF = ("self", "cls")
_PATH = re.compile(r"(?!https?:)(?=\S{4,79}\Z)(?:\S*/|\S*\.[a-z]\w{1,4}\Z)")
_NUMBERED = re.compile(r"^test_?(\d|[a-z]_|[a-z]\d)|_\d+$|^test_?step", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """How one test hangs together with others, in numbers."""

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


SHARING_NAMES = tuple(field.name for field in fields(Sharing))


def cells_of(sharing: Sharing) -> dict[str, float | None]:
    """The numbers by name; `asdict` would copy each of them."""
    return {name: getattr(sharing, name) for name in SHARING_NAMES}


class Sharings:
    """What the tests of one file share; asked for each of them in turn."""

    def __init__(self, cases: Sequence[StaticCase]) -> None:
        self._place = {case.id: place for place, case in enumerate(cases)}
        self._in_class = Counter(case.classes for case in cases)

    def of(self, case: StaticCase, context: Context) -> Sharing:
        """What one test shares."""
        own, production = context.own, [part for part in context.near if part.production]
        steps = [part.via[-1].rpartition(".")[2] for part in own if part.via and not part.fixture]
        return Sharing(
            tests_in_file=len(self._place),
            tests_in_class=self._in_class[case.classes],
            place_in_file=round(self._place[case.id] / max(1, len(self._place) - 1), 4),
            numbered_name=int(bool(_NUMBERED.search(case.name))),
            unittest_style=int(case.is_unittest),
            parametrised=int(case.parametrised),
            asynchronous=int(case.is_async),
            fixtures=sum(part.fixture for part in own),
            wide_fixtures=sum(part.wide for part in own),
            set_up_once=sum(step in _ONCE for step in steps),
            set_up_each=sum(step in _EACH for step in steps),
            torn_down_each=sum(step in _UNDOING for step in steps),
            test_functions=len(own),
            production_functions=len(production),
            shared_objects=_shared_objects(own),
            state_in_tests=_state_read(own),
            state_in_production=_state_read(production),
            patches=len(context.patched),
            paths=len(frozenset[str]().union(*map(_paths_in, own))),
            set_at_import=_set_at_import(own[0].surroundings) if own else 0,
        )


_Names = frozenset[tuple[str, str]]  # path and name


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """What a function takes from around it."""

    objects: _Names  # of its module or class
    state: _Names


def _shared_objects(parts: Sequence[Part]) -> int:
    return len(frozenset[tuple[str, str]]().union(*(_taken(part).objects for part in parts)))


def _state_read(parts: Sequence[Part]) -> int:
    return len(frozenset[tuple[str, str]]().union(*(_taken(part).state for part in parts)))


def _paths_in(part: Part) -> frozenset[str]:
    """Worked out once, as `_taken` is."""
    found: frozenset[str] | None = part.sights.noticed.get(_paths_in)
    if found is None:
        texts = {str(one.value) for one in part.sights.texts}
        found = part.sights.noticed[_paths_in] = frozenset(text for text in texts if _PATH.match(text))
    return found


def _set_at_import(around: Surroundings) -> int:
    return sum(isinstance(target, ast.Attribute | ast.Subscript) for target, _statement in around.top.assigned)


def _taken(part: Part) -> _Taken:
    """Worked out once, however many tests run the function."""
    found = part.sights.noticed.get(_taken)
    if not isinstance(found, _Taken):
        found = part.sights.noticed[_taken] = _taken_by(part)
    return found


def _taken_by(part: Part) -> _Taken:
    local = part.sights.parameters | (part.sights.bound.keys() - part.sights.globals)
    names, attributes = set(), set()
    for node in nodes_of(part.function):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in _SELF:
            attributes.add(node.attr)
    names -= local
    path, around, owner = part.surroundings.source.path, part.surroundings, part.owner
    objects = {(path, name) for name in names & _objects_of(around)}
    if owner is not None and attributes:
        objects |= {(path, f"{owner.name}.{name}") for name in attributes & _objects_in(owner)}
    state = {(path, name) for name in names & changed_names(around)} if names else set()
    return _Taken(objects=frozenset(objects), state=frozenset(state))


def _objects_of(around: Surroundings) -> frozenset[str]:
    if "objects" not in around.kept:
        around.kept["objects"] = frozenset(name for name, value in around.bound.items() if _is_object(value))
    return around.kept["objects"]


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


def changed_names(around: Surroundings) -> frozenset[str]:
    """Names of a module that one of its functions binds again, or changes what they stand for."""
    if "changed" not in around.kept:
        around.kept["changed"] = frozenset(_changed(around))
    return around.kept["changed"]


def _changed(around: Surroundings) -> Iterator[str]:
    statements = list(statements_of(around.source.tree))
    classes = {one.name for one in statements if isinstance(one, ast.ClassDef)}
    known = {*around.bound, *around.imports, *classes}
    for function in statements:
        for node in nodes_of(function) if isinstance(function, FunctionNode) else ():
            if isinstance(node, ast.Global):
                yield from node.names
            elif isinstance(node, ast.Attribute | ast.Subscript):
                name = _changed_by(node, around)
                if name in known:
                    yield name


def _changed_by(node: ast.Attribute | ast.Subscript, around: Surroundings) -> str:
    """The name whose object an access changes: by setting a part of it, or by asking for a method that does."""
    if not isinstance(node.value, ast.Name):
        return ""
    if isinstance(node.ctx, ast.Store | ast.Del):
        return node.value.id
    mutates = isinstance(node, ast.Attribute) and node.attr in MUTATORS
    return node.value.id if mutates and node.value.id in around.bound else ""
