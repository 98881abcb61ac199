"""Verdicts about tests that fail by chance can be wrong; here is how often they may be.

Each question is put to many seeded hunts in one small suite, so that the answer is the same in every run.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

from simulator import Simulator, fails_after, fails_by_chance, fails_by_seed, hunt, id_of, suite_of

from flakehound.core.verdicts import Cause, Kind, Verdict

NAMES = tuple("abcdef")
POLLUTER = id_of("e")
SEEDS = range(20)


@cache
def verdict_on_chance_failures(rate: float, seed: int) -> Verdict:
    """The verdict on a test that fails by chance alone."""
    return _verdict_after_hunt(seed, fails_by_chance(rate))


@cache
def verdict_on_victim(rate: float, seed: int) -> Verdict:
    """The verdict on a test that fails with this rate after its polluter, and never otherwise."""
    return _verdict_after_hunt(seed, fails_after(POLLUTER, rate=rate))


def _verdict_after_hunt(seed, behaviour):
    simulator = Simulator(suite_of(*NAMES), {id_of("b"): behaviour}, seed=seed)
    return hunt(simulator, hunt_seed=seed + 5).verdict("b")


def test_a_test_that_fails_once_in_thirty_runs_is_mostly_found_and_then_nod():
    kinds = Counter(verdict_on_chance_failures(0.03, seed).kind for seed in SEEDS)

    assert set(kinds) <= {Kind.NOD, Kind.STEADY}
    assert kinds[Kind.NOD] >= 15


def test_no_rarely_failing_test_is_blamed_on_another_test():
    blamed_tests = [
        (rate, seed)
        for rate in (0.02, 0.03, 0.05)
        for seed in SEEDS
        if verdict_on_chance_failures(rate, seed).polluters
    ]

    assert blamed_tests == []


def test_a_test_that_fails_by_chance_is_rarely_blamed_on_its_random_seed():
    blamed_tests = [
        (rate, seed)
        for rate in (0.5, 0.7)
        for seed in SEEDS
        if any(likely.cause is Cause.RANDOMNESS for likely in verdict_on_chance_failures(rate, seed).causes)
    ]

    assert len(blamed_tests) <= 1


def test_replaying_a_seed_that_fails_does_not_inflate_the_failure_rate():
    rates = [_verdict_after_hunt(seed, fails_by_seed(0.3)).rate for seed in SEEDS]

    assert sum(rate.low <= 0.3 <= rate.high for rate in rates) >= 17


def test_most_victims_that_fail_two_times_in_five_are_blamed_on_the_right_test():
    polluters = Counter(verdict_on_victim(0.4, seed).polluters for seed in SEEDS)

    assert polluters[(POLLUTER,)] >= 15


def test_no_innocent_test_is_blamed_for_a_victim_that_fails_sometimes():
    blamed_tests = {
        (rate, seed): innocent
        for rate in (0.2, 0.4)
        for seed in SEEDS
        if (innocent := set(verdict_on_victim(rate, seed).polluters) - {POLLUTER})
    }

    assert blamed_tests == {}


def test_the_evidence_for_nod_counts_at_least_one_failure():
    empty = [
        (rate, seed)
        for rate in (0.2, 0.4)
        for seed in SEEDS
        if verdict_on_victim(rate, seed).kind is Kind.NOD
        and verdict_on_victim(rate, seed).evidence[0].startswith("failed 0 of")
    ]

    assert empty == []
