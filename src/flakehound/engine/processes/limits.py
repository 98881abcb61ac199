"""Time limits of one run."""

from __future__ import annotations

from dataclasses import dataclass

FIRST_TEST_LIMIT_S = 120.0  # while the durations of tests are not known
LEAST_TEST_LIMIT_S = 10.0
TIMES_SLOWEST = 20.0  # a test that takes this many times its slowest run hangs


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long one test and one process may take."""

    test_limit_s: float = FIRST_TEST_LIMIT_S
    run_limit_s: float | None = None


def limit_after(slowest_s: float, named_s: float | None) -> float:
    """The limit for tests whose slowest run is known; the user's own limit wins."""
    return named_s if named_s is not None else max(LEAST_TEST_LIMIT_S, TIMES_SLOWEST * slowest_s)
