"""A user's own characteristic functions: `[tool.flakehound.calls]` in `pyproject.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flakehound.calls.characteristic_functions import CharacteristicFunctions, CharacteristicPattern
from flakehound.calls.name_patterns import pattern_from
from flakehound.core.calls import FunctionPattern
from flakehound.core.verdicts import Cause

SETTING_NAMES = ("functions", "neutral")


class InvalidCallSettings(Exception):
    """The table has an unknown key or a value of the wrong type."""


def with_settings(known: CharacteristicFunctions, table: Mapping[str, Any]) -> CharacteristicFunctions:
    """Add the user's settings to a set: `functions` by cause, and `neutral` modules."""
    unknown = sorted(set(table) - set(SETTING_NAMES))
    if unknown:
        raise InvalidCallSettings(f"{unknown[0]!r} is not a setting; known: {', '.join(SETTING_NAMES)}")
    functions, neutral = table.get("functions", {}), table.get("neutral", [])
    if not isinstance(functions, Mapping):
        raise InvalidCallSettings("'functions' must be a table of causes")
    added = [entry for cause, texts in functions.items() for entry in _entries(cause, texts)]
    return known.with_additions(added, _texts("neutral", neutral))


def _entries(cause_name: str, texts: object) -> list[CharacteristicPattern]:
    causes = {cause.value: cause for cause in Cause}
    if cause_name not in causes:
        raise InvalidCallSettings(f"{cause_name!r} is not a cause; known: {', '.join(causes)}")
    cause = causes[cause_name]
    return [CharacteristicPattern(pattern=_pattern(text), cause=cause) for text in _texts(cause_name, texts)]


def _pattern(text: str) -> FunctionPattern:
    try:
        return pattern_from(text)
    except ValueError as error:
        raise InvalidCallSettings(f"{error}; write module:Class.function") from error


def _texts(name: str, texts: object) -> list[str]:
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InvalidCallSettings(f"{name!r} must be a list of strings")
    return texts
