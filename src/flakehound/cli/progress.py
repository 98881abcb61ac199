"""Show a long hunt's state: live on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType

from flakehound.engine.budget import Budget
from flakehound.engine.loop import Spent

_PLAIN_EVERY_S = 20.0
_LIVE_EVERY_S = 0.2


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
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()

    def say(self, words: str) -> None:
        """One lasting line."""
        if not self._quiet:
            clear = "\r\x1b[2K" if self._live else ""
            sys.stderr.write(f"{clear}{words}\n")
            sys.stderr.flush()

    def tell(self, spent: Spent) -> None:
        """Called after every run; shows something only now and then."""
        now = time.monotonic()
        if self._quiet or now - self._last < (_LIVE_EVERY_S if self._live else _PLAIN_EVERY_S):
            return
        self._last = now
        self._shown = True
        words = self._words(spent)
        if self._live:
            sys.stderr.write(f"\r\x1b[2K{words}")
        else:
            sys.stderr.write(words + "\n")
        sys.stderr.flush()

    def _words(self, spent: Spent) -> str:
        left = f"{self._budget.left_s:.0f} s left"
        runs = f"{spent.processes} runs of {spent.test_runs} tests"
        return f"{self._stage()}: {runs}, {left}, found: {self._found() or 'nothing yet'}"
