"""The selection of tests that a hunt reruns and runs in pairs; here by the functions they call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flakehound.app.hunt.prepared import PreparedHunt
from flakehound.app.hunt.suite_trace import calls_in_suite
from flakehound.core.statistics.rerun_model import SMALL_TEST_S
from flakehound.hunt.options import Candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The selected tests, and what the report says about the selection."""

    candidates: Candidates
    notes: tuple[str, ...]
    measured: bool = False  # whether it made measured runs, which need not be made again


Selector = Callable[[PreparedHunt], Selection]


def select_by_calls(hunt: PreparedHunt) -> Selection:
    """Select tests that call a characteristic function, and quick ones, which cost little to rerun."""
    opened = hunt.opened
    calls = calls_in_suite(hunt)
    # Times of the reference run: a traced one is slower.
    quick = {
        test
        for record in opened.reference
        for test, seconds in zip(record.order, record.durations_s, strict=True)
        if seconds < SMALL_TEST_S
    }
    excluded = {test for test, is_calling in calls.items() if not is_calling and test not in quick}
    selected = frozenset(opened.suite.order) - excluded
    share = f"{len(selected)} of {len(opened.suite.order)} tests"
    note = f"calls: {share} are rerun; the others call no characteristic function and take 4 ms or more"
    return Selection(candidates=Candidates(reruns=selected), notes=(note,))
