"""The model of reruns against exact fractions, against simulation, and against the sources' figures."""

from __future__ import annotations

import csv
import gzip
import math
import random
import statistics
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flakehound.core.statistics.rerun_model import (
    Chances,
    RerunTest,
    chance_unveiled,
    classification_attempts,
    expected,
    expected_of_all,
    expected_of_marked,
    expected_of_size_split,
    expected_reruns,
    pairwise_time_s,
    reruns_for_certainty,
)

NAMED = Path("shared", "data", "python_flaky.csv.gz")
DATA = next((folder / NAMED for folder in Path(__file__).resolve().parents if (folder / NAMED).exists()), NAMED)
RATES = st.one_of(st.floats(1e-12, 1.0), st.floats(0.001, 0.999))


@st.composite
def any_chances(draw: st.DrawFn) -> Chances:
    passing = draw(RATES)
    failing = draw(st.one_of(st.just(1.0 - passing), st.floats(1e-12, 1.0).map(lambda x: x * (1.0 - passing))))
    return Chances(passing=passing, failing=failing)


def exactly_unveiled(chances: Chances, runs: int) -> Fraction:
    p, f = Fraction(chances.passing), Fraction(chances.failing)
    f = min(f, 1 - p)
    return 1 - (1 - f) ** runs - (1 - p) ** runs + (1 - p - f) ** runs


def exactly_expected(chances: Chances, most: int) -> Fraction:
    u = [exactly_unveiled(chances, x) for x in range(most + 1)]
    return sum((x * (u[x] - u[x - 1]) for x in range(2, most + 1)), Fraction(0)) + most * (1 - u[most])


def by_equation_6(q: float, most: int) -> float:
    exact = {x: q ** (x - 1) * (1 - q) + (1 - q) ** (x - 1) * q for x in range(2, most + 1)}
    mass = {x: exact[x] for x in range(2, most)}
    mass[most] = exact[most] + (1 - sum(exact.values()))
    return sum(x * chance for x, chance in mass.items())


@settings(max_examples=150, deadline=None)
@given(any_chances(), st.integers(1, 60))
def test_the_chance_to_unveil_equals_exact_arithmetic(chances, runs):
    wanted = float(exactly_unveiled(chances, runs))

    assert chance_unveiled(chances, runs) == pytest.approx(wanted, rel=1e-9, abs=1e-300)


@settings(max_examples=60, deadline=None)
@given(any_chances(), st.integers(2, 40))
def test_the_expected_reruns_equal_the_sum_they_stand_for(chances, most):
    assert expected_reruns(chances, most) == pytest.approx(float(exactly_expected(chances, most)), rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-4, 1 - 1e-4), st.integers(2, 300))
def test_the_expected_reruns_are_those_of_equation_6(q, most):
    assert expected_reruns(Chances.of_failure_rate(q), most) == pytest.approx(by_equation_6(q, most), rel=1e-7)


@settings(max_examples=100, deadline=None)
@given(any_chances(), st.integers(1, 10**6), st.integers(1, 10**6))
def test_more_reruns_never_unveil_less_and_never_cost_less(chances, runs, more):
    assert chance_unveiled(chances, runs + more) >= chance_unveiled(chances, runs) * (1 - 1e-12)
    assert expected_reruns(chances, runs + more) >= expected_reruns(chances, runs) * (1 - 1e-12)


def simulated(chances: Chances, most: int, rng: random.Random) -> tuple[bool, int]:
    seen = set()
    for run in range(1, most + 1):
        drawn = rng.random()
        seen.add("P" if drawn < chances.passing else "F" if drawn < chances.passing + chances.failing else "S")
        if {"P", "F"} <= seen:
            return True, run
    return False, most


@pytest.mark.parametrize(
    ("passing", "failing", "most"),
    [(0.9, 0.1, 10), (0.5, 0.5, 4), (0.97, 0.01, 60), (0.2, 0.3, 6), (0.999, 0.001, 200)],
)
def test_simulated_reruns_agree_with_the_model(passing, failing, most):
    chances, rng, times = Chances(passing=passing, failing=failing), random.Random(20210), 6000

    runs = [simulated(chances, most, rng) for _ in range(times)]

    found, made = [float(hit) for hit, _n in runs], [float(n) for _hit, n in runs]
    for values, wanted in ((found, chance_unveiled(chances, most)), (made, expected_reruns(chances, most))):
        error = statistics.stdev(values) / math.sqrt(times)
        assert abs(statistics.fmean(values) - wanted) < 4.5 * error


