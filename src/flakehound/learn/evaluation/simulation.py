"""Replay policies on recorded failure rates: when does each policy find each flaky test?

Runs are independent and fail with the recorded rate. A policy decides by scores, costs and the outcomes so far,
never by the rates. Detection times are computed from the number of runs that each test needs; no run is simulated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

from flakehound.core.statistics.index import BetaPrior
from flakehound.core.statistics.prevalence import (
    CALLING_SHARE,
    NOD_CALLING_SHARE,
    NOD_DURATION_SLOPE,
    calls_odds_ratio,
    features_weight,
    with_odds_ratio,
)
from flakehound.core.statistics.rerun_model import SMALL_TEST_S
from flakehound.learn.extras import Array, RandomGenerator

MAX_RUNS_PER_TEST = 4096  # a flaky test that needs more runs counts as not found
TRACING_COST_IN_RUNS = 1.361  # what one traced run of the suite costs, in plain runs (CALLS)
MEASURING_COST_IN_RUNS = 4.0  # what measuring features costs: three runs, one of which traces lines
TESTS_PER_FORK = (
    16  # tests that share the cost of one fork, if chosen by index; a hunt puts up to 64 into a process
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedSuite:
    """The tests of a suite; arrays of one length."""

    failure_rate: Array  # 0: steady
    cost_s: Array  # of one run among other tests in one process
    prior: Array  # probability of being flaky by the score, the same for every policy
    calls: Array  # whether the test calls a characteristic function
    feature_odds_ratio: Array | None = None  # from measured features; None: not measured
    fork_s: float = 0.0  # what a process costs without its tests


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorKnowledge:
    """What is known about tests before a search; arrays of one length."""

    prior: Array
    calls: Array | None = None  # None: to be drawn with the published shares
    feature_odds_ratio: Array | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedTests:
    """What models of other projects and a trace say about real tests; arrays of one length."""

    is_flaky: Array  # 0 or 1
    score_odds_ratio: Array  # by lint's score, relative to an average test
    feature_odds_ratio: Array  # by measured features, relative to an average test
    calls: Array  # whether the test calls a characteristic function
    draw_weight: Array  # how often the test is drawn


# Takes which tests are flaky, and a generator; returns what is known about each test.
KnowledgeSource = Callable[[Array, RandomGenerator], PriorKnowledge]


def draw_suite(
    failure_rate: Array, cost_s: Array, draw_knowledge: KnowledgeSource, fork_s: float, rng: RandomGenerator
) -> SimulatedSuite:
    """Shuffle tests with these rates and costs, and draw what is known about each."""
    order = rng.permutation(len(failure_rate))
    failure_rate, cost_s = failure_rate[order], cost_s[order]
    known = draw_knowledge(failure_rate > 0, rng)
    return SimulatedSuite(
        failure_rate=failure_rate,
        cost_s=cost_s,
        prior=known.prior,
        calls=draw_calls(failure_rate > 0, cost_s, rng) if known.calls is None else known.calls,
        feature_odds_ratio=known.feature_odds_ratio,
        fork_s=fork_s,
    )


def knowledge_from_auc(auc: float) -> KnowledgeSource:
    """Draw calibrated scores with this AUC: two normal distributions, and Bayes' rule with the true share."""
    import numpy as np

    distance = 2**0.5 * NormalDist().inv_cdf(auc)

    def draw_knowledge(is_flaky: Array, rng: RandomGenerator) -> PriorKnowledge:
        signal = rng.normal(size=len(is_flaky)) + distance * is_flaky
        ratio = np.exp(distance * signal - distance**2 / 2)
        return PriorKnowledge(prior=with_odds_ratio(is_flaky.mean(), ratio))

    return draw_knowledge


def knowledge_from_scores(scores_of_flaky: Array, scores_of_others: Array) -> KnowledgeSource:
    """Draw from scores of real flaky tests and of others, adjusted to the share of flaky tests in the suite."""
    import numpy as np

    observed_odds = len(scores_of_flaky) / len(scores_of_others)

    def draw_knowledge(is_flaky: Array, rng: RandomGenerator) -> PriorKnowledge:
        size = len(is_flaky)
        scores: Array = np.where(is_flaky, rng.choice(scores_of_flaky, size), rng.choice(scores_of_others, size))
        return PriorKnowledge(prior=with_odds_ratio(is_flaky.mean(), scores / (1 - scores) / observed_odds))

    return draw_knowledge


