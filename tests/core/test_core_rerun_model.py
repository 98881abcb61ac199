"""The model of reruns compared with exact fractions, with a simulation, and with published figures."""

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
    ModelledTest,
    OutcomeChances,
    chance_of_both_outcomes,
    expected_reruns,
    forecast_rerunning_all,
    forecast_rerunning_callers,
    forecast_rerunning_small_and_callers,
    reruns_for_certainty,
)

NAMED = Path("shared", "data", "python_flaky.csv.gz")
DATA = next((folder / NAMED for folder in Path(__file__).resolve().parents if (folder / NAMED).exists()), NAMED)
RATES = st.one_of(st.floats(1e-12, 1.0), st.floats(0.001, 0.999))


@st.composite
def any_chances(draw: st.DrawFn) -> OutcomeChances:
    passing = draw(RATES)
    failing = draw(st.one_of(st.just(1.0 - passing), st.floats(1e-12, 1.0).map(lambda x: x * (1.0 - passing))))
    return OutcomeChances(passing=passing, failing=failing)


def exact_chance_of_both_outcomes(chances: OutcomeChances, runs: int) -> Fraction:
    p, f = Fraction(chances.passing), Fraction(chances.failing)
    f = min(f, 1 - p)
    return 1 - (1 - f) ** runs - (1 - p) ** runs + (1 - p - f) ** runs


def exact_expected_reruns(chances: OutcomeChances, most: int) -> Fraction:
    u = [exact_chance_of_both_outcomes(chances, x) for x in range(most + 1)]
    return sum((x * (u[x] - u[x - 1]) for x in range(2, most + 1)), Fraction(0)) + most * (1 - u[most])


def by_equation_6(q: float, most: int) -> float:
    exact = {x: q ** (x - 1) * (1 - q) + (1 - q) ** (x - 1) * q for x in range(2, most + 1)}
    mass = {x: exact[x] for x in range(2, most)}
    mass[most] = exact[most] + (1 - sum(exact.values()))
    return sum(x * chance for x, chance in mass.items())


@settings(max_examples=150, deadline=None)
@given(any_chances(), st.integers(1, 60))
def test_the_chance_of_both_outcomes_equals_exact_arithmetic(chances, runs):
    wanted = float(exact_chance_of_both_outcomes(chances, runs))

    assert chance_of_both_outcomes(chances, runs) == pytest.approx(wanted, rel=1e-9, abs=1e-300)


@settings(max_examples=60, deadline=None)
@given(any_chances(), st.integers(2, 40))
def test_the_expected_reruns_equal_the_sum_they_stand_for(chances, most):
    assert expected_reruns(chances, most) == pytest.approx(float(exact_expected_reruns(chances, most)), rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-4, 1 - 1e-4), st.integers(2, 300))
def test_the_expected_reruns_are_those_of_equation_6(q, most):
    assert expected_reruns(OutcomeChances.from_failure_rate(q), most) == pytest.approx(
        by_equation_6(q, most), rel=1e-7
    )


@settings(max_examples=100, deadline=None)
@given(any_chances(), st.integers(1, 10**6), st.integers(1, 10**6))
def test_more_reruns_never_find_less_and_never_cost_less(chances, runs, more):
    assert chance_of_both_outcomes(chances, runs + more) >= chance_of_both_outcomes(chances, runs) * (1 - 1e-12)
    assert expected_reruns(chances, runs + more) >= expected_reruns(chances, runs) * (1 - 1e-12)


def simulate_reruns(chances: OutcomeChances, most: int, rng: random.Random) -> tuple[bool, int]:
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
    chances, rng, times = OutcomeChances(passing=passing, failing=failing), random.Random(20210), 6000

    runs = [simulate_reruns(chances, most, rng) for _ in range(times)]

    found, made = [float(hit) for hit, _n in runs], [float(n) for _hit, n in runs]
    for values, wanted in (
        (found, chance_of_both_outcomes(chances, most)),
        (made, expected_reruns(chances, most)),
    ):
        error = statistics.stdev(values) / math.sqrt(times)
        assert abs(statistics.fmean(values) - wanted) < 4.5 * error


