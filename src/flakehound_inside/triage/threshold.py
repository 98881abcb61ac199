"""How many failures are rerun before it is clear that something larger is broken."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.triage.options import MIN_RERUN_FAILURES

if TYPE_CHECKING:
    from flakehound_inside.triage.options import PluginOptions


class Threshold:
    """Counts failures, over all workers of pytest-xdist where they share a file.

    The file has one byte per failure: whoever appends reads the sum of all from its size.
    """

    def __init__(self, options: PluginOptions, tests: int, shared_file: str | None = None) -> None:
        self._options = options
        self._tests = tests
        self._shared_file = shared_file  # None: there are no other workers
        self._own = 0
        self._unshared = 0  # of our own, not in the file yet
        self._all = 0

    def count_failure(self) -> None:
        """Count one more failed test."""
        self._own += 1
        self._unshared += 1
        self.read_others()

    def read_others(self) -> None:
        """Read what other workers have counted."""
        counted = self._own if self._shared_file is None else self._exchange(self._shared_file)
        self._all = max(self._all, counted)

    @property
    def reason(self) -> str | None:
        """Why nothing more is rerun; None while reruns go on."""
        most = self._options.max_failures(self._tests)
        if self._all <= most:
            return None
        share = "%g%%" % (self._options.threshold * 100)
        failed = "more than %d of %d tests failed" % (most, self._tests)
        limit = "the limit is %s of the tests, at least %d" % (share, MIN_RERUN_FAILURES)
        return "%s (%s): nothing more was rerun" % (failed, limit)

    def _exchange(self, path: str) -> int:
        """Add our failures to the shared file; the sum of all."""
        try:
            file = isolated_os.open(path, os.O_WRONLY | os.O_APPEND)
        except OSError:  # a worker on another machine
            return self._own
        try:
            self._unshared -= isolated_os.write(file, b"." * self._unshared)
            return isolated_os.fstat(file).st_size
        finally:
            isolated_os.close(file)
