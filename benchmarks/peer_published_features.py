"""The peer of `features.py`: measuring features after the scheme of the published plugin pytest-cannier.

Written anew, after its description: one pytest session; around each test counters of the process by psutil, a
thread in the same process that samples threads, children and memory by psutil while the test runs, and coverage
started and stopped anew for each test, with its data read through coverage's own interface.

usage: pytest -p peer_published_features     PEER_RESULT: file to which the features are written
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import coverage
import psutil
import pytest

EVERY_S = 0.01


class Sampler(threading.Thread):
    """Peaks while one test runs."""

    def __init__(self, process: psutil.Process) -> None:
        super().__init__(daemon=True)
        self._process = process
        self._over = threading.Event()
        self.peaks = {"threads": 0, "children": 0, "memory": 0}

    def run(self) -> None:
        while True:
            seen = {
                "threads": self._process.num_threads(),
                "children": len(self._process.children(recursive=True)),
                "memory": self._process.memory_info().rss,
            }
            self.peaks = {name: max(seen[name], peak) for name, peak in self.peaks.items()}
            if self._over.wait(EVERY_S):
                return

    def stop(self) -> dict[str, int]:
        self._over.set()
        self.join()
        return self.peaks


class Features:
    """One row per test."""

    def __init__(self, result: str) -> None:
        self._result = result
        self._process = psutil.Process()
        self._rows: list[dict[str, Any]] = []

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        traced = coverage.Coverage(data_file=None)
        sampler = Sampler(self._process)
        before, began = self._counters(), time.time()
        sampler.start()
        traced.start()
        yield
        traced.stop()
        took, after = time.time() - began, self._counters()
        data = traced.get_data()
        lines = {file: data.lines(file) or [] for file in data.measured_files()}
        row = {name: after[name] - before[name] for name in before}
        self._rows.append({"id": item.nodeid, "run_time": took, "lines": sum(map(len, lines.values())), **row})
        self._rows[-1] |= sampler.stop()

    def _counters(self) -> dict[str, float]:
        io, times = self._process.io_counters(), self._process.cpu_times()
        return {
            "reads": io.read_count,
            "writes": io.write_count,
            "switches": self._process.num_ctx_switches().voluntary,
            "waited": times.iowait,
        }

    def pytest_sessionfinish(self) -> None:
        with open(self._result, "w") as file:
            json.dump(self._rows, file)


def pytest_configure(config: pytest.Config) -> None:
    """Register what the environment asks for."""
    if "PEER_RESULT" in os.environ:
        config.pluginmanager.register(Features(os.environ["PEER_RESULT"]))
