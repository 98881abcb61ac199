"""What rerunning a test until it both passed and failed is expected to bring and to cost.

Runs are taken for independent, as in the sources. Every sum over runs has a closed form, and no two nearly equal
numbers are subtracted: a failure in a billion runs and a billion reruns come out right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, expm1, inf, log1p

SMALL_TEST_S = 0.004  # below it a rerun costs less than to find out whether it is worthwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class Chances:
    """How likely one run passes or fails; what is left is neither, such as a skip."""

    passing: float
    failing: float

    def __post_init__(self) -> None:
        if min(self.passing, self.failing) < 0 or self.passing + self.failing > 1 + 1e-9:
            raise ValueError(f"no chances: passing {self.passing}, failing {self.failing}")

    @classmethod
    def from_counts(cls, *, passed: int, failed: int, runs: int | None = None) -> Chances:
        """Shares of the runs seen; `runs` counts also those that did neither."""
        total = passed + failed if runs is None else runs
        if total <= 0:
            raise ValueError("chances need at least one run")
        return cls(passing=passed / total, failing=failed / total)

    @classmethod
    def of_failure_rate(cls, rate: float) -> Chances:
        """Of a test that is never skipped."""
        return cls(passing=1.0 - rate, failing=rate)


def chance_unveiled(chances: Chances, runs: float) -> float:
    """U(n): how likely both a pass and a failure are among `runs` runs.

    1 - (1-f)^n - (1-p)^n + (1-p-f)^n, written as the chance of two independent events less what they share.
    """
    p, f = chances.passing, chances.failing
    if runs <= 1 or p <= 0.0 or f <= 0.0 or p >= 1.0 or f >= 1.0:
        return 0.0
    never_failed, never_passed = runs * log1p(-f), runs * log1p(-p)
    shared = min(1.0, p * f / ((1.0 - p) * (1.0 - f)))  # 1 where every run passes or fails
    neither = 1.0 if shared == 1.0 else -expm1(runs * log1p(-shared))
    unveiled = expm1(never_failed) * expm1(never_passed) - exp(never_failed + never_passed) * neither
    return min(1.0, max(0.0, unveiled))


def expected_reruns(chances: Chances, most: float) -> float:
    """E[R(n)]: runs made when it stops at the first contradiction, and after `most` at the latest.

    Also CANNIER's equation 6, with `Chances.of_failure_rate(B / N)`.
    """
    if most <= 1:
        return max(0.0, most)
    p, f = chances.passing, chances.failing
    if min(p, f) <= 0.0:
        return most
    # A run is made for every earlier state without contradiction: all passed or skipped, or all failed or skipped.
    return _powers(f, most) + _powers(p, most) - _powers(min(1.0, p + f), most)


def _powers(missing: float, runs: float) -> float:
    """The sum of (1 - missing)^x for x from 0 to runs - 1."""
    if missing >= 1.0:
        return 1.0
    return -expm1(runs * log1p(-missing)) / missing


def reruns_for_certainty(chances: Chances, certainty: float = 0.95) -> float:
    """The fewest runs that unveil the test with this certainty; infinite where none do."""
    if not 0 < certainty < 1:
        raise ValueError(f"certainty must be between 0 and 1: {certainty}")
    if chance_unveiled(chances, inf) < certainty:
        return inf
    low, high = 1, 2
    while chance_unveiled(chances, high) < certainty:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if chance_unveiled(chances, middle) < certainty:
            low = middle
        else:
            high = middle
    return high


@dataclass(frozen=True, slots=True, kw_only=True)
class RerunTest:
    """A test as the model sees it."""

    chances: Chances
    run_s: float
    is_marked: bool = True  # calls a characteristic function


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a way of rerunning is expected to bring."""

    detections: float
    reruns: float  # with the traced ones
    time_s: float


def expected(
    tests: Iterable[RerunTest], most: float, *, traced: Iterable[RerunTest] = (), slowdown: float = 0.0
) -> Expected:
    """Rerun `tests` up to `most` times each, after one run of each of `traced`, slower by the share `slowdown`."""
    detections = reruns = time_s = 0.0
    for test in tests:
        made = expected_reruns(test.chances, most)
        detections += chance_unveiled(test.chances, most)
        reruns += made
        time_s += made * test.run_s
    for test in traced:
        reruns += 1
        time_s += test.run_s * (1.0 + slowdown)
    return Expected(detections=detections, reruns=reruns, time_s=time_s)


def expected_of_all(tests: Sequence[RerunTest], most: float) -> Expected:
    """Rerun every test: the baseline."""
    return expected(tests, most)


def expected_of_marked(tests: Sequence[RerunTest], most: float, slowdown: float = 0.0) -> Expected:
    """Trace every test once, rerun those that call a characteristic function."""
    return expected([test for test in tests if test.is_marked], most, traced=tests, slowdown=slowdown)


def expected_of_size_split(
    tests: Sequence[RerunTest], most: float, slowdown: float = 0.0, small_s: float = SMALL_TEST_S
) -> Expected:
    """Rerun small tests always, trace the others once and rerun those that call a characteristic function."""
    large = [test for test in tests if test.run_s >= small_s]
    chosen = [test for test in tests if test.run_s < small_s or test.is_marked]
    return expected(chosen, most, traced=large, slowdown=slowdown)


def classification_attempts(failures: int, recheck: float = 0.2) -> float:
    """Equation 7: how often Classification is tried on a test that failed so often in shuffled orders."""
    return 0.0 if failures <= 0 else 1.0 + recheck * (failures - 1)


def pairwise_time_s(polluter_s: Sequence[float], victim_s: Sequence[float]) -> float:
    """Equation 8: every pair of a possible polluter and a possible victim, each given by its run time."""
    return len(polluter_s) * sum(victim_s) + len(victim_s) * sum(polluter_s)
