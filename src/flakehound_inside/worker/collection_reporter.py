"""Reports how far the collection of a suite is, in a small file that the engine reads while it waits."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from flakehound_inside.isolated_os import isolated_os

if TYPE_CHECKING:
    from typing import Any

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


class CollectionReporter:
    """A pytest plugin that writes the numbers of files and tests so far, and the file that is collected now."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._files = 0
        self._tests = 0

    def pytest_collectstart(self, collector: Any) -> None:
        """Report the file whose import begins."""
        if isinstance(collector, pytest.File) and not isinstance(collector, pytest.Package):
            self._files += 1
            self._write(collector.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count the tests that a file or class contains."""
        self._tests += sum(isinstance(node, pytest.Item) for node in report.result or ())

    def _write(self, current_file: str) -> None:
        # Opened each time: a descriptor that stays open for writing is a reason against forking.
        try:
            file = isolated_os.open(self._path, _FLAGS, 0o600)
        except OSError:  # only a report
            return
        try:
            isolated_os.write(file, isolated_os.dumps([self._files, self._tests, current_file]).encode())
        finally:
            isolated_os.close(file)
