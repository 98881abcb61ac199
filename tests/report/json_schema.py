"""As much of a JSON Schema validator as our schema needs; an unknown keyword is an error, never ignored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "integer": (int,),
    "number": (int, float),
}
_WORDS_ONLY = {"$schema", "$id", "$defs", "title", "description"}


def complaints(value: Any, schema: dict[str, Any]) -> list[str]:
    """Where `value` departs from the schema."""
    return list(_check(value, schema, schema, "report"))


def _check(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str) -> Iterator[str]:
    for keyword, told in schema.items():
        if keyword in _WORDS_ONLY:
            continue
        if keyword in _NESTED:
            yield from _NESTED[keyword](value, schema, root, at)
        elif not _SIMPLE[keyword](value, told):
            yield f"{at}: {value!r} breaks {keyword} {told!r}"


def _is_a(value: Any, names: str | list[str]) -> bool:
    wanted = [names] if isinstance(names, str) else names
    return any(
        isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool)) for name in wanted
    )


_SIMPLE = {
    "type": _is_a,
    "const": lambda value, told: value == told,
    "enum": lambda value, told: value in told,
    "minimum": lambda value, told: not isinstance(value, (int, float)) or value >= told,
    "maximum": lambda value, told: not isinstance(value, (int, float)) or value <= told,
    "required": lambda value, told: not isinstance(value, dict) or set(told) <= set(value),
}


def _ref(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str) -> Iterator[str]:
    place = root
    for step in schema["$ref"].removeprefix("#/").split("/"):
        place = place[step]
    yield from _check(value, place, root, at)


def _properties(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str) -> Iterator[str]:
    for name, inner in schema["properties"].items():
        if isinstance(value, dict) and name in value:
            yield from _check(value[name], inner, root, f"{at}.{name}")


def _additional(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name in set(value) - set(schema.get("properties", ())):
            yield from _check(value[name], schema["additionalProperties"], root, f"{at}.{name}")


def _items(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str) -> Iterator[str]:
    if isinstance(value, list):
        for place, item in enumerate(value):
            yield from _check(item, schema["items"], root, f"{at}[{place}]")


def _any_of(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str) -> Iterator[str]:
    if all(list(_check(value, option, root, at)) for option in schema["anyOf"]):
        yield f"{at}: {value!r} fits none of the options"


_NESTED = {
    "$ref": _ref,
    "properties": _properties,
    "additionalProperties": _additional,
    "items": _items,
    "anyOf": _any_of,
}
