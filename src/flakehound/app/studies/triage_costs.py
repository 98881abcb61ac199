"""Measure what reruns cost: at once or postponed, in the same process or in a new one (tables 4.4 and 4.5)."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from flakehound.app.progress import Progress
from flakehound.app.studies.suite import StudiedSuite, TimedRun
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order
from flakehound.report.study.triage import PostponedFigures, ProcessFigures
from flakehound.triage.study.figures import EquivalentReruns, equivalent_reruns, reruns_to_time, same_process_s

MOST_RERUN_S = 10.0  # per test; a slow test is rerun fewer times


_Times = dict[NodeId, float | None]  # what the reruns of each test took together; None: one did not pass


@dataclass(slots=True, kw_only=True)
class PostponedCosts:
    """The tests rerun right after themselves, and at the end of the suite, in one process each.

    One process holds the reruns of all sampled tests: the durations of its own runs are what its reruns took.
    """

    suite: StudiedSuite
    repeats: int
    suite_s: float = 0.0
    reruns: dict[NodeId, int] = field(default_factory=dict)
    turns: dict[str, list[_Times]] = field(default_factory=lambda: {"immediate": [], "postponed": []})

    def measure(self, tests: Sequence[NodeId], progress: Progress) -> None:
        """Time all tests, turn by turn."""
        order = self.suite.opened.suite.order
        progress.message(f"the suite as it is, {len(order)} tests")
        plain = self.suite.whole(order)
        durations_s = dict(zip(order, plain.record.durations_s, strict=True))
        self.suite_s = plain.wall_s
        self.reruns = {test: _reruns(durations_s[test]) for test in tests}
        orders = {"immediate": _immediate(order, self.reruns), "postponed": _postponed(order, self.reruns)}
        for turn in range(self.repeats):
            for name in list(orders)[:: -1 if turn % 2 else 1]:
                progress.message(f"reruns {name}, {turn + 1} of {self.repeats}")
                self.turns[name].append(_rerun_times(self.suite.whole(orders[name]), self.reruns))

    def figures(self) -> PostponedFigures | None:
        """What is known by now; None before both were timed."""
        if not all(self.turns.values()):
            return None
        rows = [self._row(test, reruns) for test, reruns in self.reruns.items()]
        return {"suite_s": self.suite_s, "repeats": min(map(len, self.turns.values())), "tests": rows}

    def _row(self, test: NodeId, reruns: int) -> dict[str, Any]:
        immediate_s, postponed_s = (_median([turn[test] for turn in turns]) for turns in self.turns.values())
        row = {"id": test, "reruns": reruns, "immediate_s": immediate_s, "postponed_s": postponed_s}
        if immediate_s is None or postponed_s is None:
            return {**row, "more_percent": None, "problem": "did not pass every time"}
        return {**row, "more_percent": 100 * (postponed_s - immediate_s) / self.suite_s, "problem": ""}


def _reruns(duration_s: float) -> int:
    return min(reruns_to_time(duration_s), max(1, int(MOST_RERUN_S / max(duration_s, 1e-6))))


def _immediate(order: Order, reruns: dict[NodeId, int]) -> Order:
    return tuple(again for test in order for again in (test,) * (1 + reruns.get(test, 0)))


def _postponed(order: Order, reruns: dict[NodeId, int]) -> Order:
    return (*order, *(again for test in order for again in (test,) * reruns.get(test, 0)))


def _rerun_times(timed: TimedRun, reruns: dict[NodeId, int]) -> _Times:
    spent_s: _Times = {}
    for place, test, outcome in timed.record:
        if test not in reruns:
            continue
        # The first run is the suite's own.
        took_s = timed.record.durations_s[place] if test in spent_s else 0.0
        so_far_s = spent_s.get(test, 0.0)
        spent_s[test] = so_far_s + took_s if outcome.is_pass and so_far_s is not None else None
    return spent_s


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known and len(known) == len(values) else None


@dataclass(slots=True, kw_only=True)
class ProcessCosts:
    """One test in a new interpreter, the same with recording, in a fork, and rerun in the same process."""

    suite: StudiedSuite
    root: Path
    reruns: Sequence[int]
    repeats: int
    rows: list[dict[str, Any]] = field(default_factory=list)

    def measure(self, tests: Sequence[NodeId], progress: Progress) -> None:
        """Time the tests one by one."""
        for number, test in enumerate(tests, 1):
            progress.message(f"same process or new one, {number} of {len(tests)}: {test}")
            progress.show_steps("tests", number, len(tests))
            self.rows.append(self._row(test))

    def figures(self) -> ProcessFigures:
        """What is known by now."""
        return {
            "repeats": self.repeats,
            "collection_s": self.suite.opened.start_s,
            "reruns": list(self.reruns),
            "tests": self.rows,
        }

    def _row(self, test: NodeId) -> dict[str, Any]:
        if not self.suite.alone((test,)).all_passed:
            return {"id": test, "problem": "does not pass alone"}
        if not self.suite.alone((test, test)).all_passed:
            return {"id": test, "problem": "does not pass when run again"}
        sides = self._sides(test)
        turns: dict[str, list[float | None]] = {name: [] for name in sides}
        for turn in range(self.repeats):
            for name, measure in list(sides.items())[:: -1 if turn % 2 else 1]:
                turns[name].append(measure())
        return _process_figures(test, {name: _median(values) for name, values in turns.items()}, self.reruns)

    def _sides(self, test: NodeId) -> dict[str, Callable[[], float | None]]:
        sides: dict[str, Callable[[], float | None]] = {
            "base": partial(self._again_s, test, 0),
            "recorded": lambda: self.suite.recorded(test, self.root).wall_s,
            "fork": lambda: timed.wall_s if (timed := self.suite.forked(test)) else None,
        }
        return sides | {str(times): partial(self._again_s, test, times) for times in self.reruns}

    def _again_s(self, test: NodeId, times: int) -> float:
        return self.suite.alone((test,) * (times + 1)).wall_s


def _process_figures(test: NodeId, medians: dict[str, float | None], reruns: Sequence[int]) -> dict[str, Any]:
    base_s, fork_s = medians["base"], medians["fork"]
    assert base_s is not None
    whole_s = {times: took for times in reruns if (took := medians[str(times)]) is not None}
    same_s = same_process_s(base_s, whole_s)
    return {
        "id": test,
        "base_s": base_s,
        "recorded_s": medians["recorded"],
        "fork_s": fork_s,
        "reruns_s": {str(times): took for times, took in whole_s.items()},
        "n_e": _as_dict(equivalent_reruns(base_s, same_s)),
        "n_fork": _as_dict(equivalent_reruns(fork_s, same_s)) if fork_s is not None else None,
        "problem": "",
    }


def _as_dict(found: EquivalentReruns | None) -> dict[str, Any] | None:
    return asdict(found) if found else None