def knowledge_from_tests(observed: ObservedTests) -> KnowledgeSource:
    """Draw score, calls and features together from one real test: a flaky one for each flaky test."""
    import numpy as np

    rows = {label: np.flatnonzero(observed.is_flaky == label) for label in (0, 1)}
    shares = {label: observed.draw_weight[own] / observed.draw_weight[own].sum() for label, own in rows.items()}

    def draw_knowledge(is_flaky: Array, rng: RandomGenerator) -> PriorKnowledge:
        drawn = {label: rng.choice(rows[label], len(is_flaky), p=shares[label]) for label in (0, 1)}
        chosen = np.where(is_flaky, drawn[1], drawn[0])
        return PriorKnowledge(
            prior=with_odds_ratio(is_flaky.mean(), observed.score_odds_ratio[chosen]),
            calls=observed.calls[chosen],
            feature_odds_ratio=observed.feature_odds_ratio[chosen],
        )

    return draw_knowledge


def draw_calls(is_flaky: Array, cost_s: Array, rng: RandomGenerator) -> Array:
    """Draw which tests call a characteristic function.

    Uses the shares that CALLS published; slow steady tests call one more often than fast ones.
    """
    import numpy as np

    steady_shares = _duration_ranks(cost_s) * 2 * CALLING_SHARE
    calls: Array = rng.random(len(is_flaky)) < np.where(is_flaky, NOD_CALLING_SHARE, steady_shares)
    return calls


def _duration_ranks(cost_s: Array) -> Array:
    from scipy.stats import rankdata

    ranks: Array = rankdata(cost_s)
    return ranks / len(cost_s)


def priors_given_durations(priors: Array, cost_s: Array, *, other_sources: int) -> Array:
    """`prevalence.prior_given_duration` for a whole suite; divides by the mean ratio of its tests."""
    import numpy as np

    ratios = np.exp(NOD_DURATION_SLOPE * features_weight(other_sources) * _duration_ranks(cost_s))
    return np.asarray(with_odds_ratio(priors, ratios / ratios.mean()))


def priors_given_calls(priors: Array, calls: Array) -> Array:
    """`prevalence.prior_given_calls` for a whole suite whose priors come from scores."""
    import numpy as np

    if_called, if_not = (calls_odds_ratio(calls=called, is_scored=True) for called in (True, False))
    return np.asarray(with_odds_ratio(priors, np.where(calls, if_called, if_not)))


def draw_runs_needed(failure_rate: Array, rng: RandomGenerator) -> Array:
    """Draw after how many runs each test has shown both outcomes; above MAX_RUNS_PER_TEST: never."""
    import numpy as np

    needed = np.full(len(failure_rate), MAX_RUNS_PER_TEST + 1)
    flaky = np.flatnonzero(failure_rate > 0)
    fails_first = rng.random(len(flaky)) < failure_rate[flaky]
    other_outcome_rate = np.where(fails_first, 1 - failure_rate[flaky], failure_rate[flaky])
    runs = 1 + rng.geometric(np.clip(other_outcome_rate, 1e-12, 1))
    needed[flaky] = np.minimum(runs, MAX_RUNS_PER_TEST + 1)
    return needed


def detection_times_by_sweeps(
    suite: SimulatedSuite, runs_needed: Array, chosen: Array, before_s: float = 0.0
) -> Array:
    """When sweeps over the chosen tests find each flaky test, in seconds; inf: never.

    A sweep runs the chosen tests in their order in one process. The cost of starting the process is left out.
    """
    import numpy as np

    found_s = np.full(len(runs_needed), np.inf)
    cost_s = suite.cost_s * chosen
    for test in np.flatnonzero(chosen & (suite.failure_rate > 0) & (runs_needed <= MAX_RUNS_PER_TEST)):
        whole_sweeps_s = (cost_s * np.minimum(runs_needed[test] - 1, runs_needed)).sum()
        last_sweep_s = (cost_s[: test + 1] * (runs_needed[: test + 1] >= runs_needed[test])).sum()
        found_s[test] = before_s + whole_sweeps_s + last_sweep_s
    return found_s[suite.failure_rate > 0]


