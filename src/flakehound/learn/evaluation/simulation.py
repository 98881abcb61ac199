"""Replay policies on recorded failure rates: when is which flaky test found?

Runs are independent, with the recorded rate. A policy decides from scores, costs and what it has seen, never from
the rates. Everything is exact given how many runs each test needs, so that no run is simulated one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from flakehound.core.statistics.index import BetaPrior
from flakehound.core.statistics.prevalence import (
    CALLS_BESIDE_SCORE,
    CALLS_IF_NOD,
    CALLS_OF_ALL,
    CALLS_RATIO,
    FEATURES_BESIDE_ANOTHER,
    NOD_BY_TIME,
    likelier,
)
from flakehound.learn.extras import Array, RandomGenerator

MOST_RUNS = 4096  # of one test; a test that needs more is not found
TRACED = 1.361  # what a traced run costs (CALLS)
MEASURED = 4.0  # what features cost: three runs, one of which traces lines
SMALL_S = 0.004  # CALLS' split: smaller tests are rerun in any case
TOGETHER = 16  # tests of the index that share a fork; a hunt puts up to 64 into one process


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedSuite:
    """Tests to search; arrays of one length."""

    rate: Array  # failure rate; 0: steady
    cost_s: Array  # of one run among others in one process
    prior: Array  # what the score says of being flaky, the same for every policy
    calls: Array  # whether a characteristic function is called
    features: Array | None = None  # how many times the odds measured features give; None: nobody measured
    fork_s: float = 0.0  # what a process costs beside its tests


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorKnowledge:
    """What is known of tests beforehand; arrays of one length."""

    prior: Array
    calls: Array | None = None  # None: drawn after published shares
    features: Array | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedTests:
    """What models of other projects and a trace say of real tests; arrays of one length."""

    flaky: Array  # 0 or 1
    score: Array  # times the odds of an average test, by lint's score
    features: Array  # the same by measured features
    calls: Array  # whether a characteristic function is called
    weight: Array  # how often a test is drawn


# Which tests are flaky, and a generator -> what is known of each.
KnowledgeSource = Callable[[Array, RandomGenerator], PriorKnowledge]


def draw_suite(
    rate: Array, own_s: Array, scorer: KnowledgeSource, fork_s: float, rng: RandomGenerator
) -> SimulatedSuite:
    """Tests with these rates and times of their own, in an order by chance; scores and calls are drawn."""
    place = rng.permutation(len(rate))
    rate, cost_s = rate[place], own_s[place]
    known = scorer(rate > 0, rng)
    return SimulatedSuite(
        rate=rate,
        cost_s=cost_s,
        prior=known.prior,
        calls=_calling(rate > 0, cost_s, rng) if known.calls is None else known.calls,
        features=known.features,
        fork_s=fork_s,
    )


def scores_of_auc(auc: float) -> KnowledgeSource:
    """A calibrated score: two normal distributions, and Bayes' rule with the true share."""
    import numpy as np

    apart = 2**0.5 * NormalDist().inv_cdf(auc)

    def scored(flaky: Array, rng: RandomGenerator) -> PriorKnowledge:
        seen = rng.normal(size=len(flaky)) + apart * flaky
        return PriorKnowledge(prior=_likelier(flaky.mean(), np.exp(apart * seen - apart**2 / 2)))

    return scored


def scores_from_samples(of_flaky: Array, of_others: Array) -> KnowledgeSource:
    """Scores as they were given to flaky tests and to others, brought to the share of flaky tests here."""
    import numpy as np

    odds_there = len(of_flaky) / len(of_others)

    def scored(flaky: Array, rng: RandomGenerator) -> PriorKnowledge:
        drawn: Array = np.where(flaky, rng.choice(of_flaky, len(flaky)), rng.choice(of_others, len(flaky)))
        return PriorKnowledge(prior=_likelier(flaky.mean(), drawn / (1 - drawn) / odds_there))

    return scored


