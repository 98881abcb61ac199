"""The peer of `features.py`: measures features by the scheme of the published plugin pytest-cannier.

Our implementation of its description, in one pytest session. psutil reads the counters of the process before and
after each test; a thread in the same process samples threads, children and memory while the test runs; coverage is
started and stopped for each test, and its data is read through its public interface.

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

SAMPLE_INTERVAL_S = 0.01


class Sampler(threading.Thread):
    """Records peak values while one test runs."""

    def __init__(self, process: psutil.Process) -> None:
        super().__init__(daemon=True)
        self._process = process
        self._stopped = threading.Event()
        self.peaks = {"threads": 0, "children": 0, "memory": 0}

    def run(self) -> None:
        """Sample until stopped."""
        while True:
            sample = {
                "threads": self._process.num_threads(),
                "children": len(self._process.children(recursive=True)),
                "memory": self._process.memory_info().rss,
            }
            self.peaks = {name: max(sample[name], peak) for name, peak in self.peaks.items()}
            if self._stopped.wait(SAMPLE_INTERVAL_S):
                return

    def stop(self) -> dict[str, int]:
        """Stop and return the peaks."""
        self._stopped.set()
        self.join()
        return self.peaks


class FeatureRecorder:
    """Measures one row per test and writes all rows at the end."""

    def __init__(self, result: str) -> None:
        self._result = result
        self._process = psutil.Process()
        self._rows: list[dict[str, Any]] = []

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Measure one test."""
        tracer = coverage.Coverage(data_file=None)
        sampler = Sampler(self._process)
        before, began = self._counters(), time.time()
        sampler.start()
        tracer.start()
        yield
        tracer.stop()
        took, after = time.time() - began, self._counters()
        data = tracer.get_data()
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
        """Write all rows."""
        with open(self._result, "w") as file:
            json.dump(self._rows, file)


def pytest_configure(config: pytest.Config) -> None:
    """Register the recorder if the environment names a result file."""
    if "PEER_RESULT" in os.environ:
        config.pluginmanager.register(FeatureRecorder(os.environ["PEER_RESULT"]))
