"""Show a long hunt's state: live on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from types import TracebackType

from flakehound.app.output_streams import silence
from flakehound.engine.suite.budget import Budget
from flakehound.engine.suite.loop import Spent

_PLAIN_EVERY_S = 20.0
_LIVE_EVERY_S = 0.2
_CLEAR = "\r\x1b[2K"  # the line that is there


class Progress:
    """Stage, runs done, time left, found so far."""

    def __init__(self, budget: Budget, found: Callable[[], str], stage: Callable[[], str], *, quiet: bool) -> None:
        self._budget = budget
        self._found = found
        self._stage = stage
        self._quiet = quiet
        self._live = sys.stderr.isatty() and not quiet
        self._last = time.monotonic()
        self._shown = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live and self._shown:
            self._write(_CLEAR)

    def say(self, words: str) -> None:
        """One lasting line."""
        self._write(f"{_CLEAR if self._live else ''}{words}\n")

    def tell(self, spent: Spent) -> None:
        """Called after every run; shows something only now and then."""
        now = time.monotonic()
        if self._quiet or now - self._last < (_LIVE_EVERY_S if self._live else _PLAIN_EVERY_S):
            return
        self._last = now
        self._shown = True
        words = self._words(spent)
        self._write(f"{_CLEAR}{words}" if self._live else f"{words}\n")

    def _write(self, text: str) -> None:
        if self._quiet:
            return
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except BrokenPipeError:
            # Nobody watches any more (`2>&1 | head -1`); that must not end the hunt.
            self._quiet = True
            silence(sys.stderr)

    def _words(self, spent: Spent) -> str:
        runs = f"{spent.processes} runs of {spent.test_runs} tests"
        return f"{self._stage()}: {runs}, {self._time()}, found: {self._found() or 'nothing yet'}"

    def _time(self) -> str:
        left_s = self._budget.left_s
        return f"{left_s:.0f} s left" if math.isfinite(left_s) else f"{self._budget.spent_s:.0f} s spent"
