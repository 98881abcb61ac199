"""The recorded dependencies of one run of a test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from posixpath import normpath
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedDependencies:
    """The content of `flakehound/dependencies/1`; paths are absolute, with symbolic links resolved."""

    lines: Mapping[str, frozenset[int]] = field(default_factory=dict)  # executed, by file
    imported: Mapping[str, str | None] = field(default_factory=dict)  # module -> file; None: it has no file
    attempted: frozenset[str] = frozenset()  # names of modules whose import was tried
    opened: frozenset[str] = frozenset()  # files
    listed: frozenset[str] = frozenset()  # folders
    settings: frozenset[str] = frozenset()  # the part of `opened` that pytest read as its configuration
    doubts: tuple[str, ...] = ()  # why the rest may be incomplete

    @classmethod
    def from_json(cls, written: object) -> RecordedDependencies:
        """Read what the recorder wrote; a part that is missing or malformed is a doubt, never an empty part."""
        parts = {name: _part(written, name) for name in _READERS}
        parts["settings"] = _part(written, "settings") or frozenset()
        missing = [name for name, part in parts.items() if part is None]
        known = {name: part for name, part in parts.items() if part is not None}
        doubts = (f"the record of what the test depends on lacks {name!r}" for name in missing)
        return cls(**{**known, "doubts": (*known.get("doubts", ()), *doubts)})


def _part(written: Any, name: str) -> Any:
    try:
        return _READERS[name](written[name])
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _lines(written: Any) -> Mapping[str, frozenset[int]]:
    return {normpath(path): frozenset(int(line) for line in lines) for path, lines in written.items()}


def _imported(written: Any) -> Mapping[str, str | None]:
    return {str(name): normpath(path) if path else None for name, path in written.items()}


def _texts(written: Any) -> frozenset[str]:
    return frozenset(_sequence(written))


def _paths(written: Any) -> frozenset[str]:
    return frozenset(normpath(path) for path in _sequence(written))


def _doubts(written: Any) -> tuple[str, ...]:
    return tuple(_sequence(written))


def _sequence(written: Any) -> list[str]:
    if not isinstance(written, list) or not all(isinstance(text, str) for text in written):
        raise TypeError(written)
    return written


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "doubts": _doubts,
    "lines": _lines,
    "imported": _imported,
    "attempted": _texts,
    "opened": _paths,
    "listed": _paths,
    "settings": _paths,
}
