"""A model of rerunning tests until they have both passed and failed: expected detections, runs and time.

Runs are treated as independent, as in the sources. Every sum over runs has a closed form, and no two nearly equal
numbers are subtracted, so the results are accurate even for one failure in a billion runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, expm1, inf, log1p

# A rerun of a faster test costs less than finding out whether the rerun is worthwhile (CALLS).
SMALL_TEST_S = 0.004


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeChances:
    """How likely one run passes and how likely it fails; the rest is neither, such as a skip."""

    passing: float
    failing: float

    def __post_init__(self) -> None:
        if min(self.passing, self.failing) < 0 or self.passing + self.failing > 1 + 1e-9:
            raise ValueError(f"no chances: passing {self.passing}, failing {self.failing}")

    @classmethod
    def from_counts(cls, *, passed: int, failed: int, runs: int | None = None) -> OutcomeChances:
        """The shares of recorded runs; `runs` also counts those that neither passed nor failed."""
        total = passed + failed if runs is None else runs
        if total <= 0:
            raise ValueError("chances need at least one run")
        return cls(passing=passed / total, failing=failed / total)

    @classmethod
    def from_failure_rate(cls, rate: float) -> OutcomeChances:
        """The chances of a test that is never skipped."""
        return cls(passing=1.0 - rate, failing=rate)


def chance_of_both_outcomes(chances: OutcomeChances, runs: float) -> float:
    """U(n) of CALLS: how likely `runs` runs contain both a pass and a failure.

    1 - (1-f)^n - (1-p)^n + (1-p-f)^n, written as the chance of two independent events less what they share.
    """
    p, f = chances.passing, chances.failing
    if runs <= 1 or p <= 0.0 or f <= 0.0 or p >= 1.0 or f >= 1.0:
        return 0.0
    log_never_failed, log_never_passed = runs * log1p(-f), runs * log1p(-p)
    shared = min(1.0, p * f / ((1.0 - p) * (1.0 - f)))  # 1 if every run passes or fails
    neither = 1.0 if shared == 1.0 else -expm1(runs * log1p(-shared))
    both = expm1(log_never_failed) * expm1(log_never_passed) - exp(log_never_failed + log_never_passed) * neither
    return min(1.0, max(0.0, both))


def expected_reruns(chances: OutcomeChances, max_runs: float) -> float:
    """E[R(n)] of CALLS: the mean number of runs if reruns stop once both outcomes were seen, or after `max_runs`.

    This is also equation 6 of CANNIER, with `OutcomeChances.from_failure_rate(B / N)`.
    """
    if max_runs <= 1:
        return max(0.0, max_runs)
    p, f = chances.passing, chances.failing
    if min(p, f) <= 0.0:
        return max_runs
    # There is a next run if all earlier ones passed or were skipped, or all earlier ones failed or were skipped.
    return _sum_of_powers(f, max_runs) + _sum_of_powers(p, max_runs) - _sum_of_powers(min(1.0, p + f), max_runs)


def _sum_of_powers(missing: float, runs: float) -> float:
    """The sum of (1 - missing)^x for x from 0 to runs - 1."""
    if missing >= 1.0:
        return 1.0
    return -expm1(runs * log1p(-missing)) / missing


def reruns_for_certainty(chances: OutcomeChances, certainty: float = 0.95) -> float:
    """The smallest number of runs that show both outcomes with this certainty; infinite if there is none."""
    if not 0 < certainty < 1:
        raise ValueError(f"certainty must be between 0 and 1: {certainty}")
    if chance_of_both_outcomes(chances, inf) < certainty:
        return inf
    low, high = 1, 2
    while chance_of_both_outcomes(chances, high) < certainty:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if chance_of_both_outcomes(chances, middle) < certainty:
            low = middle
        else:
            high = middle
    return high


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelledTest:
    """What the model needs to know about one test."""

    chances: OutcomeChances
    run_s: float
    calls_characteristic: bool = True  # it calls a characteristic function


@dataclass(frozen=True, slots=True, kw_only=True)
class RerunForecast:
    """What one strategy of rerunning is expected to bring and to cost."""

    detections: float
    reruns: float  # including the traced runs
    time_s: float


def forecast_reruns(
    tests: Iterable[ModelledTest], max_runs: float, *, traced: Iterable[ModelledTest] = (), slowdown: float = 0.0
) -> RerunForecast:
    """Rerun each of `tests` up to `max_runs` times, after one traced run of each of `traced`.

    A traced run is slower by the share `slowdown`.
    """
    detections = reruns = time_s = 0.0
    for test in tests:
        own_reruns = expected_reruns(test.chances, max_runs)
        detections += chance_of_both_outcomes(test.chances, max_runs)
        reruns += own_reruns
        time_s += own_reruns * test.run_s
    for test in traced:
        reruns += 1
        time_s += test.run_s * (1.0 + slowdown)
    return RerunForecast(detections=detections, reruns=reruns, time_s=time_s)


def forecast_rerunning_all(tests: Sequence[ModelledTest], max_runs: float) -> RerunForecast:
    """Rerun every test: the baseline."""
    return forecast_reruns(tests, max_runs)


def forecast_rerunning_callers(
    tests: Sequence[ModelledTest], max_runs: float, slowdown: float = 0.0
) -> RerunForecast:
    """Trace every test once, then rerun those that call a characteristic function."""
    callers = [test for test in tests if test.calls_characteristic]
    return forecast_reruns(callers, max_runs, traced=tests, slowdown=slowdown)


def forecast_rerunning_small_and_callers(
    tests: Sequence[ModelledTest], max_runs: float, slowdown: float = 0.0, small_s: float = SMALL_TEST_S
) -> RerunForecast:
    """Rerun all small tests; trace the others once and rerun those that call a characteristic function."""
    large = [test for test in tests if test.run_s >= small_s]
    chosen = [test for test in tests if test.run_s < small_s or test.calls_characteristic]
    return forecast_reruns(chosen, max_runs, traced=large, slowdown=slowdown)
