"""Trace a suite: every test once, in its own order, kept in the store."""

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

WHY = "what does each test call?"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallWishes:
    """What the user asked for."""

    target: Target
    mode: TraceMode
    counts: bool
    seed: int
    isolation: Isolation | None
    test_limit_s: float | None
    store_path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """A suite that was traced."""

    traces: dict[NodeId, CallTrace]  # in the suite's order; a test that took its process with it is missing
    outcomes: dict[NodeId, Outcome]
    known: CharacteristicFunctions
    notes: tuple[str, ...]


def traced(wishes: CallWishes, progress: Progress = SILENT) -> Traced:
    """Run the suite once, traced; after a test that ended its process, the rest in another one."""
    limits = Limits(test_limit_s=wishes.test_limit_s or FIRST_TEST_LIMIT_S)
    opened = open_suite(
        wishes.target,
        jobs=1,
        isolation=wishes.isolation,
        hash_seed=wishes.seed % 4294967295,
        limits=limits,
        with_reference=False,
    )
    try:
        known = characteristic_functions_in(Path(opened.handshake.rootdir))
        plan = SingleRun(
            order=opened.suite.order,
            why=WHY,
            setting=Setting.ORIGINAL,
            isolation=opened.isolation,
            seed=wishes.seed,
            hash_seed=opened.hash_seed,
            trace=trace_for(known, wishes.mode, counts=wishes.counts),
        )
        progress.message(f"{len(plan.order)} tests, traced once (seed {wishes.seed}) ...")
        with Store.open(wishes.store_path) as store:
            records = run_traced(opened, plan, limits, progress)
            session = store.begin(_session(wishes, opened), opened.suite)
            assert session.id is not None
            store.append(session.id, records)
            store.finish(session.id, "done")
    finally:
        opened.close()
    return _joined(records, known, tuple(opened.notes))


def run_traced(
    opened: OpenSuite, plan: SingleRun, limits: Limits, progress: Progress, most_s: float = math.inf
) -> list[RunRecord]:
    """The runs that the plan takes: after a test that ended its process, the rest in another one.

    After `most_s` what is left stays untraced.
    """
    records: list[RunRecord] = []
    left: Order = plan.order
    until = time.monotonic() + most_s
    while left:
        progress.show_steps("tracing", len(plan.order) - len(left), len(plan.order))
        if most_s < math.inf:
            limits = replace(limits, run_limit_s=max(0.0, until - time.monotonic()))
        records += _attempt(opened, replace(plan, order=left), limits)
        done = {test for _place, test, outcome in records[-1] if outcome is not Outcome.NOT_RUN}
        if not done:
            break  # the process could not even begin
        left = tuple(test for test in left if test not in done)
        if time.monotonic() >= until:
            break
        if left:
            progress.message(f"the process ended ({records[-1].ended or 'early'}), {len(left)} tests are left")
    return [record for record in records if record.executed]


def _attempt(opened: OpenSuite, plan: SingleRun, limits: Limits) -> tuple[RunRecord, ...]:
    try:
        return opened.pool.run_now(plan, limits)
    except ServerLost:  # a test took the collected session down
        opened.replace_server()
        return opened.pool.run_now(replace(plan, isolation=Isolation.SPAWN), limits)


def _session(wishes: CallWishes, opened: OpenSuite) -> SessionInfo:
    return new_session(
        wishes.target,
        opened,
        command=SessionCommand.CALLS,
        seed=wishes.seed,
        trace_mode=wishes.mode.value,
    )


def _joined(records: list[RunRecord], known: CharacteristicFunctions, notes: tuple[str, ...]) -> Traced:
    traces: dict[NodeId, CallTrace] = {}
    outcomes: dict[NodeId, Outcome] = {}
    for record in records:
        for place, test, outcome in record:
            if outcome is not Outcome.NOT_RUN:
                outcomes[test] = outcome
            if place in record.calls:
                traces[test] = record.calls[place]
    return Traced(traces=traces, outcomes=outcomes, known=known, notes=notes)