@pytest.mark.parametrize("rate", [1e-15, 1e-9, 1e-4, 0.3])
def test_tiny_rates_and_huge_numbers_of_runs_stay_accurate(rate):
    chances = Chances.of_failure_rate(rate)
    passing = Fraction(1.0 - rate)

    two = float(2 * passing * Fraction(rate))
    assert chance_unveiled(chances, 2) == pytest.approx(two, rel=1e-12)
    assert chance_unveiled(chances, 100 / rate) == pytest.approx(1.0)
    assert expected_reruns(chances, 1e18) == pytest.approx(1 / rate + 1 / (1 - rate) - 1, rel=1e-9)
    assert expected_reruns(chances, math.inf) == pytest.approx(1 / rate + 1 / (1 - rate) - 1, rel=1e-9)


def test_a_test_mostly_skipped_keeps_its_digits():
    chances = Chances(passing=1e-9, failing=1e-9)

    assert chance_unveiled(chances, 1000) == pytest.approx(1000 * 999 * 1e-18, rel=1e-5)


@pytest.mark.parametrize("chances", [Chances(passing=1.0, failing=0.0), Chances(passing=0.0, failing=1.0)])
def test_a_steady_test_is_never_unveiled_and_costs_every_rerun(chances):
    assert chance_unveiled(chances, 10**9) == 0.0
    assert expected_reruns(chances, 170) == 170
    assert reruns_for_certainty(chances) == math.inf


def test_impossible_chances_are_refused():
    with pytest.raises(ValueError, match="no chances"):
        Chances(passing=0.8, failing=0.3)
    with pytest.raises(ValueError, match="at least one run"):
        Chances.from_counts(passed=0, failed=0)


def test_certainty_is_reached_by_the_run_named_and_not_before():
    chances = Chances.of_failure_rate(0.0175)
    fewest = reruns_for_certainty(chances)

    assert chance_unveiled(chances, fewest) >= 0.95 > chance_unveiled(chances, fewest - 1)


def test_preselection_saves_reruns_and_may_yet_cost_time():
    # Half of the tests are small and unmarked, as in the source.
    steady = Chances(passing=1.0, failing=0.0)
    flaky = Chances.of_failure_rate(0.05)
    tests = [RerunTest(chances=steady, run_s=0.001, is_marked=False)] * 55
    tests += [RerunTest(chances=steady, run_s=0.1)] * 40 + [RerunTest(chances=flaky, run_s=0.1)] * 5

    every, marked = expected_of_all(tests, 10), expected_of_marked(tests, 10, slowdown=0.361)
    split = expected_of_size_split(tests, 10, slowdown=0.361)

    assert marked.detections == pytest.approx(every.detections)
    assert marked.reruns < 0.6 * every.reruns
    assert marked.time_s > every.time_s
    assert split.reruns == pytest.approx(every.reruns + 45)


def test_the_sources_own_sums_come_out():
    # CANNIER, table 3: celery has 2,336 tests that take 131 s; tables 8 and 10 give what the techniques cost.
    tests = [RerunTest(chances=Chances(passing=1.0, failing=0.0), run_s=131 / 2336)] * 2336

    assert expected(tests, 2500).time_s == pytest.approx(3.28e5, rel=0.005)
    assert pairwise_time_s([131 / 2336] * 2336, [131 / 2336] * 2336) == pytest.approx(6.12e5, rel=0.005)
    assert classification_attempts(11) == pytest.approx(3.0)
    assert classification_attempts(0) == 0.0


@pytest.mark.skipif(not DATA.exists(), reason=f"needs {DATA}, which only the project's own machines have")
def test_the_median_nod_test_of_gruber_needs_170_reruns():
    with gzip.open(DATA, "rt", newline="") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if "True" not in (row["Order-dependent"], row["Flaky_Infrastructure"])
        ]

    needed = [_needed(row) for row in rows]

    assert statistics.median(needed) == 170


def _needed(row: dict[str, str]) -> float:
    passed = int(row["Passed_sameOrder"])
    failed = int(row["Failed_sameOrder"]) + int(row["Error_sameOrder"])
    runs = passed + failed + int(row["Skipped_sameOrder"])  # the set's own count of runs leaves some out
    return reruns_for_certainty(Chances.from_counts(passed=passed, failed=failed, runs=runs))
