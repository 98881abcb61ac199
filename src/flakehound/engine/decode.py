"""Read the event lines of one process back into run records."""

from __future__ import annotations

import json
import signal
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Order, RunPlan
from flakehound.core.records import Failure, RunRecord, Usage


@dataclass(slots=True)
class Segment:
    """What one process wrote: the trunk of a plan, or one branch of it."""

    started: list[int] = field(default_factory=list)
    ended: dict[int, tuple[Outcome, float]] = field(default_factory=dict)
    failures: dict[int, Failure] = field(default_factory=dict)
    stopped: str = ""  # the test ended the session on purpose
    end: Mapping[str, Any] | None = None  # how its process ended


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What the engine knows of a run beside its events."""

    end: Mapping[str, Any]
    output: str = ""  # the last words of a process that died
    started_s: float = 0.0
    disturbed: bool = False


def records_from(plan: RunPlan, events: bytes, facts: RunFacts) -> list[RunRecord]:
    """The records of a finished plan: one for its order, or one per branch."""
    trunk, branches = _segments(events)
    trunk.end = facts.end
    if not plan.branches:
        return [_record(plan, (), plan.order, trunk, facts)]
    records: list[RunRecord] = []
    shared = _outcomes(trunk, len(plan.order), facts)
    for number, segment in sorted(branches.items()):
        segment.end = segment.end or facts.end
        first = shared if not records else (Outcome.NOT_RUN,) * len(plan.order)
        record = _record(plan, plan.order, plan.branches[number], segment, facts, first)
        records.append(record)
    if not records and plan.order:
        records.append(_record(plan, (), plan.order, trunk, facts))
    return records


def _segments(events: bytes) -> tuple[Segment, dict[int, Segment]]:
    trunk = current = Segment()
    branches: dict[int, Segment] = {}
    # A test that kills the process can cut the last line short. Dropping it loses nothing:
    # the "start" line before it already names the test that was running.
    *lines, _cut_or_empty = events.decode("utf-8", "replace").split("\n")
    for line in lines:
        sort, _space, rest = line.partition(" ")
        if sort == "B":
            current = branches[int(rest)] = Segment()
        elif sort == "b":
            number, _space, told = rest.partition(" ")
            branches[int(number)].end = json.loads(told)
            current = trunk
        else:
            _take(current, sort, rest)
    return trunk, branches


def _take(segment: Segment, sort: str, rest: str) -> None:
    if sort == "s":
        segment.started.append(int(rest.split()[0]))
    elif sort == "e":
        place, letter, seconds = rest.split()
        segment.ended[int(place)] = (Outcome(letter), float(seconds))
    elif sort == "f":
        place, _space, told = rest.partition(" ")
        segment.failures.setdefault(int(place), Failure(**json.loads(told)))
    elif sort == "x":
        segment.stopped = json.loads(rest)


def _outcomes(segment: Segment, count: int, facts: RunFacts) -> tuple[Outcome, ...]:
    outcomes = [Outcome.NOT_RUN] * count
    for place, (outcome, _seconds) in segment.ended.items():
        outcomes[place] = outcome
    if segment.started and segment.started[-1] not in segment.ended:
        outcomes[segment.started[-1]] = _fate(segment, facts)
    return tuple(outcomes)


def _fate(segment: Segment, facts: RunFacts) -> Outcome:
    """The outcome of a test that started and never ended."""
    end = segment.end or {}
    if segment.stopped:
        return Outcome.FAILED
    if end.get("cut") == "cancelled":
        return Outcome.NOT_RUN
    # pytest-timeout's thread method prints stacks and leaves by os._exit(1).
    if end.get("cut") or "+ Timeout +" in facts.output:
        return Outcome.TIMED_OUT
    return Outcome.CRASHED


def _record(
    plan: RunPlan,
    before: Order,
    order: Order,
    segment: Segment,
    facts: RunFacts,
    outcomes_before: Sequence[Outcome] = (),
) -> RunRecord:
    end = segment.end or {}
    outcomes = _outcomes(segment, len(order), facts)
    durations = array("f", [0.0]) * (len(before) + len(order))
    for place, (_outcome, seconds) in segment.ended.items():
        durations[len(before) + place] = seconds
    failures = {len(before) + place: failure for place, failure in segment.failures.items()}
    fatal = segment.started[-1] if segment.started and segment.started[-1] not in segment.ended else None
    if fatal is not None and outcomes[fatal].is_failure:
        failures[len(before) + fatal] = _process_failure(segment, facts, end)
    return RunRecord(
        order=before + order if before else order,
        outcomes=(*outcomes_before, *outcomes),
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
        ),
        ended=describe_end(end),
        failures=failures,
    )


def _process_failure(segment: Segment, facts: RunFacts, end: Mapping[str, Any]) -> Failure:
    reason = segment.stopped or describe_end(end) or "the process ended without a word"
    return Failure(phase="process", exception=reason, message=reason, where="", text=facts.output or reason)


def describe_end(end: Mapping[str, Any]) -> str:
    """How a process ended, in words; empty when it ended well."""
    if end.get("cut"):
        return "called off" if end["cut"] == "cancelled" else f"stopped at the {end['cut']}"
    if end.get("signal"):
        try:
            return f"killed by {signal.Signals(end['signal']).name}"
        except ValueError:
            return f"killed by signal {end['signal']}"
    if end.get("code"):
        return f"exited with code {end['code']}"
    return ""
