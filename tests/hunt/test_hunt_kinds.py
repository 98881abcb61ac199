"""Every kind of flaky test, planted in a fake suite, is found and gets the right kind."""

from __future__ import annotations

import pytest
from kind_samples import kinds
from simulator import (
    Simulator,
    always,
    fails_after,
    fails_after_all,
    fails_by_chance,
    fails_by_hash_seed,
    fails_by_seed,
    fails_if,
    hunt,
    id_of,
    suite_of,
)
from ten_tests import NAMES, A, B, C, D, E, G, H, J, K, run_hunt

from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Isolation
from flakehound.core.verdicts import Cause, Kind

# Tests that are not flaky


def test_a_suite_without_a_fault_is_steady_throughout():
    found = run_hunt()

    assert kinds(found) == {}
    assert found.settled


def test_a_steady_verdict_tells_how_often_the_test_passed_and_what_rate_remains_possible():
    verdict = run_hunt().verdict("c")

    assert verdict.evidence[0].startswith("passed ")
    assert 0 < verdict.rate.high < 0.1


def test_a_test_that_always_fails_is_failing_and_not_flaky():
    found = run_hunt(c=always(Outcome.FAILED))

    assert kinds(found) == {"c": Kind.FAILING}


@pytest.mark.parametrize("outcome", [Outcome.SKIPPED, Outcome.XFAILED, Outcome.XPASSED])
def test_a_test_that_is_always_skipped_or_expected_to_fail_is_steady(outcome):
    assert kinds(run_hunt(c=always(outcome))) == {}


# Tests that pass and fail in the same order


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.8])
def test_a_test_that_fails_by_chance_is_nod(rate, seed):
    found = run_hunt(seed=seed, c=fails_by_chance(rate))

    assert kinds(found) == {"c": Kind.NOD}
    assert found.verdict("c").polluters == ()


def test_a_test_that_hangs_on_the_random_seed_is_nod_with_a_seed_that_always_fails():
    found = run_hunt(c=fails_by_seed(0.3))

    verdict = found.verdict("c")
    assert kinds(found) == {"c": Kind.NOD}
    assert [likely.cause for likely in verdict.causes] == [Cause.RANDOMNESS]
    assert verdict.replay is not None
    assert found.simulator.outcome_of_last(verdict.replay.order, seed=verdict.replay.seed) is Outcome.FAILED


def test_a_test_that_hangs_on_the_hash_seed_is_nod_with_a_hash_seed_that_fails():
    found = run_hunt(c=fails_by_hash_seed())

    verdict = found.verdict("c")
    assert kinds(found) == {"c": Kind.NOD}
    assert [likely.cause for likely in verdict.causes] == [Cause.UNORDERED_COLLECTION]
    assert verdict.replay is not None
    assert verdict.replay.isolation is Isolation.SPAWN
    assert verdict.replay.hash_seed is not None
    assert verdict.replay.hash_seed % 2 == 1


def test_two_nod_tests_do_not_blame_each_other():
    found = run_hunt(c=fails_by_chance(0.3), g=fails_by_chance(0.3))

    assert kinds(found) == {"c": Kind.NOD, "g": Kind.NOD}
    assert found.verdict("c").polluters == found.verdict("g").polluters == ()


# Victims


def test_a_test_that_fails_after_one_other_is_its_victim():
    found = run_hunt(c=fails_after(G))

    verdict = found.verdict("c")
    assert kinds(found) == {"c": Kind.VICTIM}
    assert verdict.polluters == (G,)
    assert verdict.minimal_order == (G, C)
    assert not verdict.joint
    assert verdict.pollution_rate is None
    assert [likely.cause for likely in verdict.causes] == [Cause.TEST_ORDER]


def test_the_evidence_of_a_victim_has_the_counts_that_prove_it():
    verdict = run_hunt(c=fails_after(G)).verdict("c")

    assert verdict.evidence[0].startswith(f"failed 5 of 5 after {G}, passed ")
    assert verdict.replay is not None
    assert (verdict.replay.failed, verdict.replay.runs) == (5, 5)


def test_a_victim_that_fails_already_in_the_original_order_is_a_victim():
    found = run_hunt(g=fails_after(C))

    assert kinds(found) == {"g": Kind.VICTIM}
    assert found.verdict("g").polluters == (C,)


def test_a_victim_in_the_original_order_is_found_in_new_interpreters_too():
    found = run_hunt(g=fails_after(C), options={"isolation": Isolation.SPAWN})

    assert kinds(found) == {"g": Kind.VICTIM}
    assert found.verdict("g").polluters == (C,)


def test_a_victim_in_the_original_order_is_not_blamed_on_load():
    found = run_hunt(d=always(Outcome.CRASHED), g=fails_after(A, B), options={"jobs": 2})

    assert kinds(found) == {"d": Kind.FAILING, "g": Kind.VICTIM}


