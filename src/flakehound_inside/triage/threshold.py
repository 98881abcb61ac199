"""How many failures may be rerun before it is plain that something larger is broken."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.triage.options import LEAST_FAILURES

if TYPE_CHECKING:
    from flakehound_inside.triage.options import Wishes


class Threshold:
    """Counts failures, over all workers of pytest-xdist where they share a file.

    The file has one byte per failure: whoever appends reads the sum of all from its size.
    """

    def __init__(self, wishes: Wishes, tests: int, tally: str | None = None) -> None:
        self._wishes = wishes
        self._tests = tests
        self._tally = tally  # None: this process is alone
        self._own = 0
        self._unsaid = 0  # of our own, not in the file yet
        self._all = 0

    def count(self) -> None:
        """One more test has failed."""
        self._own += 1
        self._unsaid += 1
        self.look()

    def look(self) -> None:
        """Learn what others have counted."""
        self._all = max(self._all, self._own if self._tally is None else self._shared(self._tally))

    @property
    def words(self) -> str | None:
        """Why nothing more is rerun; None while reruns go on."""
        most = self._wishes.most_failures(self._tests)
        if self._all <= most:
            return None
        share = "%g%%" % (self._wishes.threshold * 100)
        failed = "more than %d of %d tests failed" % (most, self._tests)
        limit = "the limit is %s of the tests, at least %d" % (share, LEAST_FAILURES)
        return "%s (%s): nothing more was rerun" % (failed, limit)

    def _shared(self, tally: str) -> int:
        try:
            file = isolated_os.open(tally, os.O_WRONLY | os.O_APPEND)
        except OSError:  # a worker on another machine
            return self._own
        try:
            self._unsaid -= isolated_os.write(file, b"." * self._unsaid)
            return isolated_os.fstat(file).st_size
        finally:
            isolated_os.close(file)
