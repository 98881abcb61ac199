"""Read the event lines of one process back into run records."""

from __future__ import annotations

import contextlib
import json
import signal
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from flakehound.core.calls import CallTrace
from flakehound.core.measurements import Measures
from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Order, RunPlan, RunSettings, SingleRun, Walk
from flakehound.core.records import Failure, RunRecord, Usage
from flakehound.core.state_changes import StateChange, Traces
from flakehound.engine.processes.call_lines import CallLines
from flakehound.engine.processes.samples import Samples, measures_from

_RESULTS_LOST = 74  # see flakehound_inside.worker.child


@dataclass(slots=True)
class Segment:
    """What one process wrote: the trunk of a plan, or one branch of it."""

    started: list[int] = field(default_factory=list)
    ended: dict[int, tuple[Outcome, float]] = field(default_factory=dict)
    failures: dict[int, Failure] = field(default_factory=dict)
    calls: dict[int, CallTrace] = field(default_factory=dict)
    measured: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    traces: dict[int, Traces] = field(default_factory=dict)
    samples: Samples = field(default_factory=Samples)
    stopped: Mapping[str, str] | None = None  # what ended the session: exception, message, text
    end: Mapping[str, Any] | None = None  # how its process ended


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What the engine knows of a run beside its events."""

    end: Mapping[str, Any]
    output: str = ""  # the last words of a process that died
    started_s: float = 0.0
    disturbed: bool = False


def records_from(plan: RunPlan, events: bytes, facts: RunFacts) -> list[RunRecord]:
    """The records of a finished plan: one for its order, or one per copy of its process."""
    trunk, branches = _segments(events)
    trunk.end = facts.end
    if isinstance(plan, SingleRun):
        return [_record(plan, plan.order, trunk, facts)]
    records: list[RunRecord] = []
    counted = 0
    for number, (copy, order) in enumerate(zip(plan.copies, plan.orders, strict=True)):
        if number not in branches:
            continue
        segment = branches[number]
        segment.end = segment.end or facts.end
        # What several copies share ran once, so it counts once.
        segment = _joined(_between(trunk, counted, copy.after), segment, copy.after)
        counted = max(counted, copy.after)
        records.append(_record(replace(plan, seed=copy.seed), order, segment, facts))
    rest = _between(trunk, counted, len(plan.trunk))
    if rest.started and (isinstance(plan, Walk) or not _refusal(events)):
        rest.stopped, rest.end = trunk.stopped, facts.end
        records.append(_record(plan, plan.trunk, rest, facts))
    return records


def orders_left(plan: RunPlan, events: bytes) -> list[Order]:
    """What still has to run because the process could not be copied faithfully.

    Not the copies along a walk: each would need a process that runs all that precedes it.
    """
    if isinstance(plan, SingleRun | Walk) or not _refusal(events):
        return []
    _trunk, ran = _segments(events)
    return [order for number, order in enumerate(plan.orders) if number not in ran]


def _refusal(events: bytes) -> bool:
    return b"\nu " in events


def _segments(events: bytes) -> tuple[Segment, dict[int, Segment]]:
    trunk = current = Segment()
    branches: dict[int, Segment] = {}
    calls = CallLines()
    # A test that kills the process can cut the last line short. Dropping it loses nothing:
    # the "start" line before it already names the test that was running.
    *lines, _cut_or_empty = events.decode("utf-8", "replace").split("\n")
    for line in lines:
        sort, _space, rest = line.partition(" ")
        # A full disk cuts lines in the middle, and some tests write to every descriptor they find.
        with contextlib.suppress(ValueError, KeyError, TypeError, IndexError, AttributeError):
            if sort == "B":
                number = int(rest)
                current = branches[number] = Segment()
            elif sort == "b":
                ended, _space, told = rest.partition(" ")
                branches[int(ended)].end = json.loads(told)
                current = trunk
            elif sort == "d":
                calls.define(rest)
            elif sort == "c":
                place, _space, told = rest.partition(" ")
                current.calls[int(place)] = calls.trace(told)
            else:
                _take(current, sort, rest)
    return trunk, branches


def _take(segment: Segment, sort: str, rest: str) -> None:
    if sort == "s":
        place, clock = rest.split()
        segment.started.append(int(place))
        segment.samples.begin(int(place), float(clock))
    elif sort == "e":
        place, letter, seconds = rest.split()
        segment.ended[int(place)] = (Outcome(letter), float(seconds))
    elif sort == "m":
        place, _space, told = rest.partition(" ")
        segment.measured[int(place)] = json.loads(told)
    elif sort == "l":
        place, _space, told = rest.partition(" ")
        segment.traces[int(place)] = _traces(json.loads(told))
    elif sort == "y":
        clock, threads, children = rest.split()
        segment.samples.add(float(clock), int(threads), int(children))
    elif sort == "f":
        place, _space, told = rest.partition(" ")
        segment.failures.setdefault(int(place), Failure(**_printable(json.loads(told))))
    elif sort == "x":
        segment.stopped = _printable(json.loads(rest))


def _traces(told: Mapping[str, Any]) -> Traces:
    mentions = told["mentions"]
    return Traces(
        left=tuple(StateChange(how=how, kind=kind, name=name) for how, kind, name in told["left"]),
        mentions=None if mentions is None else frozenset(mentions),
    )


def _printable(told: Mapping[str, str]) -> dict[str, str]:
    # Half a surrogate pair, fine in a Python string, can be neither stored nor printed.
    return {name: text.encode("utf-8", "backslashreplace").decode() for name, text in told.items()}


def _between(trunk: Segment, begin: int, end: int) -> Segment:
    """The part of a process's events that belongs to some of its places."""
    return Segment(
        started=[place for place in trunk.started if begin <= place < end],
        ended={place: ended for place, ended in trunk.ended.items() if begin <= place < end},
        failures={place: failure for place, failure in trunk.failures.items() if begin <= place < end},
        calls={place: trace for place, trace in trunk.calls.items() if begin <= place < end},
        traces={place: traces for place, traces in trunk.traces.items() if begin <= place < end},
    )


