"""Call traces of tests: the request that is sent, and the lines that come back."""

from __future__ import annotations

import json
from typing import Any

from flakehound.core.calls import PHASES, CallSite, CallTrace, Function, TraceOptions


def trace_request(options: TraceOptions | None) -> dict[str, Any] | None:
    """The request as the process that runs the tests reads it; None: nothing is traced."""
    if options is None:
        return None
    return {
        "mode": options.mode.value,
        "counts": options.counts,
        "wanted": [[pattern.module, pattern.owner, pattern.name] for pattern in options.patterns],
        "neutral": list(options.neutral),
    }


class CallLines:
    """Parses the lines of one event log in their order.

    A copy of a process continues the numbering, so two copies may give one number to different functions; the last
    definition counts.
    """

    def __init__(self) -> None:
        self._functions: dict[int, Function] = {}

    def define(self, content: str) -> None:
        """Parse a line `d`, which gives numbers to functions."""
        for number, file, owner, name, kind in json.loads(content):
            self._functions[number] = Function(file=_text(file), owner=_text(owner), name=_text(name), kind=kind)

    def trace(self, text: str) -> CallTrace:
        """Parse a line `c` without its place: the calls of one test."""
        content = json.loads(text)
        calls = content["calls"]
        return CallTrace(
            calls={phase: self._counts(*calls[phase]) for phase in PHASES if phase in calls},
            call_sites=tuple(
                CallSite(
                    phase=phase, function=self._functions[number], path=_text(path), line=line, caller=_text(name)
                )
                for phase, number, path, line, name in content["hits"]
            ),
            children=tuple((phase, _text(command)) for phase, command in content["children"]),
            notes=tuple(map(_text, content["notes"])),
        )

    def _counts(self, numbers: list[int], counts: list[int] | None = None) -> dict[Function, int]:
        return {self._functions[n]: count for n, count in zip(numbers, counts or [0] * len(numbers), strict=True)}


def _text(text: str) -> str:
    # Half a surrogate pair, valid in a Python string, can be neither stored nor printed.
    return text.encode("utf-8", "backslashreplace").decode()
