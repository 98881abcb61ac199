"""What of the modules outlives a test: which there are, what the project's hold, what was patched in others."""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING

from flakehound_inside.observe.state.digest import CACHED, Digester, attributes_of, globals_of

if TYPE_CHECKING:
    from typing import Any, Iterator

    from flakehound_inside.observe.dependencies import Places

    Things = Iterator[tuple[tuple[str, str], int]]

# Written by Python, unittest and pytest themselves.
_PASSED_OVER = frozenset(
    (
        *("__builtins__", "__cached__", "__doc__", "__file__", "__loader__", "__spec__", "__warningregistry__"),
        *("__annotations__", "__dict__", "__weakref__", "__module__", "__qualname__", "__abstractmethods__"),
        *("_abc_impl", "@py_builtins", "@pytest_ar", "pytestmark", "__pytest_wrapped__", "tearDown_exceptions"),
        *("_classSetupFailed", "_class_cleanups", "__annotate_func__", "__annotations_cache__"),
    )
)
_PATCHABLE = (type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType)
_WITH_CONTENT = (dict, list, types.FunctionType, CACHED)
_NOBODYS = ("flakehound_inside", "_pytest", "pytest", "pluggy", "coverage", "__main__", "py.", "iniconfig")


class Modules:
    """Knows which modules are the project's, and what the others held when it was made."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._is_project: dict[str, bool] = {}
        self._digester = Digester()
        self._others: dict[str, dict[str, Any]] = {}  # module -> what can be patched in it
        self._classes: dict[type, dict[str, Any]] = {}  # of libraries, which the project has at hand
        self._names: dict[str, frozenset[str]] = {}  # module -> its variables

    def remember_others(self) -> None:
        """Take what libraries hold now for what they ought to."""
        for name, module in list(sys.modules.items()):
            if not isinstance(module, types.ModuleType):
                continue
            held = dict(globals_of(module))
            self._names[name] = frozenset(held)
            if self._is_ours(name, module):
                self._remember_classes(held)
            else:
                self._others[name] = {key: value for key, value in held.items() if isinstance(value, _PATCHABLE)}

    def _remember_classes(self, held: dict[str, Any]) -> None:
        """Classes that project code has imported, or that lie in a module which it has."""
        for value in list(held.values()):
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
            and not value.__module__.startswith(_NOBODYS)
            and not self._is_ours(str(value.__module__), module)
        ):
            self._classes[value] = dict(vars(value))

    def is_new_part(self, name: str) -> bool:
        """Whether a module that was imported meanwhile is by now an attribute of its package, and was none."""
        package, _dot, last = name.rpartition(".")
        return package in self._names and last not in self._names[package]

    def things(self) -> Things:
        """Every module, and whatever the project's hold."""
        for name, module in list(sys.modules.items()):
            yield ("imported module", name), id(module)
            if isinstance(module, types.ModuleType):
                if self._is_ours(name, module):
                    for thing in self._held_by(name, module):
                        yield thing
                elif name in self._others:
                    for thing in self._patched_in(name, module):
                        yield thing

        for thing in self._patched_classes():
            yield thing

    def _patched_classes(self) -> Things:
        for owner, known in self._classes.items():
            held = vars(owner)
            if len(held) != len(known) or any(held.get(key) is not value for key, value in known.items()):
                for key in {*held, *known} - _PASSED_OVER:
                    if held.get(key) is not known.get(key):
                        path = "%s.%s.%s" % (owner.__module__, owner.__qualname__, key)
                        yield ("patched class attribute", path), id(held.get(key))

    def _is_ours(self, name: str, module: types.ModuleType) -> bool:
        if name not in self._is_project:
            file = globals_of(module).get("__file__")
            known = isinstance(file, str) and not name.startswith(_NOBODYS)
            self._is_project[name] = known and self._places.is_project(self._places.real(str(file)))
        return self._is_project[name]

    def _patched_in(self, name: str, module: types.ModuleType) -> Things:
        if name.startswith(_NOBODYS):
            return
        held = globals_of(module)
        for key, value in self._others[name].items():
            if held.get(key) is not value:
                yield ("patched attribute", "%s.%s" % (name, key)), id(held.get(key))

    def _held_by(self, name: str, module: types.ModuleType) -> Things:
        for key, value in list(globals_of(module).items()):
            if key in _PASSED_OVER or isinstance(value, types.ModuleType):
                continue
            path = "%s.%s" % (name, key)
            yield ("module global", path), self._digest_of_name(value)
            if isinstance(value, type):
                if getattr(value, "__module__", None) == name:
                    for thing in self._inside(path, dict(vars(value)), "class attribute"):
                        yield thing
            elif not isinstance(value, types.FunctionType):
                for thing in self._inside(path, attributes_of(value) or {}, "attribute"):
                    yield thing

    def _digest_of_name(self, value: Any) -> int:
        # What lies inside is told by its own names.
        holds_names = attributes_of(value) and not isinstance(value, _WITH_CONTENT)
        return id(value) if isinstance(value, type) or holds_names else self._digester.of(value)

    def _inside(self, path: str, held: dict[str, Any], kind: str) -> Things:
        for key, value in list(held.items()):
            if key not in _PASSED_OVER and isinstance(key, str):
                yield (kind, "%s.%s" % (path, key)), self._digester.of(value)
