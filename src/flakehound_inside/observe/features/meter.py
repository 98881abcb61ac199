"""Measure each test while it runs: the eleven features that only a run can tell.

Between the hooks of pytest that surround it, so that what pytest reads, writes and waits for between the phases of
a test is not the test's. See docs/features.md for what each figure means.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.observe.dependencies import Lines, Places
from flakehound_inside.observe.features.counters import Counters
from flakehound_inside.observe.features.threads_and_children import Company

if TYPE_CHECKING:
    from typing import Iterator, Mapping

    from flakehound_inside.message_types import Measure
    from flakehound_inside.observe.features.counters import Reading


class Meter:
    """A pytest plugin that measures the test at hand, and the gauge that tells what it found."""

    letter = "m"  # of the lines in the event log

    def __init__(self, wish: Measure, session: pytest.Session, ours: str) -> None:
        self._config = session.config
        self._places = Places(str(session.config.rootpath), ours)
        self._tests = frozenset(os.path.realpath(str(item.fspath)) for item in session.items)
        self._churn = _read_churn(wish.get("churn"))
        self._lines = Lines(None, self._places)
        self._lines.prepare()
        self._counters = Counters()
        self._company = Company()
        self._total = [0.0] * 6
        self._entered: Reading | None = None
        self._wants_lines = True
        self._own_reads = 0  # asking how much was read is a read, too

    def start(self, lines: bool = True) -> None:
        """Begin in the process that runs the tests; without `lines` what they cover stays unknown."""
        self._wants_lines = lines
        self._counters.read()
        before, after = self._counters.read(), self._counters.read()
        self._own_reads = after.reads - before.reads
        self._company.start()
        self._config.pluginmanager.register(self, "flakehound-meter")
        if lines and not self._lines.doubts:  # coverage can be had
            self._lines.begin()

    def begin(self) -> None:
        """A test is about to run."""
        self._total = [0.0] * 6
        self._lines.take()
        self._company.forget()
        self._counters.forget_peak()

    def told(self) -> dict[str, float | str | None]:
        """The features of the test that has just ended; None for what could not be measured."""
        self._company.settle()
        memory = self._counters.peak_bytes()
        run_s, reads, writes, switches, cpu_s, queued_s = self._total
        found: dict[str, float | str | None] = {
            "read_count": max(0.0, reads),
            "write_count": writes,
            "run_time_s": round(run_s, 7),
            "wait_time_s": round(max(0.0, run_s - cpu_s - queued_s), 7),
            "context_switches": switches,
            "max_threads": self._company.threads,
            "max_children": self._company.children,
            "max_memory_bytes": memory or None,
        }
        if not self._counters.counts_io:
            found["read_count"] = found["write_count"] = None
        found.update(self._covered())
        return found

    def _covered(self) -> dict[str, float | str | None]:
        if not self._wants_lines:
            return {}
        lines = self._lines.take()
        if not self._lines.is_at_work:
            return {"doubt": "; ".join(self._lines.doubts)}
        of_source = {path: found for path, found in lines.items() if not self._is_of_tests(path)}
        counted: dict[str, float | str | None] = {
            "covered_lines": sum(map(len, lines.values())),
            "source_covered_lines": sum(map(len, of_source.values())),
        }
        if self._churn is not None:
            changes = 0
            for path, found in lines.items():
                counts = self._churn.get(path, {})
                changes += sum(counts[line] for line in found if line in counts)
            counted["covered_changes"] = changes
        return counted

    def _is_of_tests(self, path: str) -> bool:
        return path in self._tests or os.path.basename(path) == "conftest.py"

    def _enter(self) -> None:
        self._entered = self._counters.read()

    def _leave(self) -> None:
        before, after = self._entered, self._counters.read()
        if before is not None:
            for place, (begun, ended) in enumerate(zip(before, after)):  # noqa: B905 (Python 3.8)
                self._total[place] += ended - begun
            self._total[1] -= self._own_reads
        self._entered = None

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        """The fixtures before the test."""
        self._enter()
        yield
        self._leave()

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        """The test itself."""
        self._enter()
        yield
        self._leave()

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_teardown(self) -> Iterator[None]:
        """The fixtures behind it."""
        self._enter()
        yield
        self._leave()


def _read_churn(path: str | None) -> Mapping[str, Mapping[int, int]] | None:
    """File -> line -> how often it changed, lines that did not left out; None: not known."""
    if not path:
        return None
    try:
        with open(path, encoding="utf-8") as file:
            told: dict[str, list[int]] = isolated_os.loads(file.read())
    except OSError:  # git could not tell
        return None
    return {name: {line: count for line, count in enumerate(counts, 1) if count} for name, counts in told.items()}