@pytest.mark.parametrize("rate", [1e-15, 1e-9, 1e-4, 0.3])
def test_tiny_rates_and_huge_numbers_of_runs_stay_accurate(rate):
    chances = OutcomeChances.from_failure_rate(rate)
    passing = Fraction(1.0 - rate)

    two = float(2 * passing * Fraction(rate))
    assert chance_of_both_outcomes(chances, 2) == pytest.approx(two, rel=1e-12)
    assert chance_of_both_outcomes(chances, 100 / rate) == pytest.approx(1.0)
    assert expected_reruns(chances, 1e18) == pytest.approx(1 / rate + 1 / (1 - rate) - 1, rel=1e-9)
    assert expected_reruns(chances, math.inf) == pytest.approx(1 / rate + 1 / (1 - rate) - 1, rel=1e-9)


def test_the_chance_is_accurate_for_a_test_that_is_mostly_skipped():
    chances = OutcomeChances(passing=1e-9, failing=1e-9)

    assert chance_of_both_outcomes(chances, 1000) == pytest.approx(1000 * 999 * 1e-18, rel=1e-5)


@pytest.mark.parametrize(
    "chances", [OutcomeChances(passing=1.0, failing=0.0), OutcomeChances(passing=0.0, failing=1.0)]
)
def test_a_steady_test_never_shows_both_outcomes_and_costs_every_rerun(chances):
    assert chance_of_both_outcomes(chances, 10**9) == 0.0
    assert expected_reruns(chances, 170) == 170
    assert reruns_for_certainty(chances) == math.inf


def test_impossible_chances_are_refused():
    with pytest.raises(ValueError, match="no chances"):
        OutcomeChances(passing=0.8, failing=0.3)
    with pytest.raises(ValueError, match="at least one run"):
        OutcomeChances.from_counts(passed=0, failed=0)


def test_certainty_is_reached_by_the_run_named_and_not_before():
    chances = OutcomeChances.from_failure_rate(0.0175)
    fewest = reruns_for_certainty(chances)

    assert chance_of_both_outcomes(chances, fewest) >= 0.95 > chance_of_both_outcomes(chances, fewest - 1)


def test_preselection_saves_reruns_and_may_yet_cost_time():
    # Half of the tests are small and call no characteristic function, as in CALLS.
    steady = OutcomeChances(passing=1.0, failing=0.0)
    flaky = OutcomeChances.from_failure_rate(0.05)
    tests = [ModelledTest(chances=steady, run_s=0.001, calls_characteristic=False)] * 55
    tests += [ModelledTest(chances=steady, run_s=0.1)] * 40 + [ModelledTest(chances=flaky, run_s=0.1)] * 5

    every, callers = forecast_rerunning_all(tests, 10), forecast_rerunning_callers(tests, 10, slowdown=0.361)
    split = forecast_rerunning_small_and_callers(tests, 10, slowdown=0.361)

    assert callers.detections == pytest.approx(every.detections)
    assert callers.reruns < 0.6 * every.reruns
    assert callers.time_s > every.time_s
    assert split.reruns == pytest.approx(every.reruns + 45)


def test_the_costs_of_rerun_are_those_of_table_8_of_cannier():
    # CANNIER, table 3: celery has 2,336 tests that take 131 s.
    tests = [ModelledTest(chances=OutcomeChances(passing=1.0, failing=0.0), run_s=131 / 2336)] * 2336

    assert forecast_rerunning_all(tests, 2500).time_s == pytest.approx(3.28e5, rel=0.005)


@pytest.mark.skipif(not DATA.exists(), reason=f"needs {DATA}, which only the project's own machines have")
def test_the_median_nod_test_of_gruber_needs_170_reruns():
    with gzip.open(DATA, "rt", newline="") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if "True" not in (row["Order-dependent"], row["Flaky_Infrastructure"])
        ]

    needed = [_reruns_needed(row) for row in rows]

    assert statistics.median(needed) == 170


def _reruns_needed(row: dict[str, str]) -> float:
    passed = int(row["Passed_sameOrder"])
    failed = int(row["Failed_sameOrder"]) + int(row["Error_sameOrder"])
    runs = passed + failed + int(row["Skipped_sameOrder"])  # the set's own count of runs leaves some out
    return reruns_for_certainty(OutcomeChances.from_counts(passed=passed, failed=failed, runs=runs))
