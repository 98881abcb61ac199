"""How far the opening of a suite is, reported while it is waited for."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from flakehound.engine.processes.collection_progress import CollectionProgress
from flakehound.engine.suite.reference_run import RunProgress

_REPORT_INTERVAL_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningProgress:
    """How far the opening of a suite is."""

    collection: CollectionProgress
    run: RunProgress | None  # None while pytest collects


OpeningReport = Callable[[OpeningProgress], None]


class OpeningWatch:
    """Reports the progress a few times per second."""

    def __init__(self, progress: Callable[[], OpeningProgress], report: OpeningReport) -> None:
        self._progress, self._report = progress, report
        self._last_s = -math.inf

    def report_now_and_then(self) -> None:
        """Report unless that was done a moment ago."""
        now = time.monotonic()
        if now - self._last_s >= _REPORT_INTERVAL_S:
            self._last_s = now
            self._report(self._progress())