def knowledge_from_tests(parts: ObservedTests) -> KnowledgeSource:
    """Scores, calls and features of real tests, each test's together, flaky ones for flaky ones."""
    import numpy as np

    places = {kind: np.flatnonzero(parts.flaky == kind) for kind in (0, 1)}
    shares = {kind: parts.weight[at] / parts.weight[at].sum() for kind, at in places.items()}

    def scored(flaky: Array, rng: RandomGenerator) -> PriorKnowledge:
        drawn = {kind: rng.choice(places[kind], len(flaky), p=shares[kind]) for kind in (0, 1)}
        at = np.where(flaky, drawn[1], drawn[0])
        return PriorKnowledge(
            prior=_likelier(flaky.mean(), parts.score[at]), calls=parts.calls[at], features=parts.features[at]
        )

    return scored


def _likelier(prior: Any, ratio: Any) -> Array:
    """`likelier` for all tests of a suite: numbers or arrays in, an array out."""
    import numpy as np

    return np.asarray(likelier(prior, ratio))


def _calling(flaky: Array, cost_s: Array, rng: RandomGenerator) -> Array:
    """Callers with the published shares; among steady tests dear ones call more often, as the source found."""
    import numpy as np

    steady = _ranks(cost_s) * 2 * CALLS_OF_ALL
    calls: Array = rng.random(len(flaky)) < np.where(flaky, CALLS_IF_NOD, steady)
    return calls


def _ranks(cost_s: Array) -> Array:
    from scipy.stats import rankdata

    ranks: Array = rankdata(cost_s)
    return ranks / len(cost_s)


def prior_given_durations(prior: Array, cost_s: Array, *, others: int) -> Array:
    """`core.prevalence.knowing_time` for all tests of a suite, beside so many other sources."""
    import numpy as np

    ratio = np.exp(NOD_BY_TIME * FEATURES_BESIDE_ANOTHER**others * _ranks(cost_s))
    return _likelier(prior, ratio / ratio.mean())


def runs_needed(rate: Array, rng: RandomGenerator) -> Array:
    """After how many runs both outcomes were seen; beyond MOST_RUNS where they never are."""
    import numpy as np

    needed = np.full(len(rate), MOST_RUNS + 1)
    flaky = np.flatnonzero(rate > 0)
    fails_first = rng.random(len(flaky)) < rate[flaky]
    other = np.where(fails_first, 1 - rate[flaky], rate[flaky])
    needed[flaky] = np.minimum(1 + rng.geometric(np.clip(other, 1e-12, 1)), MOST_RUNS + 1)
    return needed


def found_by_sweeps(suite: SimulatedSuite, needed: Array, chosen: Array, before_s: float = 0.0) -> Array:
    """When each flaky test is found by sweeps over the chosen tests, in their order; inf: never.

    A sweep is one process; what starting it costs is left out.
    """
    import numpy as np

    found = np.full(len(needed), np.inf)
    cost_s, runs = suite.cost_s * chosen, needed
    for test in np.flatnonzero(chosen & (suite.rate > 0) & (needed <= MOST_RUNS)):
        whole = (cost_s * np.minimum(runs[test] - 1, runs)).sum()
        last = (cost_s[: test + 1] * (runs[: test + 1] >= runs[test])).sum()
        found[test] = before_s + whole + last
    return found[suite.rate > 0]


def found_by_index(
    suite: SimulatedSuite, needed: Array, prior: Array, rates: BetaPrior, before_s: float = 0.0
) -> Array:
    """When each flaky test is found if the largest index runs next; inf: never.

    The index of a test falls with each run that shows nothing new, so a run comes after exactly those whose index
    is larger. A test whose runs all failed is treated as one whose runs all passed. Some tests share a process.
    """
    import numpy as np

    cost_s = suite.cost_s + suite.fork_s / TOGETHER
    passes, missing = _tables(rates)
    steps = np.minimum(needed, MOST_RUNS)
    found = np.full(len(needed), np.inf)
    for test in np.flatnonzero((suite.rate > 0) & (needed <= MOST_RUNS)):
        chance = prior[test] * passes[needed[test] - 1]
        value = chance * missing[needed[test] - 1] / (chance + 1 - prior[test]) / cost_s[test]
        runs = _runs_above(value, cost_s, prior, passes, missing)
        runs[test] = needed[test]
        found[test] = before_s + (cost_s * np.minimum(runs, steps)).sum()
    return found[suite.rate > 0]