def test_a_victim_in_the_original_order_is_proven_by_as_few_runs_as_any_other():
    found = run_hunt(g=fails_after(C))

    assert found.verdict("g").replay is not None
    assert found.verdict("g").replay.runs <= 8


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.35, 0.5])
def test_a_victim_that_fails_sometimes_in_the_original_order_is_not_blamed_on_load(rate):
    found = [run_hunt(seed=seed, g=fails_after(A, rate=rate), options={"jobs": 2}) for seed in range(8)]

    verdicts = [one.verdict("g") for one in found]
    assert not any(verdict.under_load for verdict in verdicts)
    assert {verdict.kind for verdict in verdicts} <= {Kind.NOD, Kind.VICTIM}
    assert {verdict.polluters for verdict in verdicts} <= {(), (A,)}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_victim_that_fails_half_of_the_time_in_the_original_order_has_a_pollution_rate(jobs):
    verdict = run_hunt(g=fails_after(C, rate=0.5), options={"jobs": jobs}).verdict("g")

    assert (verdict.kind, verdict.polluters) == (Kind.VICTIM, (C,))
    assert verdict.pollution_rate is not None
    assert verdict.pollution_rate.low < 0.5 < verdict.pollution_rate.high
    assert [likely.cause for likely in verdict.causes] == [Cause.TEST_ORDER]


def test_a_victim_right_after_its_polluter_in_the_original_order_is_a_victim():
    found = run_hunt(d=fails_after(C))

    assert kinds(found) == {"d": Kind.VICTIM}
    assert found.verdict("d").minimal_order == (C, D)


def test_a_victim_whose_polluter_is_cleaned_up_after_in_the_original_order_is_a_victim():
    found = run_hunt(g=fails_after(C, cleaners=[E]))

    assert kinds(found) == {"g": Kind.VICTIM}
    assert found.verdict("g").polluters == (C,)
    assert found.verdict("g").cleaners == (E,)


def test_all_polluters_of_a_victim_are_named():
    found = run_hunt(c=fails_after(G, H, K))

    assert kinds(found) == {"c": Kind.VICTIM}
    assert set(found.verdict("c").polluters) == {G, H, K}
    assert not found.verdict("c").joint


def test_all_cleaners_are_named_and_nothing_else():
    found = run_hunt(c=fails_after(G, cleaners=[A, J]))

    assert set(found.verdict("c").cleaners) == {A, J}


def test_two_polluters_that_are_needed_together_are_named_together():
    found = run_hunt(c=fails_after_all(G, E))

    assert kinds(found) == {"c": Kind.VICTIM}
    assert set(found.verdict("c").polluters) == {G, E}
    assert found.verdict("c").joint
    assert len(found.verdict("c").minimal_order) == 3


def test_three_polluters_that_are_needed_together_are_named_together():
    found = run_hunt(c=fails_after_all(G, A, J))

    assert kinds(found) == {"c": Kind.VICTIM}
    assert set(found.verdict("c").polluters) == {G, A, J}
    assert found.verdict("c").joint


def test_polluters_that_must_come_in_one_order_are_reported_in_that_order():
    found = run_hunt(
        c=fails_if(lambda m: E in m.earlier and G in m.earlier and m.earlier.index(G) < m.earlier.index(E))
    )

    assert found.verdict("c").minimal_order == (G, E, C)


def test_a_polluter_with_many_victims_is_named_by_each():
    victims = [name for name in NAMES if name != "g"]

    found = run_hunt(**{name: fails_after(G) for name in victims})

    assert kinds(found) == dict.fromkeys(victims, Kind.VICTIM)
    assert all(found.verdict(name).polluters == (G,) for name in victims)


def test_two_tests_that_are_each_others_victims_are_both_found():
    found = run_hunt(c=fails_after(G), g=fails_after(C))

    assert found.verdict("c").polluters == (G,)
    assert found.verdict("g").polluters == (C,)


def test_a_victim_that_fails_sometimes_after_its_polluter_has_a_pollution_rate():
    verdict = run_hunt(c=fails_after(G, rate=0.4)).verdict("c")

    assert verdict.kind is Kind.VICTIM
    assert verdict.polluters == (G,)
    assert verdict.pollution_rate is not None
    assert verdict.pollution_rate.low < 0.4 < verdict.pollution_rate.high


def test_a_victim_that_crashes_after_its_polluter_is_a_victim():
    found = run_hunt(c=fails_if(lambda moment: G in moment.earlier, Outcome.CRASHED))

    assert kinds(found) == {"c": Kind.VICTIM}
    assert found.verdict("c").polluters == (G,)


def test_a_victim_that_crashes_already_in_the_original_order_is_a_victim():
    found = run_hunt(g=fails_if(lambda moment: C in moment.earlier, Outcome.CRASHED))

    assert kinds(found) == {"g": Kind.VICTIM}
    assert found.verdict("g").polluters == (C,)


def test_a_polluter_that_crashes_now_and_then_is_still_named_by_its_victim():
    found = run_hunt(c=fails_if(lambda moment: moment.draw < 0.1, Outcome.CRASHED), g=fails_after(C))

    assert kinds(found) == {"c": Kind.NOD, "g": Kind.VICTIM}
    assert found.verdict("g").polluters == (C,)


def test_a_victim_in_new_interpreters_only_is_found_too():
    found = run_hunt(c=fails_after(G), options={"isolation": Isolation.SPAWN})

    assert kinds(found) == {"c": Kind.VICTIM}
    assert found.verdict("c").polluters == (G,)


def test_a_victim_of_slow_tests_is_proven_although_each_is_run_less_often():
    simulator = Simulator(suite_of(*NAMES), {C: fails_after(G)}, test_s=dict.fromkeys(map(id_of, NAMES), 0.4))

    found = hunt(simulator, runs=3, shuffles=3, pairs="none", hash_seeds=False, techniques=("idflakies",))

    assert kinds(found) == {"c": Kind.VICTIM}
    assert found.verdict("c").polluters == (G,)
