"""Time limits of one run."""

from __future__ import annotations

from dataclasses import dataclass

FIRST_TEST_LIMIT_S = 120.0  # while the durations of tests are not known
MIN_TEST_LIMIT_S = 10.0
MAX_TIMES_SLOWEST_RUN = 20.0  # a test that takes longer than this many times its slowest run hangs


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long one test and one process may take."""

    test_limit_s: float = FIRST_TEST_LIMIT_S
    run_limit_s: float | None = None


def test_limit_for(slowest_s: float, user_limit_s: float | None) -> float:
    """The limit for one test, given the slowest run of a test so far; the user's limit takes precedence."""
    return user_limit_s if user_limit_s is not None else max(MIN_TEST_LIMIT_S, MAX_TIMES_SLOWEST_RUN * slowest_s)
