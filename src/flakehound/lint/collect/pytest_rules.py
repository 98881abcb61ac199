"""Which functions and classes pytest collects: by names, decorators, base classes and `__test__`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from flakehound.core.collection_patterns import CollectionPatterns
from flakehound.lint.collect.parameterized import expanded_names
from flakehound.lint.source.definitions import Definition, External
from flakehound.lint.source.functions import decorator_names, underlying_function
from flakehound.lint.source.modules import Module
from flakehound.lint.source.project import Project
from flakehound.lint.source.scopes import AssignedName, FunctionNode, Scope

_FIXTURE_DECORATORS = ("fixture", "yield_fixture")
_NOT_TEST_CASES = ("Mixin", "Result", "Suite", "Loader", "Runner")
_DATA_CLASS_DECORATORS = frozenset({"attr.attrs", "attr.s", "attrs.define", "dataclasses.dataclass"})
# Base classes outside the project that have an __init__ or __new__; pytest does not collect such classes.
_BASES_WITH_CONSTRUCTOR = frozenset(
    {
        "BaseModel",
        "Enum",
        "Flag",
        "IntEnum",
        "IntFlag",
        "Model",
        "NamedTuple",
        "OrderedDict",
        "Process",
        "StrEnum",
        "Thread",
        "TypedDict",
        "UserDict",
        "UserList",
        "bytes",
        "complex",
        "defaultdict",
        "dict",
        "float",
        "frozenset",
        "int",
        "list",
        "namedtuple",
        "set",
        "str",
        "tuple",
        "type",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnittestMethod:
    """A test method that unittest's loader finds."""

    name: str
    definition: Definition
    function: FunctionNode


