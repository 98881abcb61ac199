"""Names for objects by the way that leads to them from a module.

They are equal in all processes that import the same code.
"""

from __future__ import annotations

import gc
import os
import sys
from itertools import islice
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Iterable, Mapping

    # The container that a step starts from, and the name of the step: an attribute, a key or a place.
    Way = tuple[Any, Any]

_MAX_STEPS = 6  # from a module of the project; an attribute of an instance can be two steps away from it
_MAX_LIBRARY_STEPS = (
    2  # a module's attributes, and what these contain; else most of the time is spent in libraries
)
_MAX_OBJECTS = 100000  # looked at on the way from modules of the project
_MAX_ITEMS = 1000  # of one container
_LIBRARY_FOLDERS = (
    os.sep + "site-packages" + os.sep,
    os.sep + "dist-packages" + os.sep,
    os.path.dirname(os.__file__),
)
_class_attributes = type.__dict__["__dict__"].__get__  # no metaclass can replace it


def names_of(groups: Mapping[int, int]) -> dict[int, str]:
    """A name for each group of objects, given by their ids, of which one can be reached from a loaded module.

    Runs no code of the project. Looks at near objects first, so the name of a module's attribute wins.
    """
    search = _Search(groups)
    modules = module_attributes()
    search.seen.update(id(attributes) for _name, attributes in modules)
    is_library = [_is_library(attributes) for _name, attributes in modules]
    for wanted, steps in ((True, _MAX_LIBRARY_STEPS), (False, _MAX_STEPS)):
        search.walk([module for module, library in zip(modules, is_library) if library is wanted], steps)  # noqa: B905
    return search.names


class _Search:
    """The names that were found so far, and the objects whose content was looked at."""

    def __init__(self, groups: Mapping[int, int]) -> None:
        self._groups = groups
        self._missing = set(groups.values())
        self.names: dict[int, str] = {}
        self.seen: set[int] = set()

    def walk(self, modules: Iterable[tuple[str, dict[str, Any]]], steps: int) -> None:
        """Look at everything that is at most this many steps away from the modules, nearest first."""
        near: list[tuple[Way, Any]] = [((None, name), attributes) for name, attributes in modules]
        max_seen = len(self.seen) + _MAX_OBJECTS
        for step in range(1, steps + 1):
            far: list[tuple[Way, Any]] = []
            for way, container in near:
                self._look_into(way, container, None if step == steps else far)
                if not self._missing or (steps > _MAX_LIBRARY_STEPS and len(self.seen) > max_seen):
                    return
            near = far

    def _look_into(self, way: Way, container: Any, far: list[tuple[Way, Any]] | None) -> None:
        seen, groups = self.seen, self._groups
        for step, value in _content(container):
            number = id(value)
            if number in seen:
                continue
            if number in groups and groups[number] in self._missing:
                self._missing.discard(groups[number])
                self.names[groups[number]] = _name_of((way, step))
            if far is not None and gc.is_tracked(value):  # else it contains no other object
                seen.add(number)
                far.append(((way, step), value))


def module_attributes() -> list[tuple[str, dict[str, Any]]]:
    """The attributes of each module, sorted by the module's name, because imports may be in another order."""
    return [
        # Not `vars`: asking a lazy module for anything would import it.
        (name, object.__getattribute__(module, "__dict__"))
        for name, module in sorted(sys.modules.items())
        if issubclass(type(module), ModuleType) and not name.startswith("flakehound_inside")
    ]


def _is_library(attributes: dict[str, Any]) -> bool:
    file = attributes.get("__file__")
    return type(file) is not str or any(folder in file for folder in _LIBRARY_FOLDERS)


def _content(container: Any) -> Iterable[tuple[Any, Any]]:
    """The objects that a container, class, function or instance refers to, each with its key or place."""
    kind = type(container)
    if issubclass(kind, type):
        return list(_class_attributes(container).items())
    if issubclass(kind, dict):
        return [
            # The text of another key may contain an address.
            (key if type(key) in (str, int) else "key%d" % place, value)
            for place, (key, value) in enumerate(islice(dict.items(container), _MAX_ITEMS))
        ]
    if issubclass(kind, ModuleType):
        return ()
    return enumerate(gc.get_referents(container)[:_MAX_ITEMS])


def _name_of(way: Way) -> str:
    steps: list[str] = []
    while way is not None:
        way, step = way
        steps.append(str(step))
    module, *rest = reversed(steps)
    return module + ":" + ".".join(rest)
