"""The index: its formula, replays of policies by it, and what its import loads."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from flakehound.core.statistics.index import (
    PYTHON_NOD,
    BetaPrior,
    PassingTest,
    chance_of_detection,
    chance_of_flaky,
)
from flakehound.learn.evaluation.prior_fit import fit_failure_rates
from flakehound.learn.evaluation.prior_table import observed_tests
from flakehound.learn.evaluation.simulation import (
    MEASURING_COST_IN_RUNS,
    ObservedTests,
    SimulatedSuite,
    detection_times_by_index,
    detection_times_by_sweeps,
    draw_runs_needed,
    draw_suite,
    knowledge_from_tests,
    replay_policies,
    time_to_find,
)

RATES = BetaPrior(a=0.5, b=2.0)


def test_the_chances_equal_those_of_a_simulation():
    rng = np.random.default_rng(2)
    flaky = rng.random(400_000) < 0.2
    rate = np.where(flaky, rng.beta(0.5, 2.0, 400_000), 0)
    passed = rng.random(400_000) < (1 - rate) ** 5

    known = PassingTest(prior=0.2, passed=5)

    assert chance_of_flaky(known, RATES) == pytest.approx(flaky[passed].mean(), abs=0.004)
    assert chance_of_detection(known, RATES) == pytest.approx(rate[passed].mean(), abs=0.002)


def test_the_chance_of_detection_falls_with_each_pass_and_grows_with_the_prior():
    base = chance_of_detection(PassingTest(prior=0.1, passed=3), RATES)

    assert chance_of_detection(PassingTest(prior=0.1, passed=4), RATES) < base
    assert chance_of_detection(PassingTest(prior=0.2, passed=3), RATES) > base
    assert chance_of_detection(PassingTest(prior=0.0, passed=3), RATES) == 0


def test_the_fit_finds_the_distribution_that_counts_were_drawn_from():
    rng = np.random.default_rng(1)
    failed = rng.binomial(200, rng.beta(0.5, 2.0, 4000))

    fit = fit_failure_rates(failed, np.full(4000, 200))

    assert fit.prior.a == pytest.approx(0.5, rel=0.1)
    assert fit.prior.b == pytest.approx(2.0, rel=0.1)
    assert PYTHON_NOD.a > 0


def test_the_replay_by_index_equals_choosing_run_by_run():
    rng = np.random.default_rng(4)
    rate = np.where(rng.random(30) < 0.3, rng.uniform(0.05, 0.4, 30), 0)
    suite = SimulatedSuite(
        failure_rate=rate, cost_s=rng.uniform(0.1, 3, 30), prior=rng.uniform(0.05, 0.4, 30), calls=rate > 0
    )
    needed = draw_runs_needed(rate, rng)

    replay = detection_times_by_index(suite, needed, suite.prior, RATES)

    # The replay counts all runs of a test but the last one as passes; so does this.
    def index(test):
        return (
            chance_of_detection(PassingTest(prior=suite.prior[test], passed=runs[test]), RATES)
            / suite.cost_s[test]
        )

    clock, runs, found = 0.0, [0] * 30, {}
    while len(found) < (rate > 0).sum():
        test = max(set(range(30)) - found.keys(), key=index)
        clock, runs[test] = clock + suite.cost_s[test], runs[test] + 1
        if runs[test] == needed[test]:
            found[test] = clock
    assert replay.tolist() == pytest.approx([found[i] for i in np.flatnonzero(rate > 0)])


def test_the_replay_of_sweeps_equals_running_test_after_test():
    rng = np.random.default_rng(4)
    rate = np.array([0.3, 0, 0.2, 0])
    suite = SimulatedSuite(failure_rate=rate, cost_s=np.array([1.0, 2, 3, 4]), prior=rate, calls=rate > 0)
    needed = draw_runs_needed(rate, rng)

    found = detection_times_by_sweeps(suite, needed, np.array([True] * 4))

    clock, expected = 0.0, {}
    for sweep in range(1, int(needed[[0, 2]].max()) + 1):
        for test in range(4):
            if sweep <= needed[test]:
                clock += suite.cost_s[test]
                if sweep == needed[test]:
                    expected[test] = clock
    assert found.tolist() == pytest.approx([expected[0], expected[2]])
    assert time_to_find(found, 0.5) == min(found)
    assert np.isinf(detection_times_by_sweeps(suite, needed, np.array([False] * 4))).all()


def test_small_tests_without_calls_are_found_only_where_small_ones_always_run():
    rate = np.array([0.5, 0.0])
    suite = SimulatedSuite(
        failure_rate=rate,
        cost_s=np.array([0.001, 1.0]),
        prior=np.array([0.5, 0.1]),
        calls=np.zeros(2, bool),
        fork_s=0.005,
    )

    found = replay_policies(suite, RATES, np.random.default_rng(1))

    assert np.isinf(found["calls"]).all()
    assert np.isfinite(found["calls, small always"]).all()


def test_the_index_imports_the_standard_library_only():
    code = (
        "import sys, flakehound.core.statistics.index; "
        "print([m for m in ('numpy', 'scipy', 'sklearn') if m in sys.modules])"
    )

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "[]"


# What is known about real tests


def observed(features, score=(8.0, 99.0, 0.5, 99.0)):
    """Two NOD tests and two others; only the first of each is ever drawn."""
    return ObservedTests(
        is_flaky=np.array([1, 1, 0, 0]),
        score_odds_ratio=np.array(score),
        feature_odds_ratio=np.array(features),
        calls=np.array([True, False, False, True]),
        draw_weight=np.array([1.0, 0.0, 1.0, 0.0]),
    )


def test_score_calls_and_features_of_a_real_test_are_drawn_together():
    rate = np.array([0.1] * 5 + [0.0] * 45)
    suite = draw_suite(
        rate, np.ones(50), knowledge_from_tests(observed([2.0, 99.0, 0.25, 99.0])), 0.0, np.random.default_rng(1)
    )
    flaky = suite.failure_rate > 0

    assert (suite.calls == flaky).all()
    assert set(suite.feature_odds_ratio[flaky]) == {2.0}
    assert set(suite.feature_odds_ratio[~flaky]) == {0.25}
    odds = suite.prior / (1 - suite.prior)
    assert odds[flaky] / odds[~flaky][0] == pytest.approx([16.0] * 5)


def test_informative_features_bring_flaky_tests_forward_and_cost_their_measured_runs():
    def seconds(features, policy):
        rng = np.random.default_rng(1)
        rate = np.array([0.05] * 20 + [0.0] * 980)
        draw_knowledge = knowledge_from_tests(observed(features, score=(1.0, 1.0, 1.0, 1.0)))
        suite = draw_suite(rate, np.full(1000, 0.01), draw_knowledge, 0.0, rng)
        return time_to_find(replay_policies(suite, RATES, rng)[policy], 0.8)

    informative_s, useless_s = (
        seconds(features, "index, measured") for features in ([9.0, 1, 0.1, 1], [1.0, 1, 1.0, 1])
    )
    traced_s = seconds([1.0, 1, 1.0, 1], "index, traced")

    assert informative_s < useless_s
    assert useless_s == pytest.approx(traced_s + MEASURING_COST_IN_RUNS * 10.0)


def test_the_shipped_table_has_nod_tests_of_several_projects_with_equal_weights():
    known = observed_tests()

    assert known.is_flaky.sum() > 100
    assert known.draw_weight[known.is_flaky == 1].sum() == pytest.approx(
        round(known.draw_weight[known.is_flaky == 1].sum())
    )
    assert known.draw_weight[known.is_flaky == 1].sum() >= 10
    assert (known.score_odds_ratio > 0).all()
    assert (known.feature_odds_ratio > 0).all()