def detection_times_by_index(
    suite: SimulatedSuite, runs_needed: Array, prior: Array, rates: BetaPrior, before_s: float = 0.0
) -> Array:
    """When each flaky test is found if the test with the largest index always runs next, in seconds; inf: never.

    The index of a test falls with each run that shows nothing new, so a run comes after exactly the runs whose
    index is larger. A test whose runs all failed is treated like one whose runs all passed. Several tests share a
    process.
    """
    import numpy as np

    cost_s = suite.cost_s + suite.fork_s / TESTS_PER_FORK
    passes, fails_next = _chance_tables(rates)
    max_runs = np.minimum(runs_needed, MAX_RUNS_PER_TEST)
    found_s = np.full(len(runs_needed), np.inf)
    for test in np.flatnonzero((suite.failure_rate > 0) & (runs_needed <= MAX_RUNS_PER_TEST)):
        last = runs_needed[test] - 1
        flaky_and_passed = prior[test] * passes[last]
        index = flaky_and_passed * fails_next[last] / (flaky_and_passed + 1 - prior[test]) / cost_s[test]
        runs = _runs_with_larger_index(index, cost_s, prior, passes, fails_next)
        runs[test] = runs_needed[test]
        found_s[test] = before_s + (cost_s * np.minimum(runs, max_runs)).sum()
    return found_s[suite.failure_rate > 0]


def _chance_tables(rates: BetaPrior) -> tuple[Array, Array]:
    """`index.chances_after` for every number of passes up to MAX_RUNS_PER_TEST, as two arrays."""
    import numpy as np
    from scipy.special import betaln

    passed = np.arange(MAX_RUNS_PER_TEST + 1)
    # With scipy, as in the recorded results: rounding decides which of two tests with equal indices runs first.
    passes = np.exp(betaln(rates.a, rates.b + passed) - betaln(rates.a, rates.b))
    return passes, rates.a / (rates.a + rates.b + passed)


def _runs_with_larger_index(index: float, cost_s: Array, prior: Array, passes: Array, fails_next: Array) -> Array:
    """How many runs of each test have a larger index; found by bisection, because the index of a test falls."""
    import numpy as np

    low, high = np.zeros(len(prior), dtype=int), np.full(len(prior), MAX_RUNS_PER_TEST)
    while (low < high).any():
        middle = (low + high) // 2
        flaky_and_passed = prior * passes[middle]
        is_larger = flaky_and_passed * fails_next[middle] > index * cost_s * (flaky_and_passed + 1 - prior)
        low, high = np.where(is_larger, middle + 1, low), np.where(is_larger, high, middle)
    return low


def chosen_by_cannier(prior: Array, is_flaky: Array, detection: float) -> Array:
    """Which tests are above CANNIER's lower threshold, if this share of the flaky tests is to stay above it."""
    import numpy as np

    chosen: Array = prior >= np.quantile(prior[is_flaky], 1 - detection)
    return chosen


def time_to_find(found_s: Array, share: float) -> float:
    """Seconds until this share of the flaky tests is found; inf: never."""
    import numpy as np

    return float(np.sort(found_s)[int(np.ceil(share * len(found_s))) - 1])


def replay_policies(
    suite: SimulatedSuite, rates: BetaPrior, rng: RandomGenerator, detection: float = 0.95
) -> dict[str, Array]:
    """When each policy finds each flaky test, in seconds; all policies meet the same outcomes."""
    import numpy as np

    needed = draw_runs_needed(suite.failure_rate, rng)
    is_flaky, every_test = suite.failure_rate > 0, np.ones(len(needed), dtype=bool)
    suite_s = float(suite.cost_s.sum())
    tracing_s = TRACING_COST_IN_RUNS * suite_s
    small = suite.cost_s < SMALL_TEST_S
    by_cannier = chosen_by_cannier(suite.prior, is_flaky, detection)
    same_prior = np.full(len(needed), is_flaky.mean())
    with_durations = priors_given_durations(suite.prior, suite.cost_s, other_sources=1)
    with_calls = priors_given_calls(suite.prior, suite.calls)
    with_both = priors_given_durations(with_calls, suite.cost_s, other_sources=2)
    found_s = {
        "rerun": detection_times_by_sweeps(suite, needed, every_test),
        "cannier": detection_times_by_sweeps(suite, needed, by_cannier, suite_s),
        "calls": detection_times_by_sweeps(suite, needed, suite.calls, tracing_s),
        "calls, small always": detection_times_by_sweeps(suite, needed, suite.calls | small, tracing_s),
        "index, cost alone": detection_times_by_index(suite, needed, same_prior, rates),
        "index": detection_times_by_index(suite, needed, suite.prior, rates),
        "index, timed": detection_times_by_index(suite, needed, with_durations, rates),
        "index, traced": detection_times_by_index(suite, needed, with_both, rates, tracing_s),
    }
    if suite.feature_odds_ratio is not None:
        with_features = with_odds_ratio(with_calls, suite.feature_odds_ratio ** features_weight(2))
        before_s = tracing_s + MEASURING_COST_IN_RUNS * suite_s
        found_s["index, measured"] = detection_times_by_index(suite, needed, with_features, rates, before_s)
    return found_s
