"""Measure what reruns cost: immediate or postponed, in the same process or in a new one (tables 4.4 and 4.5)."""

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

MAX_RERUN_S = 10.0  # per test; a slow test is rerun fewer times


_RerunTimes = dict[NodeId, float | None]  # the total time of each test's reruns; None: one of them did not pass


@dataclass(slots=True, kw_only=True)
class PostponedCosts:
    """Times reruns of tests right after their first run, and at the end of the suite.

    Each of the two variants runs in one process with the reruns of all sampled tests.
    """

    suite: StudiedSuite
    repeats: int
    suite_s: float = 0.0
    reruns: dict[NodeId, int] = field(default_factory=dict)
    times: dict[str, list[_RerunTimes]] = field(default_factory=lambda: {"immediate": [], "postponed": []})

    def measure(self, tests: Sequence[NodeId], progress: Progress) -> None:
        """Time the reruns of the tests in both variants, alternating their order in each repeat."""
        order = self.suite.opened.suite.order
        progress.message(f"the suite as it is, {len(order)} tests")
        plain = self.suite.run_in_whole_suite(order)
        durations_s = dict(zip(order, plain.record.durations_s, strict=True))
        self.suite_s = plain.wall_s
        self.reruns = {test: _number_of_reruns(durations_s[test]) for test in tests}
        orders = {
            "immediate": _with_immediate_reruns(order, self.reruns),
            "postponed": _with_postponed_reruns(order, self.reruns),
        }
        for repeat in range(self.repeats):
            for name in list(orders)[:: -1 if repeat % 2 else 1]:
                progress.message(f"reruns {name}, {repeat + 1} of {self.repeats}")
                run = self.suite.run_in_whole_suite(orders[name])
                self.times[name].append(_rerun_times(run, self.reruns))

    def figures(self) -> PostponedFigures | None:
        """The figures so far; None before both variants were timed."""
        if not all(self.times.values()):
            return None
        rows = [self._row(test, reruns) for test, reruns in self.reruns.items()]
        return {"suite_s": self.suite_s, "repeats": min(map(len, self.times.values())), "tests": rows}

    def _row(self, test: NodeId, reruns: int) -> dict[str, Any]:
        immediate_s, postponed_s = (
            _median([repeat[test] for repeat in repeats]) for repeats in self.times.values()
        )
        row = {"id": test, "reruns": reruns, "immediate_s": immediate_s, "postponed_s": postponed_s}
        if immediate_s is None or postponed_s is None:
            return {**row, "more_percent": None, "problem": "did not pass every time"}
        return {**row, "more_percent": 100 * (postponed_s - immediate_s) / self.suite_s, "problem": ""}


def _number_of_reruns(duration_s: float) -> int:
    return min(reruns_to_time(duration_s), max(1, int(MAX_RERUN_S / max(duration_s, 1e-6))))


def _with_immediate_reruns(order: Order, reruns: dict[NodeId, int]) -> Order:
    return tuple(rerun for test in order for rerun in (test,) * (1 + reruns.get(test, 0)))


def _with_postponed_reruns(order: Order, reruns: dict[NodeId, int]) -> Order:
    return (*order, *(rerun for test in order for rerun in (test,) * reruns.get(test, 0)))


def _rerun_times(run: TimedRun, reruns: dict[NodeId, int]) -> _RerunTimes:
    total_s: _RerunTimes = {}
    for position, test, outcome in run.record:
        if test not in reruns:
            continue
        # The first execution is no rerun.
        duration_s = run.record.durations_s[position] if test in total_s else 0.0
        so_far_s = total_s.get(test, 0.0)
        total_s[test] = so_far_s + duration_s if outcome.is_pass and so_far_s is not None else None
    return total_s


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known and len(known) == len(values) else None


@dataclass(slots=True, kw_only=True)
class ProcessCosts:
    """Times one test in a new interpreter, the same with recording, in a fork, and with reruns in its process."""

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
        """The figures so far."""
        return {
            "repeats": self.repeats,
            "collection_s": self.suite.opened.start_s,
            "reruns": list(self.reruns),
            "tests": self.rows,
        }

    def _row(self, test: NodeId) -> dict[str, Any]:
        if not self.suite.run_in_own_files((test,)).all_passed:
            return {"id": test, "problem": "does not pass alone"}
        if not self.suite.run_in_own_files((test, test)).all_passed:
            return {"id": test, "problem": "does not pass when run again"}
        variants = self._variants(test)
        times: dict[str, list[float | None]] = {name: [] for name in variants}
        for repeat in range(self.repeats):
            for name, measure_s in list(variants.items())[:: -1 if repeat % 2 else 1]:
                times[name].append(measure_s())
        return _process_figures(test, {name: _median(values) for name, values in times.items()}, self.reruns)

    def _variants(self, test: NodeId) -> dict[str, Callable[[], float | None]]:
        """The functions that run a test in one of the compared ways and return the seconds."""
        variants: dict[str, Callable[[], float | None]] = {
            "base": partial(self._run_with_reruns, test, 0),
            "recorded": lambda: self.suite.run_recorded(test, self.root).wall_s,
            "fork": lambda: run.wall_s if (run := self.suite.run_forked(test)) else None,
        }
        return variants | {str(reruns): partial(self._run_with_reruns, test, reruns) for reruns in self.reruns}

    def _run_with_reruns(self, test: NodeId, reruns: int) -> float:
        return self.suite.run_in_own_files((test,) * (reruns + 1)).wall_s


def _process_figures(test: NodeId, medians: dict[str, float | None], reruns: Sequence[int]) -> dict[str, Any]:
    base_s, fork_s = medians["base"], medians["fork"]
    assert base_s is not None
    by_reruns_s = {number: median_s for number in reruns if (median_s := medians[str(number)]) is not None}
    same_s = same_process_s(base_s, by_reruns_s)
    return {
        "id": test,
        "base_s": base_s,
        "recorded_s": medians["recorded"],
        "fork_s": fork_s,
        "reruns_s": {str(number): median_s for number, median_s in by_reruns_s.items()},
        "n_e": _as_dict(equivalent_reruns(base_s, same_s)),
        "n_fork": _as_dict(equivalent_reruns(fork_s, same_s)) if fork_s is not None else None,
        "problem": "",
    }


def _as_dict(equivalent: EquivalentReruns | None) -> dict[str, Any] | None:
    return asdict(equivalent) if equivalent else None
