"""Decides when too many tests have failed to rerun more of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.triage.options import MIN_RERUN_FAILURES

if TYPE_CHECKING:
    from flakehound_inside.triage.options import PluginOptions


class Threshold:
    """Counts failures, over all workers of pytest-xdist if they share a file.

    The file has one byte per failure, so that its size is the sum of all failures.
    """

    def __init__(self, options: PluginOptions, tests: int, shared_file: str | None = None) -> None:
        self._options = options
        self._tests = tests
        self._shared_file = shared_file  # None: there are no other workers
        self._own_failures = 0
        self._unshared_failures = 0  # own failures that are not in the file yet
        self._all_failures = 0

    def count_failure(self) -> None:
        """Count one more failed test."""
        self._own_failures += 1
        self._unshared_failures += 1
        self.read_others()

    def read_others(self) -> None:
        """Read the failures that other workers have counted."""
        failures = self._own_failures if self._shared_file is None else self._exchange(self._shared_file)
        self._all_failures = max(self._all_failures, failures)

    @property
    def reason(self) -> str | None:
        """Why nothing more is rerun; None while reruns go on."""
        allowed = self._options.max_failures(self._tests)
        if self._all_failures <= allowed:
            return None
        share = "%g%%" % (self._options.threshold * 100)
        failed = "more than %d of %d tests failed" % (allowed, self._tests)
        limit = "the limit is %s of the tests, at least %d" % (share, MIN_RERUN_FAILURES)
        return "%s (%s): nothing more was rerun" % (failed, limit)

    def _exchange(self, path: str) -> int:
        """Add our failures to the shared file; returns the sum of all."""
        try:
            file = isolated_os.open(path, os.O_WRONLY | os.O_APPEND)
        except OSError:  # a worker on another machine
            return self._own_failures
        try:
            self._unshared_failures -= isolated_os.write(file, b"." * self._unshared_failures)
            return isolated_os.fstat(file).st_size
        finally:
            isolated_os.close(file)
