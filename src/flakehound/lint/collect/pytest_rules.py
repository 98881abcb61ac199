"""pytest's own rules for what is a test: names, markers, bases, attributes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from flakehound.core.collection_patterns import Patterns
from flakehound.lint.collect.parameterized import expanded_names
from flakehound.lint.source.definitions import Definition, External
from flakehound.lint.source.functions import decorator_names, underlying_function
from flakehound.lint.source.modules import Module
from flakehound.lint.source.project import Project
from flakehound.lint.source.scopes import AssignedName, FunctionNode, Scope

_FIXTURE = ("fixture", "yield_fixture")
_NO_TEST_CASE = ("Mixin", "Result", "Suite", "Loader", "Runner")
# Bases outside the project that bring an __init__ or __new__ of their own, which pytest refuses.
_BASES_WITH_CONSTRUCTOR = frozenset(
    {
        *("dict", "list", "set", "frozenset", "tuple", "str", "bytes", "int", "float", "complex", "type"),
        *("NamedTuple", "namedtuple", "TypedDict", "Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"),
        *("Thread", "Process", "BaseModel", "UserDict", "UserList", "OrderedDict", "defaultdict", "Model"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnittestMethod:
    """A method that unittest's loader finds."""

    __test__ = False

    name: str
    definition: Definition
    function: FunctionNode


class CollectionRules:
    """The rules for one collected file."""

    def __init__(self, home: Module, patterns: Patterns, project: Project) -> None:
        self._home = home
        self._patterns = patterns
        self._project = project

    def is_collected_module(self) -> bool:
        """Whether the file does not opt out with `__test__ = False`."""
        return _constant_truth(self._project.scope(self._home.tree).names.get("__test__")) is not False

    def test_function(self, name: str, found: Definition) -> FunctionNode | None:
        """The function, where pytest takes it for a test."""
        wanted = self._test_attribute(name, found)
        if wanted is False or not (wanted or self._patterns.is_test_function(name)):
            return None
        function = underlying_function(found, self._project)
        if function is None or self._is_fixture(function, found.module):
            return None
        return function

    def is_unittest(self, owner: Definition) -> bool:
        """Whether the class derives from `unittest.TestCase`; outside the project the base's name decides."""
        lineage = self._project.mro(owner)
        return any(isinstance(one, External) and _is_test_case(one.name) for one in lineage)

    def is_test_class(self, name: str, owner: Definition) -> bool:
        """Whether pytest looks for tests in a class that is not unittest's."""
        wanted = self._class_test_attribute(name, owner)
        if wanted is False or not (wanted or self._patterns.is_test_class(name)):
            return False
        return not self._has_or_inherits_constructor(owner) and not self._is_abstract(owner)

    def attributes(self, owner: Definition) -> list[tuple[str, Definition]]:
        """A class's attributes in the order pytest collects them: those of bases first."""
        seen: set[str] = set()
        groups = []
        for one in self._project.mro(owner):
            if isinstance(one, Definition) and one.class_ is not None:
                own = [name for name in self._project.scope(one.class_).names if name not in seen]
                seen.update(own)
                groups.append(own)
        names = [name for own in reversed(groups) for name in own if not name.startswith("__")]
        found = ((name, self._project.member(owner, name)) for name in names)
        return [
            (made, one)
            for name, one in found
            if one is not None
            for made in expanded_names(name, one, self._project)
        ]

    def unittest_methods(self, owner: Definition) -> Iterator[UnittestMethod]:
        """The methods unittest's loader gives pytest, sorted by name."""
        if self._class_test_attribute("", owner) is False or self._is_abstract(owner):
            return
        found = dict(self.attributes(owner))
        names = sorted(name for name in found if name.startswith("test")) or ["runTest"]
        for name in names:
            one = found.get(name)
            if one is not None and self._test_attribute(name, one) is not False:
                function = underlying_function(one, self._project)
                if function is not None:
                    yield UnittestMethod(name=name, definition=one, function=function)

    def _test_attribute(self, name: str, found: Definition) -> bool | None:
        """What `__test__` says of a function; None: nothing."""
        scopes = self._scopes_of(found)
        for scope in scopes:
            for known in (name, found.name.rpartition(".")[2]):
                value = scope.attributes.get(known, {}).get("__test__")
                if value is not None:
                    return _constant_truth(AssignedName(value=value))
        if found.function is not None:
            last = {one.rpartition(".")[2] for one in decorator_names(found.function, found.module, self._project)}
            return False if "nottest" in last else True if "istest" in last else None
        return None

    def _scopes_of(self, found: Definition) -> list[Scope]:
        nodes: list[ast.Module | ast.ClassDef] = [self._home.tree, found.module.tree]
        if found.owner is not None and found.owner.class_ is not None:
            nodes.append(found.owner.class_)
        return [self._project.scope(node) for node in dict.fromkeys(nodes)]

    def _class_test_attribute(self, name: str, owner: Definition) -> bool | None:
        for one in self._project.mro(owner):
            if isinstance(one, Definition) and one.class_ is not None:
                said = self._test_attribute(name if one is owner else "", one)
                own = _constant_truth(self._project.scope(one.class_).names.get("__test__"))
                if said is not None or own is not None:
                    return own if said is None else said
        return None

    def _is_fixture(self, function: FunctionNode, module: Module) -> bool:
        names = decorator_names(function, module, self._project)
        return any(name.rpartition(".")[2] in _FIXTURE for name in names)

    def _has_or_inherits_constructor(self, owner: Definition) -> bool:
        """Whether the class has a constructor of its own or inherits one."""
        for one in self._project.mro(owner):
            if isinstance(one, External):
                last = one.name.rpartition(".")[2]
                if last in _BASES_WITH_CONSTRUCTOR or last.endswith(("Exception", "Error", "Warning")):
                    return True
            elif one.class_ is not None and self._has_constructor(one.class_, one.module):
                return True
        return False

    def _has_constructor(self, node: ast.ClassDef, module: Module) -> bool:
        names = self._project.scope(node).names
        if "__init__" in names or "__new__" in names:
            return True
        decorators = decorator_names(node, module, self._project)
        return any(
            name in ("dataclasses.dataclass", "attr.s", "attr.attrs", "attrs.define") for name in decorators
        )

    def _is_abstract(self, owner: Definition) -> bool:
        lineage = self._project.mro(owner)
        if not any(isinstance(one, External) and one.name == "abc.ABC" for one in lineage) and not any(
            _has_abstract_meta(one.class_) for one in lineage if isinstance(one, Definition) and one.class_
        ):
            return False
        methods = (one for _name, one in self.attributes(owner) if one.function is not None)
        return any(self._is_abstract_method(one) for one in methods)

    def _is_abstract_method(self, found: Definition) -> bool:
        assert found.function is not None
        names = decorator_names(found.function, found.module, self._project)
        return any(name.rpartition(".")[2].startswith("abstract") for name in names)


def _is_test_case(name: str) -> bool:
    last = name.rpartition(".")[2]
    return "TestCase" in last and not last.endswith(_NO_TEST_CASE)


def _has_abstract_meta(node: ast.ClassDef) -> bool:
    return any(key.arg == "metaclass" and "ABCMeta" in ast.unparse(key.value) for key in node.keywords)


def _constant_truth(binding: object) -> bool | None:
    if isinstance(binding, AssignedName) and isinstance(binding.value, ast.Constant):
        return bool(binding.value.value)
    return None