def _joined(first: Segment, second: Segment, gap: int) -> Segment:
    """One process's events followed by those of its copy, `gap` places later."""
    return Segment(
        started=first.started + [gap + place for place in second.started],
        ended={**first.ended, **{gap + place: ended for place, ended in second.ended.items()}},
        failures={**first.failures, **{gap + place: failure for place, failure in second.failures.items()}},
        calls={**first.calls, **{gap + place: trace for place, trace in second.calls.items()}},
        traces={**first.traces, **{gap + place: traces for place, traces in second.traces.items()}},
        stopped=second.stopped,
        end=second.end,
    )


def _fatal(segment: Segment) -> int | None:
    """The place of the test that started last and never ended."""
    last = segment.started[-1] if segment.started else None
    return None if last in segment.ended else last


def _fate(segment: Segment, facts: RunFacts) -> Outcome:
    """The outcome of a test that started and never ended."""
    end = segment.end or {}
    # Leaving with a code means that pytest itself broke.
    if segment.stopped and not end.get("code"):
        return Outcome.FAILED
    if end.get("cut") == "cancelled":
        return Outcome.NOT_RUN
    # pytest-timeout's thread method prints stacks and leaves by os._exit(1).
    if end.get("cut") or "+ Timeout +" in facts.output:
        return Outcome.TIMED_OUT
    return Outcome.CRASHED


def _record(plan: RunSettings, order: Order, segment: Segment, facts: RunFacts) -> RunRecord:
    end = segment.end or {}
    outcomes = [Outcome.NOT_RUN] * len(order)
    durations = array("f", [0.0]) * len(order)
    for place, (outcome, seconds) in segment.ended.items():
        if place < len(order):
            outcomes[place], durations[place] = outcome, seconds
    failures = {place: failure for place, failure in segment.failures.items() if place < len(order)}
    fatal = _fatal(segment)
    if fatal is not None and fatal < len(order):
        outcomes[fatal] = _fate(segment, facts)
        if outcomes[fatal].is_failure:
            failures[fatal] = _process_failure(segment, facts, end)
    return RunRecord(
        order=order,
        outcomes=tuple(outcomes),
        durations_s=durations,
        setting=plan.setting,
        isolation=plan.isolation,
        why=plan.why,
        seed=plan.seed,
        hash_seed=plan.hash_seed,
        disturbed=facts.disturbed,
        started_s=facts.started_s,
        usage=Usage(
            wall_s=end.get("wall_s", 0.0),
            cpu_s=end.get("cpu_s", 0.0),
            max_rss_bytes=end.get("max_rss_bytes", 0),
            queued_s=end.get("queued_s", 0.0),
        ),
        ended=describe_end(end),
        failures=failures,
        calls=_calls(plan, segment, len(order)),
        traces={place: traces for place, traces in segment.traces.items() if place < len(order)},
        measures=_measures(segment, len(order)),
    )


def _calls(plan: RunSettings, segment: Segment, places: int) -> dict[int, CallTrace]:
    """What each traced test called; one that ended and wrote nothing called nothing."""
    if plan.trace is None:
        return {}
    return {place: segment.calls.get(place, CallTrace()) for place in sorted(segment.ended) if place < places}


def _measures(segment: Segment, tests: int) -> dict[int, Measures]:
    """What was measured, of the tests that came to their end."""
    return {
        place: measures_from(told, segment.samples.peaks(place, segment.ended[place][1]))
        for place, told in segment.measured.items()
        if place < tests and place in segment.ended
    }


def _process_failure(segment: Segment, facts: RunFacts, end: Mapping[str, Any]) -> Failure:
    if segment.stopped:
        return Failure(phase="process", where="", **segment.stopped)
    reason = describe_end(end) or "exited with code 0 before the test had ended"
    text = f"{reason}\n\n{facts.output}" if facts.output else reason
    return Failure(phase="process", exception=reason, message=reason, where="", text=text)


def describe_end(end: Mapping[str, Any]) -> str:
    """How a process ended, in words; empty when it ended well."""
    if end.get("above"):
        return "killed the process above its own"
    if end.get("cut"):
        return "called off" if end["cut"] == "cancelled" else f"stopped at the {end['cut']}"
    if end.get("signal"):
        try:
            return f"killed by {signal.Signals(end['signal']).name}"
        except ValueError:
            return f"killed by signal {end['signal']}"
    if end.get("code") == _RESULTS_LOST:
        return (
            f"exited with code {_RESULTS_LOST}: results could not be written (disk full, or a limit on file sizes)"
        )
    if end.get("code"):
        return f"exited with code {end['code']}"
    return ""
