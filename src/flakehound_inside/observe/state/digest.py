"""A hash of the content of a value, computed without running code of the value.

It is limited: of deep or long values only the upper levels, the first elements and the length count.
"""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Iterable

MAX_DEPTH = 5
MAX_ELEMENTS = 100  # of one container
MAX_VALUES = 1500  # below one name

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_BY_IDENTITY = (type, types.ModuleType, types.BuiltinFunctionType, types.MethodType, types.CodeType)
LRU_CACHE = type(functools.lru_cache(maxsize=1)(int))
_module_namespace: Any = vars(types.ModuleType)["__dict__"]


class ValueDigester:
    """Counts the values that it visits, so that one name cannot take all the time."""

    def __init__(self) -> None:
        self._remaining = MAX_VALUES
        self._visiting: set[int] = set()

    def digest(self, value: Any) -> int:
        """The hash of the value of one name."""
        self._remaining = MAX_VALUES
        self._visiting.clear()
        return hash(self._summary(value, MAX_DEPTH))

    def _summary(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return (kind.__name__, value)
        self._remaining -= 1
        if depth == 0 or self._remaining < 0 or id(value) in self._visiting or issubclass(kind, _BY_IDENTITY):
            return id(value)
        self._visiting.add(id(value))
        try:
            return (kind.__name__, self._content(value, kind, depth - 1))
        finally:
            self._visiting.discard(id(value))

    def _content(self, value: Any, kind: type, depth: int) -> Any:
        if issubclass(kind, dict):
            keys = self._summaries(dict.keys(value), depth)
            return (len(keys), keys, self._summaries(dict.values(value), depth), self._attributes(value, depth))
        if issubclass(kind, (list, tuple)):
            base: Any = list if issubclass(kind, list) else tuple
            return (
                base.__len__(value),
                self._summaries(base.__iter__(value), depth),
                self._attributes(value, depth),
            )
        if issubclass(kind, (set, frozenset)):
            base = set if issubclass(kind, set) else frozenset
            return (
                base.__len__(value),
                sum(hash(self._summary(element, depth)) for element in base.__iter__(value)),
            )
        if kind is types.FunctionType:
            # A call may change a mutable default, which the function keeps.
            return (
                id(value),
                self._summary(value.__defaults__, depth),
                self._summary(value.__kwdefaults__, depth),
            )
        if kind is LRU_CACHE:
            return (id(value), value.cache_info().currsize)
        if issubclass(kind, (staticmethod, classmethod)):
            return self._summary(value.__func__, depth)
        return (id(value), self._attributes(value, depth))

    def _summaries(self, values: Iterable[Any], depth: int) -> tuple[Any, ...]:
        summaries = []
        for number, element in enumerate(values):
            summaries.append(self._summary(element, depth) if number < MAX_ELEMENTS else 0)
        return tuple(summaries)

    def _attributes(self, value: Any, depth: int) -> Any:
        attributes = attributes_of(value)
        if attributes is None:
            return None
        return self._summaries([*attributes.keys(), *attributes.values()], depth)


def attributes_of(value: Any) -> dict[str, Any] | None:
    """The `__dict__` of an object, read without running code of its class; None: it has none."""
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except Exception:  # no such attribute, or a class that raises even here
        return None
    return attributes if type(attributes) is dict else None


def globals_of(module: types.ModuleType) -> dict[str, Any]:
    """The variables of a module; a lazy module is not loaded."""
    variables: dict[str, Any] = _module_namespace.__get__(module)
    return variables
