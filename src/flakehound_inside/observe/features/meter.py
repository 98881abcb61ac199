"""Measures each test while it runs: the eleven features that only a run can show.

Measured within the hooks of each phase, so that what pytest itself reads, writes and waits for between the phases
is not attributed to the test. See docs/guide/features.md for what each figure means.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.observe.features.counters import ProcessCounters
from flakehound_inside.observe.features.threads_and_children import ThreadsAndChildren
from flakehound_inside.observe.line_tracer import LineTracer
from flakehound_inside.observe.project_paths import ProjectPaths

if TYPE_CHECKING:
    from typing import Iterator, Mapping

    from flakehound_inside.message_types import MeasureRequest
    from flakehound_inside.observe.features.counters import CounterReading


class FeatureMeter:
    """A pytest plugin that measures the current test, and the per-test observer that reports the features."""

    letter = "m"

    def __init__(self, request: MeasureRequest, session: pytest.Session, own_folder: str) -> None:
        self._config = session.config
        paths = ProjectPaths(str(session.config.rootpath), own_folder)
        self._test_files = frozenset(os.path.realpath(str(item.fspath)) for item in session.items)
        self._churn = _read_churn(request.get("churn"))
        self._lines = LineTracer(None, paths)
        self._lines.prepare()
        self._counters = ProcessCounters()
        self._concurrency = ThreadsAndChildren()
        self._total = [0.0] * 6
        self._phase_start: CounterReading | None = None
        self._measures_lines = True
        self._own_reads = 0  # reads that reading the counters causes

    def start(self, lines: bool = True) -> None:
        """Begin in the process that runs the tests; without `lines` covered lines are not measured."""
        self._measures_lines = lines
        self._counters.read()
        before, after = self._counters.read(), self._counters.read()
        self._own_reads = after.reads - before.reads
        self._concurrency.start()
        self._config.pluginmanager.register(self, "flakehound-meter")
        if lines and not self._lines.doubts:  # coverage.py works here
            self._lines.begin()

    def begin_test(self) -> None:
        """Forget the measures of the last test."""
        self._total = [0.0] * 6
        self._lines.take_lines()
        self._concurrency.reset()
        self._counters.reset_peak()

    def report(self) -> dict[str, float | str | None]:
        """The features of the test that has just ended; None for those that could not be measured."""
        self._concurrency.finish_test()
        memory = self._counters.peak_bytes()
        run_s, reads, writes, switches, cpu_s, queued_s = self._total
        features: dict[str, float | str | None] = {
            "read_count": max(0.0, reads),
            "write_count": writes,
            "run_time_s": round(run_s, 7),
            "wait_time_s": round(max(0.0, run_s - cpu_s - queued_s), 7),
            "context_switches": switches,
            "max_threads": self._concurrency.max_threads,
            "max_children": self._concurrency.max_children,
            "max_memory_bytes": memory or None,
        }
        if not self._counters.counts_io:
            features["read_count"] = features["write_count"] = None
        features.update(self._coverage_features())
        return features

    def _coverage_features(self) -> dict[str, float | str | None]:
        if not self._measures_lines:
            return {}
        lines = self._lines.take_lines()
        if not self._lines.is_tracing:
            return {"doubt": "; ".join(self._lines.doubts)}
        source_lines = {path: numbers for path, numbers in lines.items() if not self._is_test_code(path)}
        features: dict[str, float | str | None] = {
            "covered_lines": sum(map(len, lines.values())),
            "source_covered_lines": sum(map(len, source_lines.values())),
        }
        if self._churn is not None:
            changes = 0
            for path, numbers in lines.items():
                counts = self._churn.get(path, {})
                changes += sum(counts[line] for line in numbers if line in counts)
            features["covered_changes"] = changes
        return features

    def _is_test_code(self, path: str) -> bool:
        return path in self._test_files or os.path.basename(path) == "conftest.py"

    def _begin_phase(self) -> None:
        self._phase_start = self._counters.read()

    def _end_phase(self) -> None:
        before, after = self._phase_start, self._counters.read()
        if before is not None:
            for index, (start, end) in enumerate(zip(before, after)):  # noqa: B905 (Python 3.8)
                self._total[index] += end - start
            self._total[1] -= self._own_reads
        self._phase_start = None

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        """Measure the setup of fixtures."""
        self._begin_phase()
        yield
        self._end_phase()

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        """Measure the test itself."""
        self._begin_phase()
        yield
        self._end_phase()

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_teardown(self) -> Iterator[None]:
        """Measure the teardown of fixtures."""
        self._begin_phase()
        yield
        self._end_phase()


def _read_churn(path: str | None) -> Mapping[str, Mapping[int, int]] | None:
    """How often each line changed, by file, without lines that never changed; None: not known."""
    if not path:
        return None
    try:
        with open(path, encoding="utf-8") as file:
            counts_by_file: dict[str, list[int]] = isolated_os.loads(file.read())
    except OSError:  # not written, because git does not know
        return None
    return {
        name: {line: count for line, count in enumerate(counts, 1) if count}
        for name, counts in counts_by_file.items()
    }
