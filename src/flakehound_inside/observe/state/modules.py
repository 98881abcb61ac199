"""State in modules that outlives a test: imported modules, the project's variables, patched library attributes."""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING

from flakehound_inside.observe.state.digest import LRU_CACHE, ValueDigester, attributes_of, globals_of

if TYPE_CHECKING:
    from typing import Any, Iterator

    from flakehound_inside.observe.project_paths import ProjectPaths

    State = Iterator[tuple[tuple[str, str], int]]  # kind and name, with a digest

# Written by Python, unittest and pytest themselves.
_IGNORED_NAMES = frozenset(
    (
        *("__builtins__", "__cached__", "__doc__", "__file__", "__loader__", "__spec__", "__warningregistry__"),
        *("__annotations__", "__dict__", "__weakref__", "__module__", "__qualname__", "__abstractmethods__"),
        *("_abc_impl", "@py_builtins", "@pytest_ar", "pytestmark", "__pytest_wrapped__", "tearDown_exceptions"),
        *("_classSetupFailed", "_class_cleanups", "__annotate_func__", "__annotations_cache__"),
    )
)
_PATCHABLE = (type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType)
_WITH_OWN_CONTENT = (dict, list, types.FunctionType, LRU_CACHE)
_IGNORED_MODULES = ("flakehound_inside", "_pytest", "pytest", "pluggy", "coverage", "__main__", "py.", "iniconfig")


class ModuleState:
    """The state of all modules; libraries are compared with their content at `remember_libraries`."""

    def __init__(self, paths: ProjectPaths) -> None:
        self._paths = paths
        self._is_project: dict[str, bool] = {}
        self._digester = ValueDigester()
        self._libraries: dict[str, dict[str, Any]] = {}  # attributes that may be patched, by module
        self._classes: dict[type, dict[str, Any]] = {}  # classes of libraries that the project can reach
        self._names: dict[str, frozenset[str]] = {}  # names of variables, by module

    def remember_libraries(self) -> None:
        """Take the current content of libraries as unpatched."""
        for name, module in list(sys.modules.items()):
            if not isinstance(module, types.ModuleType):
                continue
            variables = dict(globals_of(module))
            self._names[name] = frozenset(variables)
            if self._is_project_module(name, module):
                self._remember_classes(variables)
            else:
                self._libraries[name] = {
                    key: value for key, value in variables.items() if isinstance(value, _PATCHABLE)
                }

    def _remember_classes(self, variables: dict[str, Any]) -> None:
        """Remember library classes in a project module, and in modules that it has imported."""
        for value in list(variables.values()):
            if isinstance(value, types.ModuleType):
                for inner in list(globals_of(value).values()):
                    self._remember_class(inner)
            else:
                self._remember_class(value)

    def _remember_class(self, value: Any) -> None:
        if not isinstance(value, type) or value in self._classes:
            return
        module = sys.modules.get(str(value.__module__))
        if (
            module is not None
            and not value.__module__.startswith(_IGNORED_MODULES)
            and not self._is_project_module(str(value.__module__), module)
        ):
            self._classes[value] = dict(vars(value))

    def is_new_submodule(self, name: str) -> bool:
        """Whether a module has become an attribute of its package since libraries were remembered."""
        package, _dot, submodule = name.rpartition(".")
        return package in self._names and submodule not in self._names[package]

    def current_state(self) -> State:
        """Every module, every variable of the project's modules, and every patched attribute of libraries."""
        for name, module in list(sys.modules.items()):
            yield ("imported module", name), id(module)
            if isinstance(module, types.ModuleType):
                if self._is_project_module(name, module):
                    yield from self._variables_of(name, module)
                elif name in self._libraries:
                    yield from self._patched_in(name, module)
        yield from self._patched_classes()

    def _patched_classes(self) -> State:
        for owner, remembered in self._classes.items():
            variables = vars(owner)
            if len(variables) != len(remembered) or any(
                variables.get(key) is not value for key, value in remembered.items()
            ):
                for key in {*variables, *remembered} - _IGNORED_NAMES:
                    if variables.get(key) is not remembered.get(key):
                        path = "%s.%s.%s" % (owner.__module__, owner.__qualname__, key)
                        yield ("patched class attribute", path), id(variables.get(key))

    def _is_project_module(self, name: str, module: types.ModuleType) -> bool:
        if name not in self._is_project:
            file = globals_of(module).get("__file__")
            has_file = isinstance(file, str) and not name.startswith(_IGNORED_MODULES)
            self._is_project[name] = has_file and self._paths.is_project(self._paths.resolve(str(file)))
        return self._is_project[name]

    def _patched_in(self, name: str, module: types.ModuleType) -> State:
        if name.startswith(_IGNORED_MODULES):
            return
        variables = globals_of(module)
        for key, value in self._libraries[name].items():
            if variables.get(key) is not value:
                yield ("patched attribute", "%s.%s" % (name, key)), id(variables.get(key))

    def _variables_of(self, name: str, module: types.ModuleType) -> State:
        for key, value in list(globals_of(module).items()):
            if key in _IGNORED_NAMES or isinstance(value, types.ModuleType):
                continue
            path = "%s.%s" % (name, key)
            yield ("module global", path), self._digest_of_global(value)
            if isinstance(value, type):
                if getattr(value, "__module__", None) == name:
                    yield from self._attributes(path, dict(vars(value)), "class attribute")
            elif not isinstance(value, types.FunctionType):
                yield from self._attributes(path, attributes_of(value) or {}, "attribute")

    def _digest_of_global(self, value: Any) -> int:
        # Attributes are reported under their own names.
        has_attributes = attributes_of(value) and not isinstance(value, _WITH_OWN_CONTENT)
        return id(value) if isinstance(value, type) or has_attributes else self._digester.digest(value)

    def _attributes(self, path: str, variables: dict[str, Any], kind: str) -> State:
        for key, value in list(variables.items()):
            if key not in _IGNORED_NAMES and isinstance(key, str):
                yield (kind, "%s.%s" % (path, key)), self._digester.digest(value)