def _tables(rates: BetaPrior) -> tuple[Array, Array]:
    """By runs that showed nothing: how likely that is of a flaky test, and the rate expected of it then."""
    import numpy as np
    from scipy import special

    runs = np.arange(MOST_RUNS + 1)
    base = special.betaln(rates.a, rates.b)
    return np.exp(special.betaln(rates.a, rates.b + runs) - base), rates.a / (rates.a + rates.b + runs)


def _runs_above(value: float, cost_s: Array, prior: Array, passes: Array, missing: Array) -> Array:
    """For each test, how many of its runs have a larger index; by bisection, as the index falls."""
    import numpy as np

    low, high = np.zeros(len(prior), dtype=int), np.full(len(prior), MOST_RUNS)
    while (low < high).any():
        middle = (low + high) // 2
        chance = prior * passes[middle]
        larger = chance * missing[middle] > value * cost_s * (chance + 1 - prior)
        low, high = np.where(larger, middle + 1, low), np.where(larger, high, middle)
    return low


def reaches_threshold(prior: Array, flaky: Array, detection: float) -> Array:
    """CANNIER's lower threshold, set so that this share of the flaky tests stays above it."""
    import numpy as np

    is_kept: Array = prior >= np.quantile(prior[flaky], 1 - detection)
    return is_kept


def time_to_find(found_s: Array, share: float) -> float:
    """Seconds until this share of the flaky tests is found; inf: never."""
    import numpy as np

    return float(np.sort(found_s)[int(np.ceil(share * len(found_s))) - 1])


def all_policies(
    suite: SimulatedSuite, rates: BetaPrior, rng: RandomGenerator, detection: float = 0.95
) -> dict[str, Array]:
    """Every policy on the same suite and the same luck: seconds at which each flaky test is found."""
    import numpy as np

    needed = runs_needed(suite.rate, rng)
    flaky, every = suite.rate > 0, np.ones(len(needed), dtype=bool)
    suite_s = float(suite.cost_s.sum())
    small = suite.cost_s < SMALL_S
    by_calls = np.where(suite.calls, CALLS_RATIO[True], CALLS_RATIO[False])
    timed = prior_given_durations(suite.prior, suite.cost_s, others=1)
    called = _likelier(suite.prior, by_calls**CALLS_BESIDE_SCORE)
    traced = prior_given_durations(called, suite.cost_s, others=2)
    found = {
        "rerun": found_by_sweeps(suite, needed, every),
        "cannier": found_by_sweeps(suite, needed, reaches_threshold(suite.prior, flaky, detection), suite_s),
        "calls": found_by_sweeps(suite, needed, suite.calls, TRACED * suite_s),
        "calls, small always": found_by_sweeps(suite, needed, suite.calls | small, TRACED * suite_s),
        "index, cost alone": found_by_index(suite, needed, np.full(len(needed), flaky.mean()), rates),
        "index": found_by_index(suite, needed, suite.prior, rates),
        "index, timed": found_by_index(suite, needed, timed, rates),
        "index, traced": found_by_index(suite, needed, traced, rates, TRACED * suite_s),
    }
    if suite.features is not None:
        measured = _likelier(called, suite.features ** (FEATURES_BESIDE_ANOTHER**2))
        before_s = (TRACED + MEASURED) * suite_s
        found["index, measured"] = found_by_index(suite, needed, measured, rates, before_s)
    return found
