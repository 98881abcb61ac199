"""Parse the event log of a process and its forked copies; flakehound_inside.events describes the format."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flakehound.core.calls import CallTrace
from flakehound.core.outcomes import Outcome
from flakehound.core.records import Failure
from flakehound.core.state_changes import StateChange, StateTrace
from flakehound.engine.processes.call_lines import CallLines
from flakehound.engine.processes.samples import Samples


@dataclass(slots=True)
class ProcessEvents:
    """The events of one process; keys of the dictionaries are places of tests in the order."""

    started_places: list[int] = field(default_factory=list)
    results: dict[int, tuple[Outcome, float]] = field(default_factory=dict)
    failures: dict[int, Failure] = field(default_factory=dict)
    calls: dict[int, CallTrace] = field(default_factory=dict)
    measured_values: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    traces: dict[int, StateTrace] = field(default_factory=dict)
    samples: Samples = field(default_factory=Samples)
    stop_reason: Mapping[str, str] | None = None  # why the session ended early: exception, message, text
    end: Mapping[str, Any] | None = None  # how the process ended

    @property
    def unfinished_place(self) -> int | None:
        """The place of the test that started last, if it did not end."""
        last_started = self.started_places[-1] if self.started_places else None
        return None if last_started in self.results else last_started

    def between(self, begin: int, end: int) -> ProcessEvents:
        """Only the events of the tests at places from `begin` to before `end`."""
        return ProcessEvents(
            started_places=[place for place in self.started_places if begin <= place < end],
            results={place: result for place, result in self.results.items() if begin <= place < end},
            failures={place: failure for place, failure in self.failures.items() if begin <= place < end},
            calls={place: trace for place, trace in self.calls.items() if begin <= place < end},
            traces={place: traces for place, traces in self.traces.items() if begin <= place < end},
        )

    def followed_by(self, copy: ProcessEvents, offset: int) -> ProcessEvents:
        """These events and those of a copy of the process, whose places count from `offset`."""
        return ProcessEvents(
            started_places=self.started_places + [offset + place for place in copy.started_places],
            results={**self.results, **{offset + place: result for place, result in copy.results.items()}},
            failures={**self.failures, **{offset + place: failure for place, failure in copy.failures.items()}},
            calls={**self.calls, **{offset + place: trace for place, trace in copy.calls.items()}},
            traces={**self.traces, **{offset + place: traces for place, traces in copy.traces.items()}},
            stop_reason=copy.stop_reason,
            end=copy.end,
        )

    def add(self, letter: str, rest: str) -> None:
        """Add one line of this process; unknown letters are ignored."""
        place, _space, content = rest.partition(" ")
        match letter:
            case "s":
                place, clock = rest.split()
                self.started_places.append(int(place))
                self.samples.begin(int(place), float(clock))
            case "e":
                place, outcome, seconds = rest.split()
                self.results[int(place)] = (Outcome(outcome), float(seconds))
            case "m":
                self.measured_values[int(place)] = json.loads(content)
            case "l":
                self.traces[int(place)] = _traces(json.loads(content))
            case "y":
                clock, threads, children = rest.split()
                self.samples.add(float(clock), int(threads), int(children))
            case "f":
                # A later line of a test has the text of its earlier failures as well.
                self.failures[int(place)] = Failure(**_printable(json.loads(content)))
            case "x":
                self.stop_reason = _printable(json.loads(rest))


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedEvents:
    """The events of a process and of each copy that was forked from it."""

    trunk: ProcessEvents
    copies: Mapping[int, ProcessEvents]  # by number of the copy
    cannot_fork: bool  # the process refused to be forked


def parse_events(log: bytes) -> ParsedEvents:
    """Parse an event log; invalid lines are ignored."""
    trunk = current = ProcessEvents()
    copies: dict[int, ProcessEvents] = {}
    calls = CallLines()
    # A test that kills the process can cut the last line short. Dropping it loses nothing:
    # the "start" line before it already names the test that was running.
    *lines, _cut_or_empty = log.decode("utf-8", "replace").split("\n")
    for line in lines:
        letter, _space, rest = line.partition(" ")
        number, _space, content = rest.partition(" ")
        # A full disk cuts lines in the middle, and some tests write to every open descriptor.
        with contextlib.suppress(ValueError, KeyError, TypeError, IndexError, AttributeError):
            match letter:
                case "B":
                    copies[int(rest)] = ProcessEvents()
                    current = copies[int(rest)]
                case "b":
                    copies[int(number)].end = json.loads(content)
                    current = trunk
                case "d":
                    calls.define(rest)
                case "c":
                    current.calls[int(number)] = calls.trace(content)
                case _:
                    current.add(letter, rest)
    return ParsedEvents(trunk=trunk, copies=copies, cannot_fork=b"\nu " in log)


def _traces(content: Mapping[str, Any]) -> StateTrace:
    mentions = content["mentions"]
    return StateTrace(
        left=tuple(StateChange(how=how, kind=kind, name=name) for how, kind, name in content["left"]),
        mentions=None if mentions is None else frozenset(mentions),
    )


def _printable(content: Mapping[str, str]) -> dict[str, str]:
    # Half a surrogate pair, valid in a Python string, can be neither stored nor printed.
    return {name: text.encode("utf-8", "backslashreplace").decode() for name, text in content.items()}
