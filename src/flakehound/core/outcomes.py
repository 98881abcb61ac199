"""What became of one test in one run."""

from __future__ import annotations

from enum import Enum
from typing import NewType

NodeId = NewType("NodeId", str)
"""A test's name, exactly as pytest prints it."""


class Outcome(Enum):
    """How one execution of one test ended; the value is the letter in the store."""

    PASSED = "P"
    FAILED = "F"
    ERROR = "E"  # setup or teardown raised
    CRASHED = "C"  # the process died while the test ran
    TIMED_OUT = "T"
    SKIPPED = "S"
    XFAILED = "x"
    XPASSED = "X"  # not strict: pytest counts it as a pass
    NOT_RUN = "-"  # the process ended before it, or it ran in the process this one is a copy of

    @property
    def is_failure(self) -> bool:
        """Whether a build would turn red because of it."""
        return self in _FAILURES

    @property
    def is_pass(self) -> bool:
        """Whether the test ran and did not turn the build red; a skip is neither a pass nor a failure."""
        return self in _PASSES


_FAILURES = frozenset({Outcome.FAILED, Outcome.ERROR, Outcome.CRASHED, Outcome.TIMED_OUT})
_PASSES = frozenset({Outcome.PASSED, Outcome.XFAILED, Outcome.XPASSED})
