"""What traced tests called: the wish as it is sent, the lines that come back."""

from __future__ import annotations

import json
from typing import Any

from flakehound.core.calls import PHASES, CallTrace, Function, Reached, TraceWish


def as_request(wish: TraceWish | None) -> dict[str, Any] | None:
    """The wish as the process that runs the tests reads it."""
    if wish is None:
        return None
    return {
        "mode": wish.mode.value,
        "counts": wish.counts,
        "wanted": [[pattern.module, pattern.owner, pattern.name] for pattern in wish.wanted],
        "neutral": list(wish.neutral),
    }


class CallLines:
    """Reads the lines of one file in their order.

    A copy of a process goes on with its numbers, so two branches may give one number to different functions; the
    newest line holds.
    """

    def __init__(self) -> None:
        self._functions: dict[int, Function] = {}

    def define(self, told: str) -> None:
        """A line `d`."""
        for number, file, owner, name, kind in json.loads(told):
            self._functions[number] = Function(file=_text(file), owner=_text(owner), name=_text(name), kind=kind)

    def trace(self, told: str) -> CallTrace:
        """A line `c`, without its place."""
        content = json.loads(told)
        calls = content["calls"]
        return CallTrace(
            calls={phase: self._book(*calls[phase]) for phase in PHASES if phase in calls},
            reached=tuple(
                Reached(
                    phase=phase, function=self._functions[number], path=_text(path), line=line, within=_text(name)
                )
                for phase, number, path, line, name in content["hits"]
            ),
            children=tuple((phase, _text(command)) for phase, command in content["children"]),
            notes=tuple(map(_text, content["notes"])),
        )

    def _book(self, numbers: list[int], counts: list[int] | None = None) -> dict[Function, int]:
        return {self._functions[n]: count for n, count in zip(numbers, counts or [0] * len(numbers), strict=True)}


def _text(text: str) -> str:
    # Half a surrogate pair, fine in a Python string, can be neither stored nor printed.
    return text.encode("utf-8", "backslashreplace").decode()