class CollectionRules:
    """pytest's rules, applied to one file that it collects."""

    def __init__(self, collected_module: Module, patterns: CollectionPatterns, project: Project) -> None:
        self._collected_module = collected_module
        self._patterns = patterns
        self._project = project

    def is_collected_module(self) -> bool:
        """Whether pytest collects the file at all: it does not set `__test__ = False`."""
        return _constant_truth(self._project.scope(self._collected_module.tree).names.get("__test__")) is not False

    def test_function(self, name: str, definition: Definition) -> FunctionNode | None:
        """The test function behind a name; None if pytest does not collect it."""
        test_attribute = self._test_attribute(name, definition)
        if test_attribute is False or not (test_attribute or self._patterns.is_test_function(name)):
            return None
        function = underlying_function(definition, self._project)
        if function is None or self._is_fixture(function, definition.module):
            return None
        return function

    def is_unittest(self, owner: Definition) -> bool:
        """Whether the class derives from `unittest.TestCase`; of a base outside the project the name decides."""
        bases = self._project.mro(owner)
        return any(isinstance(base, External) and _is_test_case(base.name) for base in bases)

    def is_test_class(self, name: str, owner: Definition) -> bool:
        """Whether pytest collects tests from a class that does not derive from `unittest.TestCase`."""
        test_attribute = self._class_test_attribute(name, owner)
        if test_attribute is False or not (test_attribute or self._patterns.is_test_class(name)):
            return False
        return not self._has_or_inherits_constructor(owner) and not self._is_abstract(owner)

    def attributes(self, owner: Definition) -> list[tuple[str, Definition]]:
        """The attributes of a class in the order in which pytest collects them: those of bases first."""
        names_so_far: set[str] = set()
        groups = []
        for base in self._project.mro(owner):
            if isinstance(base, Definition) and base.class_ is not None:
                new_names = [name for name in self._project.scope(base.class_).names if name not in names_so_far]
                names_so_far.update(new_names)
                groups.append(new_names)
        names = [name for new_names in reversed(groups) for name in new_names if not name.startswith("__")]
        members = ((name, self._project.member(owner, name)) for name in names)
        return [
            (expanded_name, member)
            for name, member in members
            if member is not None
            for expanded_name in expanded_names(name, member, self._project)
        ]

    def unittest_methods(self, owner: Definition) -> Iterator[UnittestMethod]:
        """The test methods that unittest's loader finds for pytest, sorted by name."""
        if self._class_test_attribute("", owner) is False or self._is_abstract(owner):
            return
        attributes = dict(self.attributes(owner))
        names = sorted(name for name in attributes if name.startswith("test")) or ["runTest"]
        for name in names:
            definition = attributes.get(name)
            if definition is not None and self._test_attribute(name, definition) is not False:
                function = underlying_function(definition, self._project)
                if function is not None:
                    yield UnittestMethod(name=name, definition=definition, function=function)

    def _test_attribute(self, name: str, definition: Definition) -> bool | None:
        """The value of `__test__`, or of the decorators `istest` and `nottest`; None if there is none."""
        for scope in self._scopes_of(definition):
            for alias in (name, definition.name.rpartition(".")[2]):
                value = scope.attributes.get(alias, {}).get("__test__")
                if value is not None:
                    return _constant_truth(AssignedName(value=value))
        if definition.function is not None:
            names = decorator_names(definition.function, definition.module, self._project)
            short_names = {name.rpartition(".")[2] for name in names}
            return False if "nottest" in short_names else True if "istest" in short_names else None
        return None

    def _scopes_of(self, definition: Definition) -> list[Scope]:
        nodes: list[ast.Module | ast.ClassDef] = [self._collected_module.tree, definition.module.tree]
        if definition.owner is not None and definition.owner.class_ is not None:
            nodes.append(definition.owner.class_)
        return [self._project.scope(node) for node in dict.fromkeys(nodes)]

    def _class_test_attribute(self, name: str, owner: Definition) -> bool | None:
        for base in self._project.mro(owner):
            if isinstance(base, Definition) and base.class_ is not None:
                set_from_outside = self._test_attribute(name if base is owner else "", base)
                set_in_body = _constant_truth(self._project.scope(base.class_).names.get("__test__"))
                if set_from_outside is not None or set_in_body is not None:
                    return set_in_body if set_from_outside is None else set_from_outside
        return None

    def _is_fixture(self, function: FunctionNode, module: Module) -> bool:
        names = decorator_names(function, module, self._project)
        return any(name.rpartition(".")[2] in _FIXTURE_DECORATORS for name in names)

    def _has_or_inherits_constructor(self, owner: Definition) -> bool:
        """Whether the class has a constructor of its own or inherits one."""
        for base in self._project.mro(owner):
            if isinstance(base, External):
                short_name = base.name.rpartition(".")[2]
                if short_name in _BASES_WITH_CONSTRUCTOR or short_name.endswith(("Exception", "Error", "Warning")):
                    return True
            elif base.class_ is not None and self._has_constructor(base.class_, base.module):
                return True
        return False

    def _has_constructor(self, node: ast.ClassDef, module: Module) -> bool:
        names = self._project.scope(node).names
        if "__init__" in names or "__new__" in names:
            return True
        decorators = decorator_names(node, module, self._project)
        return not _DATA_CLASS_DECORATORS.isdisjoint(decorators)

    def _is_abstract(self, owner: Definition) -> bool:
        bases = self._project.mro(owner)
        if not any(isinstance(base, External) and base.name == "abc.ABC" for base in bases) and not any(
            _has_abstract_meta(base.class_) for base in bases if isinstance(base, Definition) and base.class_
        ):
            return False
        methods = (member for _name, member in self.attributes(owner) if member.function is not None)
        return any(self._is_abstract_method(method) for method in methods)

    def _is_abstract_method(self, definition: Definition) -> bool:
        assert definition.function is not None
        names = decorator_names(definition.function, definition.module, self._project)
        return any(name.rpartition(".")[2].startswith("abstract") for name in names)


def _is_test_case(name: str) -> bool:
    short_name = name.rpartition(".")[2]
    return "TestCase" in short_name and not short_name.endswith(_NOT_TEST_CASES)


def _has_abstract_meta(node: ast.ClassDef) -> bool:
    return any(key.arg == "metaclass" and "ABCMeta" in ast.unparse(key.value) for key in node.keywords)


def _constant_truth(binding: object) -> bool | None:
    if isinstance(binding, AssignedName) and isinstance(binding.value, ast.Constant):
        return bool(binding.value.value)
    return None
