"""Turn the events of one process into run records."""

from __future__ import annotations

import signal
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from flakehound.core.calls import CallTrace
from flakehound.core.measurements import Measures
from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Order, RunPlan, RunSettings, SharedPrefix, SingleRun, Walk
from flakehound.core.records import CALLED_OFF, Failure, RunRecord, Usage
from flakehound.engine.processes.event_lines import ProcessEvents, parse_events
from flakehound.engine.processes.samples import measures_from

_RESULTS_LOST_CODE = 74  # see flakehound_inside.worker.child


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessFacts:
    """What the engine knows about a process in addition to its events."""

    end: Mapping[str, Any]  # as flakehound_inside.message_types.ProcessEnd
    output: str = ""  # the end of its output, if it ended with an error
    started_s: float = 0.0
    disturbed: bool = False


def records_from(plan: RunPlan, events: bytes, facts: ProcessFacts) -> list[RunRecord]:
    """The records of a finished plan: one for its order, or one per copy of its process."""
    parsed = parse_events(events)
    trunk = parsed.trunk
    trunk.end = facts.end
    if isinstance(plan, SingleRun):
        return [_record(plan, plan.order, trunk, facts)]
    records: list[RunRecord] = []
    counted_tests = 0
    for number, (copy, order) in enumerate(zip(plan.copies, plan.orders, strict=True)):
        if number not in parsed.copies:
            continue
        copy_events = parsed.copies[number]
        copy_events.end = copy_events.end or facts.end
        # Tests before several copies ran only once, so they are counted only once.
        joined = trunk.between(counted_tests, copy.after).followed_by(copy_events, copy.after)
        counted_tests = max(counted_tests, copy.after)
        records.append(_record(replace(plan, seed=copy.seed), order, joined, facts))
    rest = trunk.between(counted_tests, len(plan.trunk))
    will_run_again = parsed.cannot_fork and bool(orders_left(plan, events)) and not _may_chain(plan)
    if rest.started_places and not will_run_again:
        rest.stop_reason, rest.end = trunk.stop_reason, facts.end
        records.append(_record(plan, plan.trunk, rest, facts))
    return records


def orders_left(plan: RunPlan, events: bytes) -> list[Order]:
    """The orders that still have to run because the process could not be copied faithfully.

    Not those of a walk: each would need a process that runs all tests before it.
    """
    if isinstance(plan, SingleRun | Walk):
        return []
    parsed = parse_events(events)
    if not parsed.cannot_fork:
        return []
    missing = [order for number, order in enumerate(plan.orders) if number not in parsed.copies]
    if _may_chain(plan) and missing:
        return [tuple(chain(plan.trunk, *(order[len(plan.trunk) :] for order in missing)))]
    return missing


def _may_chain(plan: RunPlan) -> bool:
    return isinstance(plan, SharedPrefix) and plan.may_chain


def _outcome_of_unfinished(events: ProcessEvents, facts: ProcessFacts) -> Outcome:
    """The outcome of a test that started and did not end."""
    end = events.end or {}
    # An exit code means that pytest itself failed.
    if events.stop_reason and not end.get("code"):
        return Outcome.FAILED
    if end.get("cut") == "cancelled":
        return Outcome.NOT_RUN
    # The thread method of pytest-timeout prints stacks and exits by os._exit(1).
    if end.get("cut") or "+ Timeout +" in facts.output:
        return Outcome.TIMED_OUT
    return Outcome.CRASHED


def _record(plan: RunSettings, order: Order, events: ProcessEvents, facts: ProcessFacts) -> RunRecord:
    end = events.end or {}
    outcomes = [Outcome.NOT_RUN] * len(order)
    durations = array("f", [0.0]) * len(order)
    for place, (outcome, seconds) in events.results.items():
        if place < len(order):
            outcomes[place], durations[place] = outcome, seconds
    failures = {place: failure for place, failure in events.failures.items() if place < len(order)}
    unfinished_place = events.unfinished_place
    if unfinished_place is not None and unfinished_place < len(order):
        outcomes[unfinished_place] = _outcome_of_unfinished(events, facts)
        if outcomes[unfinished_place].is_failure:
            failures[unfinished_place] = _process_failure(events, facts, end)
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
        calls=_calls(plan, events, len(order)),
        state_traces={place: traces for place, traces in events.traces.items() if place < len(order)},
        measures=_measures(events, len(order)),
    )


def _calls(plan: RunSettings, events: ProcessEvents, places: int) -> dict[int, CallTrace]:
    """The calls of each traced test; a test that ended without a line called nothing."""
    if plan.trace is None:
        return {}
    return {place: events.calls.get(place, CallTrace()) for place in sorted(events.results) if place < places}


def _measures(events: ProcessEvents, tests: int) -> dict[int, Measures]:
    """The measures of the tests that ended."""
    return {
        place: measures_from(values, events.samples.peaks(place, events.results[place][1]))
        for place, values in events.measured_values.items()
        if place < tests and place in events.results
    }


def _process_failure(events: ProcessEvents, facts: ProcessFacts, end: Mapping[str, Any]) -> Failure:
    if events.stop_reason:
        return Failure(phase="process", where="", **events.stop_reason)
    reason = describe_end(end) or "exited with code 0 before the test had ended"
    text = f"{reason}\n\n{facts.output}" if facts.output else reason
    return Failure(phase="process", exception=reason, message=reason, where="", text=text)


def describe_end(end: Mapping[str, Any]) -> str:
    """How a process ended, for the user; empty when it ended without an error."""
    if end.get("above"):
        return "killed the process above its own"
    if end.get("cut"):
        return CALLED_OFF if end["cut"] == "cancelled" else f"stopped at the {end['cut']}"
    if end.get("signal"):
        try:
            return f"killed by {signal.Signals(end['signal']).name}"
        except ValueError:
            return f"killed by signal {end['signal']}"
    if end.get("code") == _RESULTS_LOST_CODE:
        reason = "results could not be written (disk full, or a limit on file sizes)"
        return f"exited with code {_RESULTS_LOST_CODE}: {reason}"
    if end.get("code"):
        return f"exited with code {end['code']}"
    return ""
