"""How common each way of being flaky is among tests nobody knows anything about, and what runs show it.

Rates from the literature and from published tables of Python tests; decision 0024 has the sums. They are what a
search starts from where there is no model, no history and no trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from math import exp, sinh

from flakehound.core.outcomes import NodeId
from flakehound.core.statistics.index import PYTHON_NOD, BetaPrior, PassingTest, chance_of_flaky

# 0.62 % of 876,186 Python tests are NOD or order-dependent; `python_flaky` has 720 and 3,363 of them.
NOD = 0.0011
ORDER_DEPENDENT = 0.0051
# Of 712 NOD tests 224 never failed in other orders, where chance explains 117 of them.
ONLY_IN_ITS_ORDER = 0.15
# NOD tests that fail ten times as often alone as in their suite, or more, as the first use of something is slow: 9
# of 94 rerun both ways (`java_suite_vs_alone_reruns`), 14 % where each of their 18 projects counts the same.
ONLY_ALONE = 0.14
# Of 730 order-dependent tests with a known type 278 are brittle: they fail alone.
BRITTLE = 0.38
# A guess, as no source at hand counts them: as common as NOD tests.
NON_IDEMPOTENT = 0.0011
# One of 76 NOD tests has an unordered collection for its cause; with one more of each, as so few were labelled.
BY_HASH_SEED = 0.026
# Of the tests in a file with another flaky one, 5.2 % are NOD and 19.3 % order-dependent: 25,098 tests of 250
# projects, those that lint's model learns from. For both that is 50 times the odds of a test nobody knows.
BESIDE_FLAKY = 50.0
# The median victim has one polluter.
POLLUTERS = 1.0
# Share of tests that call a characteristic function (CALLS).
CALLS_IF_NOD, CALLS_OF_ALL = 0.9227, 0.4382
# How many times the odds of NOD a test has that calls one, and one that does not.
CALLS_RATIO = {True: CALLS_IF_NOD / CALLS_OF_ALL, False: (1 - CALLS_IF_NOD) / (1 - CALLS_OF_ALL)}
# The parts of a prior overlap: of the log odds that calls give, half is left beside lint's score; of those that
# features give, four fifths beside each of the two (benchmarks/prior_parts.py; decision 0028).
CALLS_BESIDE_SCORE = 0.5
FEATURES_BESIDE_ANOTHER = 0.8
# Log odds over the rank of a test's time in its suite, from 0 for the cheapest to 1 for the dearest: 134 NOD tests
# of 18 projects, 244 victims of 41 (benchmarks/time_prior.py; decision 0029).
NOD_BY_TIME, ORDER_BY_TIME = 2.8, 1.5
# A run of an earlier hunt says so much of one of today: the code may have changed since. A guess.
EARLIER_RUN = 0.5
SEEN_FLAKY = 0.5  # before this hunt: as likely fixed as not


class FlakyWay(IntEnum):
    """One way in which a test can be flaky; numbers, as they are looked up for every test of every run."""

    ANYWHERE = 0  # NOD, in whatever run
    IN_ITS_ORDER = 1  # NOD, but only among the tests that usually run before it
    ORDER = 2  # victim, in another order
    ALONE = 3  # brittle, without the tests before it
    REPEATED = 4  # non-idempotent
    HASH_SEED = 5
    COLD = 6  # NOD, but only with nothing before it in its process


_AT_ONCE = BetaPrior(a=99.0, b=1.0)
RATES: Mapping[FlakyWay, BetaPrior] = {
    FlakyWay.ANYWHERE: PYTHON_NOD,
    FlakyWay.IN_ITS_ORDER: PYTHON_NOD,
    # Fitted like `PYTHON_NOD`, to the 3,039 tests that failed only in other orders.
    FlakyWay.ORDER: BetaPrior(a=0.405, b=0.9162),
    FlakyWay.ALONE: _AT_ONCE,
    FlakyWay.REPEATED: _AT_ONCE,
    FlakyWay.HASH_SEED: BetaPrior(a=1.0, b=1.0),
    FlakyWay.COLD: PYTHON_NOD,
}


def knowing_calls(prior: float, *, calls: bool, scored: bool = False) -> float:
    """The probability of being NOD, once it is known whether the test calls a characteristic function."""
    return likelier(prior, CALLS_RATIO[calls] ** (CALLS_BESIDE_SCORE if scored else 1.0))


def knowing_features(prior: float, ratio: float, *, others: int) -> float:
    """The probability, once features say how many times the odds it has, beside so many other sources."""
    return likelier(prior, ratio ** (FEATURES_BESIDE_ANOTHER**others))


def knowing_time(prior: float, rank: float, slope: float, *, others: int) -> float:
    """The probability, once the rank of its time in the suite is known, beside so many other sources.

    Time is one of the features, and counts beside other sources as these do.
    """
    held = slope * FEATURES_BESIDE_ANOTHER**others
    mean = sinh(held / 2) / (held / 2)  # over all ranks
    return likelier(prior, exp(held * (rank - 0.5)) / mean)


def knowing_neighbour(prior: float) -> float:
    """The probability for a test in whose file another one is flaky."""
    return likelier(prior, BESIDE_FLAKY)


def likelier(prior: float, ratio: float) -> float:
    """The probability with so many times the odds."""
    odds = prior / (1 - prior) * ratio
    return odds / (1 + odds)


def knowing_passes(prior: float, passed: int, way: FlakyWay) -> float:
    """The probability of being flaky in this way, after so many passes in earlier hunts."""
    known = PassingTest(prior=prior, passed=int(EARLIER_RUN * passed))
    return chance_of_flaky(known, RATES[way])


@dataclass(frozen=True, slots=True, kw_only=True)
class Priors:
    """How likely each test is flaky, before this search; a test that is not named has the literature's rate."""

    nod: Mapping[NodeId, float] = field(default_factory=dict)
    order_dependent: Mapping[NodeId, float] = field(default_factory=dict)
    # Of NOD without what calls and times say: where the order of a set decides, nothing is called or takes long.
    # Else as above.
    uncalled: Mapping[NodeId, float] = field(default_factory=dict)

    def flaky(self, test: NodeId) -> float:
        """How likely it is one or the other."""
        return 1 - (1 - self.nod.get(test, NOD)) * (1 - self.order_dependent.get(test, ORDER_DEPENDENT))

    def of(self, test: NodeId) -> dict[FlakyWay, float]:
        """The probability of each way."""
        nod = self.nod.get(test, NOD)
        order = self.order_dependent.get(test, ORDER_DEPENDENT)
        return {
            FlakyWay.ANYWHERE: nod * (1 - ONLY_IN_ITS_ORDER - ONLY_ALONE - BY_HASH_SEED),
            FlakyWay.IN_ITS_ORDER: nod * ONLY_IN_ITS_ORDER,
            FlakyWay.ORDER: order * (1 - BRITTLE),
            FlakyWay.ALONE: order * BRITTLE,
            FlakyWay.REPEATED: NON_IDEMPOTENT,
            FlakyWay.HASH_SEED: self.uncalled.get(test, nod) * BY_HASH_SEED,
            FlakyWay.COLD: nod * ONLY_ALONE,
        }
