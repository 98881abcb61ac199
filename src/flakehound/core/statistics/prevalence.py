"""How common each way of being flaky is, and what evidence about a test adds to that.

The rates come from the literature and from published tables of Python tests; decision 0024 has the calculations. A
search starts from them where there is no model, no history and no trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from math import exp, sinh
from typing import Any, overload

from flakehound.core.outcomes import NodeId
from flakehound.core.statistics.index import PYTHON_NOD, BetaPrior, PassingTest, chance_of_flaky

# 0.62 % of 876,186 Python tests are NOD or order-dependent; `python_flaky` has 720 and 3,363 of them.
NOD_SHARE = 0.0011
ORDER_DEPENDENT_SHARE = 0.0051
# Of 712 NOD tests, 224 never failed in other orders; chance explains 117 of them.
NOD_ONLY_IN_ORIGINAL_ORDER_SHARE = 0.15
# NOD tests that fail at least ten times as often alone as in their suite, because the first use of something is
# slow: 9 of 94 that were rerun both ways (`java_suite_vs_alone_reruns`), 14 % if each of their 18 projects counts
# the same.
NOD_ONLY_ALONE_SHARE = 0.14
# One of 76 NOD tests has an unordered collection as its cause; one more of each kind is added, because so few were
# labelled.
NOD_BY_HASH_SEED_SHARE = 0.026
# Of 730 order-dependent tests with a known type, 278 are brittle: they fail alone.
BRITTLE_SHARE = 0.38
# A brittle test passes in m other orders with 1 / (1 + m/2): a state-setter may run before it. For the known
# state-setters of 43 projects (`python_order_dependent`) one to three random orders give 0.68, 0.50 and 0.39.
BRITTLE_PASSES_PER_ORDER = 0.5
# A guess, because no source at hand counts them: as common as NOD tests.
NON_IDEMPOTENT_SHARE = 0.0011
# Of the tests in a file with another flaky test, 5.2 % are NOD and 19.3 % order-dependent: 25,098 tests of 250
# projects, those that lint's model learns from. For both kinds that is 50 times the usual odds.
FLAKY_NEIGHBOUR_ODDS_RATIO = 50.0
# The median victim has one polluter.
POLLUTERS_PER_VICTIM = 1.0
# Share of NOD tests, and of all tests, that call a characteristic function (CALLS).
NOD_CALLING_SHARE, CALLING_SHARE = 0.9227, 0.4382
# By how much the odds of NOD grow for a test that calls one (True), and for a test that does not (False).
CALLS_ODDS_RATIO = {
    True: NOD_CALLING_SHARE / CALLING_SHARE,
    False: (1 - NOD_CALLING_SHARE) / (1 - CALLING_SHARE),
}
# Sources of evidence overlap. If lint has scored the test, half of the log odds from calls count; for each other
# source, the log odds from features are multiplied by four fifths (benchmarks/prior_parts.py; decision 0028).
CALLS_WEIGHT_WITH_SCORE = 0.5
FEATURES_WEIGHT_PER_SOURCE = 0.8
# Log odds per unit of a test's rank by duration in its suite, from 0 (fastest) to 1 (slowest): 134 NOD tests of 18
# projects, 244 victims of 41 (benchmarks/time_prior.py; decision 0029).
NOD_DURATION_SLOPE, ORDER_DEPENDENT_DURATION_SLOPE = 2.8, 1.5
# Odds of a test whose file was changed lately. 75 % of flaky tests are flaky from the commit on that adds them,
# 10 % from a later change of the test (Lam et al., A Large-Scale Longitudinal Study of Flaky Tests, 2020). How
# much that adds to the other evidence is not measured here: twice is a cautious choice.
CHANGED_FILE_ODDS_RATIO = 2.0
# A pass in an earlier hunt counts as this many passes of today, because the code may have changed. A guess.
EARLIER_RUN_WEIGHT = 0.5
# Of a test that an earlier hunt found flaky: it is as likely to be fixed by now as not.
PRIOR_IF_SEEN_FLAKY = 0.5


class FlakyWay(IntEnum):
    """One way in which a test can be flaky; integers, because they are looked up for every test of every run."""

    ANYWHERE = 0  # NOD, in any run
    IN_ITS_ORDER = 1  # NOD, but only after the tests that usually run before it
    ORDER = 2  # victim, in another order
    ALONE = 3  # brittle, without the tests before it
    REPEATED = 4  # non-idempotent
    HASH_SEED = 5
    COLD = 6  # NOD, but only as the first test of its process


_NEARLY_ALWAYS_FAILS = BetaPrior(a=99.0, b=1.0)
RATES: Mapping[FlakyWay, BetaPrior] = {
    FlakyWay.ANYWHERE: PYTHON_NOD,
    FlakyWay.IN_ITS_ORDER: PYTHON_NOD,
    # Fitted like `PYTHON_NOD`, to the 3,039 tests that failed only in other orders.
    FlakyWay.ORDER: BetaPrior(a=0.405, b=0.9162),
    FlakyWay.ALONE: _NEARLY_ALWAYS_FAILS,
    FlakyWay.REPEATED: _NEARLY_ALWAYS_FAILS,
    FlakyWay.HASH_SEED: BetaPrior(a=1.0, b=1.0),
    FlakyWay.COLD: PYTHON_NOD,
}


@overload
def with_odds_ratio(prior: float, ratio: float) -> float:
    """Two numbers."""


@overload
def with_odds_ratio(prior: Any, ratio: Any) -> Any:
    """At least one numpy array."""


def with_odds_ratio(prior: Any, ratio: Any) -> Any:
    """Multiply the odds of a probability by a ratio; takes numbers or numpy arrays."""
    odds = prior / (1 - prior) * ratio
    return odds / (1 + odds)


def calls_odds_ratio(*, calls: bool, is_scored: bool = False) -> float:
    """By how much the odds of NOD grow, given whether the test calls a characteristic function.

    `is_scored`: the prior already contains lint's score of the test.
    """
    ratio: float = CALLS_ODDS_RATIO[calls] ** (CALLS_WEIGHT_WITH_SCORE if is_scored else 1.0)
    return ratio


def features_weight(other_sources: int) -> float:
    """How much of the log odds from features counts if the prior already contains other sources of evidence."""
    weight: float = FEATURES_WEIGHT_PER_SOURCE**other_sources
    return weight


def prior_given_calls(prior: float, *, calls: bool, is_scored: bool = False) -> float:
    """The probability of NOD, given whether the test calls a characteristic function."""
    return with_odds_ratio(prior, calls_odds_ratio(calls=calls, is_scored=is_scored))


def prior_given_features(prior: float, ratio: float, *, other_sources: int) -> float:
    """The probability, given the odds ratio from measured features."""
    weighted_ratio: float = ratio ** features_weight(other_sources)
    return with_odds_ratio(prior, weighted_ratio)


def prior_given_duration(prior: float, rank: float, slope: float, *, other_sources: int) -> float:
    """The probability, given the test's rank by duration in its suite, from 0 to 1.

    The duration is one of the features, so it has the same weight as these.
    """
    weighted_slope = slope * features_weight(other_sources)
    mean_ratio = sinh(weighted_slope / 2) / (weighted_slope / 2)  # over all ranks
    return with_odds_ratio(prior, exp(weighted_slope * (rank - 0.5)) / mean_ratio)


def prior_given_flaky_neighbour(prior: float) -> float:
    """The probability for a test whose file contains another flaky test."""
    return with_odds_ratio(prior, FLAKY_NEIGHBOUR_ODDS_RATIO)


def prior_given_other_orders(prior: float, passed: int) -> float:
    """The probability of brittle, given the number of other orders in which the test passed."""
    return with_odds_ratio(prior, 1 / (1 + BRITTLE_PASSES_PER_ORDER * passed))


def prior_given_change(prior: float) -> float:
    """The probability for a test whose file was changed lately."""
    return with_odds_ratio(prior, CHANGED_FILE_ODDS_RATIO)


def prior_given_passes(prior: float, passed: int, way: FlakyWay) -> float:
    """The probability of being flaky in this way, given the number of passes in earlier hunts."""
    known = PassingTest(prior=prior, passed=int(EARLIER_RUN_WEIGHT * passed))
    return chance_of_flaky(known, RATES[way])


@dataclass(frozen=True, slots=True, kw_only=True)
class Priors:
    """How likely each test is flaky before a search; a test that is not listed has the rate of the literature."""

    nod: Mapping[NodeId, float] = field(default_factory=dict)
    order_dependent: Mapping[NodeId, float] = field(default_factory=dict)
    # NOD without the evidence of calls and durations: a test that depends on the order of a set neither calls
    # anything characteristic nor takes long. A test that is not listed has its value in `nod`.
    nod_by_hash_seed: Mapping[NodeId, float] = field(default_factory=dict)

    def flaky(self, test: NodeId) -> float:
        """The probability that a test is NOD or order-dependent."""
        nod = self.nod.get(test, NOD_SHARE)
        order_dependent = self.order_dependent.get(test, ORDER_DEPENDENT_SHARE)
        return 1 - (1 - nod) * (1 - order_dependent)

    def by_way(self, test: NodeId) -> dict[FlakyWay, float]:
        """The probability of each way in which a test can be flaky."""
        nod = self.nod.get(test, NOD_SHARE)
        order_dependent = self.order_dependent.get(test, ORDER_DEPENDENT_SHARE)
        anywhere_share = 1 - NOD_ONLY_IN_ORIGINAL_ORDER_SHARE - NOD_ONLY_ALONE_SHARE - NOD_BY_HASH_SEED_SHARE
        return {
            FlakyWay.ANYWHERE: nod * anywhere_share,
            FlakyWay.IN_ITS_ORDER: nod * NOD_ONLY_IN_ORIGINAL_ORDER_SHARE,
            FlakyWay.ORDER: order_dependent * (1 - BRITTLE_SHARE),
            FlakyWay.ALONE: order_dependent * BRITTLE_SHARE,
            FlakyWay.REPEATED: NON_IDEMPOTENT_SHARE,
            FlakyWay.HASH_SEED: self.nod_by_hash_seed.get(test, nod) * NOD_BY_HASH_SEED_SHARE,
            FlakyWay.COLD: nod * NOD_ONLY_ALONE_SHARE,
        }
