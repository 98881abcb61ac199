"""Time limits of one run."""

from __future__ import annotations

from dataclasses import dataclass

FIRST_TEST_LIMIT_S = 120.0  # while the durations of tests are not known
# The same in a hunt with little time, as a share of it: one test that hangs in the first run, where all others
# wait for it, cost a hunt of ten minutes two of them.
_MAX_FIRST_SHARE = 0.1
_MIN_FIRST_TEST_LIMIT_S = 30.0
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


def first_test_limit_s(budget_s: float) -> float:
    """The limit for one test in the first runs of a hunt with this much time."""
    return min(FIRST_TEST_LIMIT_S, max(_MIN_FIRST_TEST_LIMIT_S, _MAX_FIRST_SHARE * budget_s))
