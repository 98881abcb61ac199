"""Count what a test shares with others and how much it uses: wide fixtures, objects that outlive a test, names.

A test can depend on the order if it reads what another test writes. A name counts as state if any function of its
module changes it; which tests call that function is not checked.
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
from flakehound.lint.scoring.code_size import code_size
from flakehound.lint.source.scopes import FunctionNode
from flakehound.lint.source.syntax_walk import nodes_of, statements_of

_SETUPS_RUN_ONCE = frozenset({"setUpClass", "setUpModule", "setup_class", "setup_module"})
_SETUPS_OF_EACH_TEST = frozenset({"asyncSetUp", "setUp", "setup", "setup_function", "setup_method"})
_TEARDOWNS_OF_EACH_TEST = frozenset(
    {"asyncTearDown", "tearDown", "teardown", "teardown_function", "teardown_method"}
)
_SELF_NAMES = ("self", "cls")
_FILE_PATH = re.compile(r"(?!https?:)(?=\S{4,79}\Z)(?:\S*/|\S*\.[a-z]\w{1,4}\Z)")
_NUMBERED_NAME = re.compile(r"^test_?(\d|[a-z]_|[a-z]\d)|_\d+$|^test_?step", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingCounts:
    """Numbers that say what one test shares with others; inputs of a model."""

    tests_in_file: int
    tests_in_class: int  # in the innermost class; tests outside of classes count as one class
    place_in_file: float  # 0 is the first test, 1 the last
    numbered_name: int  # 1 for names such as `test_1_login` and `test_b_list`, which suggest an order
    unittest_style: int
    parametrised: int
    asynchronous: int
    fixtures: int  # fixtures that run for it, also fixtures of fixtures
    wide_fixtures: int  # fixtures among them that live longer than a test
    set_up_once: int  # set-up functions of its class or module
    set_up_each: int  # set-up functions that run before each test
    torn_down_each: int
    test_functions: int  # functions of test code that it reaches, with the test itself
    production_functions: int
    shared_objects: int  # objects of its module or class that its test code uses
    state_in_tests: int  # names that its test code reads and that a function of their module changes
    state_in_production: int
    patches: int  # names that it patches
    paths: int  # distinct strings in its test code that look like file paths
    set_at_import: int  # attributes and items of other objects that its file sets at import
    reached_functions: int  # functions that it reaches, also those that are many calls away
    called_names: int  # distinct names that its test code calls
    far_called_names: int  # distinct names that functions many calls away call
    name_words: int  # distinct words in the names of the test function
    string_words: int  # distinct words in the strings of the test function
    imported_names: int  # distinct names that its file imports

    def cells(self) -> dict[str, float | None]:
        """The numbers by name; faster than `asdict`, which copies each value."""
        return {name: getattr(self, name) for name in SHARING_NAMES}


SHARING_NAMES = tuple(field.name for field in fields(SharingCounts))


class FileSharing:
    """Counts what the tests of one file share."""

    def __init__(self, cases: Sequence[StaticCase]) -> None:
        self._position = {case.id: position for position, case in enumerate(cases)}
        self._tests_in_class = Counter(case.classes for case in cases)

    def counts_of(self, case: StaticCase, context: CaseContext) -> SharingCounts:
        """What one test shares with others."""
        test_code = context.test_code
        production = [function for function in context.near_functions if function.is_production]
        function_names = [
            function.via[-1].rpartition(".")[2]
            for function in test_code
            if function.via and not function.is_fixture
        ]
        return SharingCounts(
            tests_in_file=len(self._position),
            tests_in_class=self._tests_in_class[case.classes],
            place_in_file=round(self._position[case.id] / max(1, len(self._position) - 1), 4),
            numbered_name=int(bool(_NUMBERED_NAME.search(case.name))),
            unittest_style=int(case.is_unittest),
            parametrised=int(case.is_parametrised),
            asynchronous=int(case.is_async),
            fixtures=sum(function.is_fixture for function in test_code),
            wide_fixtures=sum(function.outlives_test for function in test_code),
            set_up_once=sum(name in _SETUPS_RUN_ONCE for name in function_names),
            set_up_each=sum(name in _SETUPS_OF_EACH_TEST for name in function_names),
            torn_down_each=sum(name in _TEARDOWNS_OF_EACH_TEST for name in function_names),
            test_functions=len(test_code),
            production_functions=len(production),
            shared_objects=_count_shared_objects(test_code),
            state_in_tests=_count_state_read(test_code),
            state_in_production=_count_state_read(production),
            patches=len(context.replaced_names),
            paths=len(frozenset[str]().union(*(function.compute_once(_paths_in) for function in test_code))),
            set_at_import=_count_set_at_import(test_code[0].module) if test_code else 0,
            reached_functions=len(context.functions),
            **code_size(context)._asdict(),
        )


_Names = frozenset[tuple[str, str]]  # path of the file, and name


@dataclass(frozen=True, slots=True, kw_only=True)
class _OutsideNames:
    """Names from outside a function that it uses, with the paths of their files."""

    objects: _Names  # bound to an object in its module or class
    state: _Names  # changed by some function of their module


def _count_shared_objects(functions: Sequence[ReachedFunction]) -> int:
    return len(
        frozenset[tuple[str, str]]().union(
            *(function.compute_once(_outside_names).objects for function in functions)
        )
    )


def _count_state_read(functions: Sequence[ReachedFunction]) -> int:
    return len(
        frozenset[tuple[str, str]]().union(
            *(function.compute_once(_outside_names).state for function in functions)
        )
    )


def _paths_in(function: ReachedFunction) -> frozenset[str]:
    strings = {str(constant.value) for constant in function.facts.strings}
    return frozenset(text for text in strings if _FILE_PATH.match(text))


def _count_set_at_import(module: ModuleFacts) -> int:
    return sum(
        isinstance(target, ast.Attribute | ast.Subscript) for target, _statement in module.top_level.assignments
    )


def _outside_names(function: ReachedFunction) -> _OutsideNames:
    local = function.facts.parameters | (function.facts.bindings.keys() - function.facts.globals)
    names, attributes = set(), set()
    for node in nodes_of(function.node):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in _SELF_NAMES:
            attributes.add(node.attr)
    names -= local
    path, module, owner = function.module.source.path, function.module, function.owner
    objects = {(path, name) for name in names & _objects_of_module(module)}
    if owner is not None and attributes:
        objects |= {(path, f"{owner.name}.{name}") for name in attributes & _objects_of_class(owner)}
    state = {(path, name) for name in names & changed_names(module)} if names else set()
    return _OutsideNames(objects=frozenset(objects), state=frozenset(state))


def _objects_of_module(module: ModuleFacts) -> frozenset[str]:
    if "objects" not in module.name_sets:
        module.name_sets["objects"] = frozenset(
            name for name, value in module.bindings.items() if _is_object(value)
        )
    return module.name_sets["objects"]


def _objects_of_class(owner: ast.ClassDef) -> frozenset[str]:
    return frozenset(
        target.id
        for statement in owner.body
        if isinstance(statement, ast.Assign) and _is_object(statement.value)
        for target in statement.targets
        if isinstance(target, ast.Name)
    )


def _is_object(value: ast.expr) -> bool:
    return isinstance(value, ast.Call | ast.List | ast.Dict | ast.Set)


def changed_names(module: ModuleFacts) -> frozenset[str]:
    """Names of a module that one of its functions binds again, or whose objects it changes."""
    if "changed" not in module.name_sets:
        module.name_sets["changed"] = frozenset(_find_changed_names(module))
    return module.name_sets["changed"]


def _find_changed_names(module: ModuleFacts) -> Iterator[str]:
    statements = list(statements_of(module.source.tree))
    classes = {statement.name for statement in statements if isinstance(statement, ast.ClassDef)}
    names_of_module = {*module.bindings, *module.imports, *classes}
    for statement in statements:
        for node in nodes_of(statement) if isinstance(statement, FunctionNode) else ():
            if isinstance(node, ast.Global):
                yield from node.names
            elif isinstance(node, ast.Attribute | ast.Subscript):
                name = _name_changed_by(node, module)
                if name in names_of_module:
                    yield name


def _name_changed_by(node: ast.Attribute | ast.Subscript, module: ModuleFacts) -> str:
    """The name whose object a node changes, by setting an attribute or item or by a mutating method; else ""."""
    if not isinstance(node.value, ast.Name):
        return ""
    if isinstance(node.ctx, ast.Store | ast.Del):
        return node.value.id
    mutates = isinstance(node, ast.Attribute) and node.attr in MUTATING_METHODS
    return node.value.id if mutates and node.value.id in module.bindings else ""
