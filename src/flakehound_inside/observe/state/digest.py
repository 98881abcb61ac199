"""A short number for what a value holds: equal as long as it holds the same, without running any of its code.

Bounded: deep or long values are told apart by their upper part and their length.
"""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Iterable

DEEPEST = 5
LONGEST = 100  # elements of one container that are looked at
MOST = 1500  # values below one name

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_BY_IDENTITY = (type, types.ModuleType, types.BuiltinFunctionType, types.MethodType, types.CodeType)
CACHED = type(functools.lru_cache(maxsize=1)(int))
_namespace: Any = vars(types.ModuleType)["__dict__"]


class Digester:
    """Counts what it looks at, so that one name cannot take all the time."""

    def __init__(self) -> None:
        self._left = MOST
        self._inside: set[int] = set()

    def of(self, value: Any) -> int:
        """The digest of what one name is bound to."""
        self._left = MOST
        self._inside.clear()
        return hash(self._told(value, DEEPEST))

    def _told(self, value: Any, depth: int) -> Any:
        sort = type(value)
        if sort in _PLAIN:
            return (sort.__name__, value)
        self._left -= 1
        if depth == 0 or self._left < 0 or id(value) in self._inside or issubclass(sort, _BY_IDENTITY):
            return id(value)
        self._inside.add(id(value))
        try:
            return (sort.__name__, self._content(value, sort, depth - 1))
        finally:
            self._inside.discard(id(value))

    def _content(self, value: Any, sort: type, depth: int) -> Any:
        if issubclass(sort, dict):
            keys = self._several(dict.keys(value), depth)
            return (len(keys), keys, self._several(dict.values(value), depth), self._attributes(value, depth))
        if issubclass(sort, (list, tuple)):
            base: Any = list if issubclass(sort, list) else tuple
            return (
                base.__len__(value),
                self._several(base.__iter__(value), depth),
                self._attributes(value, depth),
            )
        if issubclass(sort, (set, frozenset)):
            base = set if issubclass(sort, set) else frozenset
            return (base.__len__(value), sum(hash(self._told(one, depth)) for one in base.__iter__(value)))
        if sort is types.FunctionType:
            # A default that a call changes lives on in the function.
            return (id(value), self._told(value.__defaults__, depth), self._told(value.__kwdefaults__, depth))
        if sort is CACHED:
            return (id(value), value.cache_info().currsize)
        if issubclass(sort, (staticmethod, classmethod)):
            return self._told(value.__func__, depth)
        return (id(value), self._attributes(value, depth))

    def _several(self, values: Iterable[Any], depth: int) -> tuple[Any, ...]:
        found = []
        for number, one in enumerate(values):
            # How many there are is told apart; a container that grows while we look is none of ours.
            found.append(self._told(one, depth) if number < LONGEST else 0)
        return tuple(found)

    def _attributes(self, value: Any, depth: int) -> Any:
        found = attributes_of(value)
        return None if found is None else self._several([*found.keys(), *found.values()], depth)


def attributes_of(value: Any) -> dict[str, Any] | None:
    """What an object keeps in its own dictionary, asked past whatever its class may do; None: it has none."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except Exception:  # no such attribute, or a class that forbids even that
        return None
    return found if type(found) is dict else None


def globals_of(module: types.ModuleType) -> dict[str, Any]:
    """A module's variables; a lazy module stays unloaded."""
    found: dict[str, Any] = _namespace.__get__(module)
    return found
