"""Which tests a hunt reruns and pairs; here by the functions they call."""

from __future__ import annotations

from dataclasses import dataclass

from flakehound.calls.causes import likely_causes
from flakehound.cli.calls_run import WHY, run_traced
from flakehound.cli.calls_settings import wish_for
from flakehound.cli.hunt_start import HuntStart
from flakehound.core.calls import TraceMode
from flakehound.core.plans import RunPlan, Setting
from flakehound.core.rerun_model import SMALL_TEST_S
from flakehound.engine.limits import Limits
from flakehound.hunt.options import Candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What was chosen, and what the report says of it."""

    candidates: Candidates
    notes: tuple[str, ...]
    measured: bool = False  # whether the choice took measured runs, which need not be made again


def _mode(python: str) -> TraceMode:
    """What leaves no call unheard: before 3.12 the cheap mode hears only the first calls of a test."""
    version = tuple(map(int, python.split(".")[:2]))
    return TraceMode.CHARACTERISTIC if version >= (3, 12) else TraceMode.ALL


def select_by_calls(start: HuntStart) -> Selection:
    """Tests that call a characteristic function, and small ones, which cost less than they could save."""
    opened, known = start.opened, start.known
    plan = RunPlan(
        order=opened.suite.order,
        why=WHY,
        setting=Setting.ORIGINAL,
        isolation=opened.isolation,
        seed=0,
        hash_seed=opened.hash_seed,
        trace=wish_for(known, _mode(opened.handshake.python)),
    )
    records = run_traced(opened, plan, Limits(), lambda _words: None)
    start.keep([record for record in records if record.calls])
    # Times of the reference run: a traced one is slower.
    small = {
        test
        for record in opened.reference
        for test, seconds in zip(record.order, record.durations_s, strict=True)
        if seconds < SMALL_TEST_S
    }
    silent = {
        record.order[place]
        for record in records
        for place, trace in record.calls.items()
        if not likely_causes([trace], known) and record.order[place] not in small
    }
    chosen = frozenset(opened.suite.order) - silent
    share = f"{len(chosen)} of {len(opened.suite.order)} tests"
    note = f"calls: {share} are rerun; the others call no characteristic function and take 4 ms or more"
    return Selection(candidates=Candidates(reruns=chosen), notes=(note,))
