"""Trace what the tests of a suite call: every test once, in the original order; the runs are stored."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from pathlib import Path

from flakehound.app.progress import SILENT, Progress
from flakehound.app.sessions.new_session import new_session
from flakehound.app.sessions.project_settings import characteristic_functions_in
from flakehound.calls.characteristic_functions import CharacteristicFunctions
from flakehound.calls.trace_plan import trace_for
from flakehound.core.calls import CallTrace, TraceMode
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Isolation, Order, Setting, SingleRun
from flakehound.core.records import RunRecord
from flakehound.engine.processes.forkserver import ServerLost
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import FIRST_TEST_LIMIT_S, Limits
from flakehound.engine.suite.open_suite import OpenSuite, open_suite
from flakehound.store import SessionCommand, SessionInfo, Store

TRACE_WHY = "what does each test call?"
_MIN_RUN_S = 0.1  # no limit is given as 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsOptions:
    """Validated options of one `flakehound calls`."""

    target: Target
    mode: TraceMode
    counts: bool
    seed: int
    isolation: Isolation | None
    test_limit_s: float | None
    store_path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedSuite:
    """What the tests of a suite called."""

    traces: dict[NodeId, CallTrace]  # in the suite's order; a test that ended its process is missing
    outcomes: dict[NodeId, Outcome]
    known: CharacteristicFunctions
    notes: tuple[str, ...]


def trace_suite(options: CallsOptions, progress: Progress = SILENT) -> TracedSuite:
    """Trace every test of the suite once and store the runs."""
    limits = Limits(test_limit_s=options.test_limit_s or FIRST_TEST_LIMIT_S)
    opened = open_suite(
        options.target,
        jobs=1,
        isolation=options.isolation,
        hash_seed=options.seed % 4294967295,
        limits=limits,
        with_reference=False,
    )
    try:
        known = characteristic_functions_in(Path(opened.handshake.rootdir))
        plan = SingleRun(
            order=opened.suite.order,
            why=TRACE_WHY,
            setting=Setting.ORIGINAL,
            isolation=opened.isolation,
            seed=options.seed,
            hash_seed=opened.hash_seed,
            trace=trace_for(known, options.mode, counts=options.counts),
        )
        progress.message(f"{len(plan.order)} tests, traced once (seed {options.seed}) ...")
        with Store.open(options.store_path) as store:
            records = run_traced(opened, plan, limits, progress)
            session = store.begin(_session(options, opened), opened.suite)
            assert session.id is not None
            store.append(session.id, records)
            store.finish(session.id, "done")
    finally:
        opened.close()
    return _traced_suite(records, known, tuple(opened.notes))


def run_traced(
    opened: OpenSuite, plan: SingleRun, limits: Limits, progress: Progress, max_s: float = math.inf
) -> list[RunRecord]:
    """Run a plan with tracing; if a test ends its process, the tests after it run in another one.

    Tests that are not reached within `max_s` seconds stay untraced.
    """
    records: list[RunRecord] = []
    remaining: Order = plan.order
    deadline = time.monotonic() + max_s
    while remaining:
        progress.show_steps("tracing", len(plan.order) - len(remaining), len(plan.order))
        if max_s < math.inf:
            limits = replace(limits, run_limit_s=max(_MIN_RUN_S, deadline - time.monotonic()))
        records += _run_once(opened, replace(plan, order=remaining), limits, progress)
        done = {test for _position, test, outcome in records[-1] if outcome is not Outcome.NOT_RUN}
        if not done:
            break  # the process could not start
        remaining = tuple(test for test in remaining if test not in done)
        if time.monotonic() >= deadline:
            break
        if remaining:
            reason = records[-1].ended or "early"
            progress.message(f"the process ended ({reason}), {len(remaining)} tests are left")
    return [record for record in records if record.executed]


def _run_once(opened: OpenSuite, plan: SingleRun, limits: Limits, progress: Progress) -> tuple[RunRecord, ...]:
    def show() -> None:
        progress.show_state(lambda: f"tracing what {len(plan.order)} tests call")

    try:
        return opened.pool.run_now(plan, limits, show)
    except ServerLost:  # a test ended the collected session
        opened.replace_server(limits.run_limit_s or math.inf)
        return opened.pool.run_now(replace(plan, isolation=Isolation.SPAWN), limits, show)


def _session(options: CallsOptions, opened: OpenSuite) -> SessionInfo:
    return new_session(
        options.target,
        opened,
        command=SessionCommand.CALLS,
        seed=options.seed,
        trace_mode=options.mode.value,
    )


def _traced_suite(records: list[RunRecord], known: CharacteristicFunctions, notes: tuple[str, ...]) -> TracedSuite:
    traces: dict[NodeId, CallTrace] = {}
    outcomes: dict[NodeId, Outcome] = {}
    for record in records:
        for position, test, outcome in record:
            if outcome is not Outcome.NOT_RUN:
                outcomes[test] = outcome
            if position in record.calls:
                traces[test] = record.calls[position]
    return TracedSuite(traces=traces, outcomes=outcomes, known=known, notes=notes)
