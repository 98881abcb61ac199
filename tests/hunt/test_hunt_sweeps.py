"""Runs of the search: how many, which, and what a resumed hunt leaves out."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from dataclasses import replace
from math import factorial

import pytest
from simulator import SESSION_HASH_SEED, Simulator, always, fails_by_chance, hunt, id_of, reference_plan, suite_of

from flakehound.core.history import History
from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Isolation, Setting
from flakehound.hunt.limits import MAX_HASH_SEEDS
from flakehound.hunt.options import SearchOptions
from flakehound.hunt.original_order import OriginalOrder
from flakehound.hunt.search.stages import StagedSearch

NAMES = tuple("abcdefghij")


@contextmanager
def ends_within(seconds):
    """Turns an endless loop into a failure."""

    def give_up(_number, _frame):
        raise TimeoutError(f"still busy after {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def a_simulator(names=NAMES, **behaviours):
    return Simulator(suite_of(*names), {id_of(name): acts for name, acts in behaviours.items()})


def orders_run(simulator, setting, isolation=None):
    return [
        plan.order
        for plan, _disturbed in simulator.started
        if plan.setting is setting and isolation in (None, plan.isolation)
    ]


def search_of(history, **options):
    return StagedSearch(history, SearchOptions(seed=5, **options), lambda: OriginalOrder(history))


@pytest.mark.parametrize("runs", [1, 2, 3, 4, 10])
def test_runs_is_the_number_of_original_order_runs_with_the_reference_run_among_them(runs):
    simulator = a_simulator()

    hunt(simulator, runs=runs, hash_seeds=False)

    assert len(orders_run(simulator, Setting.ORIGINAL)) == runs


def test_runs_counts_runs_with_another_hash_seed_apart():
    simulator = a_simulator()

    hunt(simulator, runs=6)

    seeds = [plan.hash_seed for plan, _ in simulator.started if plan.setting is Setting.ORIGINAL]
    same, other = seeds.count(SESSION_HASH_SEED) + seeds.count(None), MAX_HASH_SEEDS
    assert same == 6
    assert len(seeds) == 6 + other


@pytest.mark.parametrize("shuffles", [0, 1, 2, 5, 20])
def test_shuffles_is_the_number_of_runs_in_other_orders(shuffles):
    simulator = a_simulator()

    hunt(simulator, runs=3, shuffles=shuffles)

    orders = orders_run(simulator, Setting.SHUFFLED)
    assert len(orders) == shuffles
    assert len(set(orders)) == shuffles


def test_more_shuffles_than_the_systematic_orders_are_filled_up_with_random_ones():
    simulator = a_simulator()

    hunt(simulator, runs=1, shuffles=150)

    assert len(orders_run(simulator, Setting.SHUFFLED)) == 150


def test_the_search_runs_no_order_twice():
    simulator = a_simulator()

    hunt(simulator)

    orders = orders_run(simulator, Setting.SHUFFLED)
    assert len(set(orders)) == len(orders)
    assert simulator.suite.order not in orders


def test_every_other_order_is_a_permutation_of_the_suite():
    simulator = a_simulator()

    hunt(simulator, shuffles=40)

    assert all(sorted(order) == sorted(simulator.suite.order) for order in orders_run(simulator, Setting.SHUFFLED))


def test_the_first_other_order_is_the_original_backwards():
    simulator = a_simulator()

    hunt(simulator, shuffles=1)

    assert orders_run(simulator, Setting.SHUFFLED) == [simulator.suite.order[::-1]]


def test_a_hunt_without_a_time_limit_comes_to_an_end():
    found = hunt(a_simulator())

    assert found.settled
    assert found.agenda.is_done


def test_an_endless_hunt_never_runs_out_of_plans():
    found = hunt(a_simulator(), endless=True, time_left_s=60.0, policy="rerun")

    assert not found.settled


def test_every_test_runs_alone_and_is_repeated_in_the_first_sweep():
    simulator = a_simulator()

    found = hunt(simulator, max_plans=3)

    assert all(found.history.tally(t, Setting.ALONE).n == 1 for t in simulator.suite.order)
    assert all(found.history.tally(t, Setting.REPEATED).n == 1 for t in simulator.suite.order)


def test_a_test_that_cannot_be_repeated_runs_alone_only():
    suite = suite_of("a", "b")
    stubborn = replace(suite, tests=tuple(replace(test, repeatable=False) for test in suite.tests))

    found = hunt(Simulator(stubborn))

    assert found.history.tally(id_of("a"), Setting.REPEATED).n == 0
    assert found.history.tally(id_of("a"), Setting.ALONE).n > 0


def test_exact_pairs_run_every_test_before_every_other():
    simulator = a_simulator()

    found = hunt(simulator, pairs="exact")

    assert found.agenda.pairs_used == "exact"
    assert all(
        found.history.tally_after((first,), second).n
        for first in simulator.suite.order
        for second in simulator.suite.order
        if first != second
    )


def test_grouped_pairs_run_every_test_after_each_group():
    simulator = a_simulator([f"n{number}" for number in range(30)])

    found = hunt(simulator, pairs="grouped")

    assert found.agenda.pairs_used == "grouped"
    group = simulator.suite.order[:12]
    assert all(found.history.tally_after(group, test).n for test in simulator.suite.order[12:])


def test_pairs_are_exact_where_the_time_allows_it_grouped_where_not_and_none_where_that_is_too_expensive():
    names = [f"n{number}" for number in range(60)]

    used = [hunt(a_simulator(names), time_left_s=left, shuffles=5).agenda.pairs_used for left in (1e4, 20.0, 0.1)]

    assert used == ["exact", "grouped", ""]


def test_no_pairs_are_run_with_pairs_none():
    simulator = a_simulator()

    found = hunt(simulator, pairs="none")

    assert found.agenda.pairs_used == ""
    assert not any(plan.setting is Setting.PROBE for plan, _ in simulator.started)


def test_a_test_known_to_be_nod_is_no_candidate_for_pairs():
    history_of_nod = hunt(a_simulator(c=fails_by_chance(0.5)), pairs="none").history

    plans = [p for p in search_of(history_of_nod, pairs="exact")._pair_plans(1e6) if p.prefix != (id_of("c"),)]

    assert plans
    assert not any((id_of("c"),) in plan.continuations for plan in plans)


def test_only_the_selected_techniques_run():
    def settings_of(*techniques):
        simulator = a_simulator()
        hunt(simulator, techniques=techniques)
        return {plan.setting for plan, _ in simulator.started[1:]}

    assert settings_of("rerun") == {Setting.ORIGINAL, Setting.ALONE}
    assert settings_of("idflakies") >= {Setting.SHUFFLED}
    assert settings_of("pairwise") >= {Setting.PROBE, Setting.ALONE}
    assert Setting.SHUFFLED not in settings_of("rerun", "pairwise")


def test_new_interpreters_all_have_different_hash_seeds():
    simulator = a_simulator()

    hunt(simulator)

    seeds = [
        plan.hash_seed for plan, _ in simulator.started[1:] if plan.isolation is Isolation.SPAWN and plan.hash_seed
    ]
    assert len(set(seeds)) == len(seeds) == MAX_HASH_SEEDS
    assert all(0 <= seed <= 4294967295 for seed in seeds)


def test_a_pinned_hash_seed_is_left_alone():
    simulator = a_simulator()

    hunt(simulator, hash_seeds=False)

    assert not any(plan.isolation is Isolation.SPAWN for plan, _ in simulator.started[1:])


def test_the_same_seed_makes_the_same_hunt():
    first, second = a_simulator(c=fails_by_chance(0.2)), a_simulator(c=fails_by_chance(0.2))
    for simulator in (first, second):
        hunt(simulator)

    assert first.started == second.started


def test_another_seed_makes_another_hunt():
    first, second = a_simulator(), a_simulator()
    hunt(first, hunt_seed=1)
    hunt(second, hunt_seed=2)

    assert orders_run(first, Setting.SHUFFLED) != orders_run(second, Setting.SHUFFLED)


def test_tests_that_end_their_process_are_left_out_of_every_order():
    simulator = a_simulator(d=always(Outcome.CRASHED))

    hunt(simulator)

    crasher = id_of("d")
    later = [
        plan.order for plan, _ in simulator.started[3:] if plan.setting in (Setting.ORIGINAL, Setting.SHUFFLED)
    ]
    assert later
    assert not any(crasher in order for order in later)


# Suites with few orders


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("options", [{}, {"shuffles": 50}, {"endless": True, "time_left_s": 5.0}])
def test_a_suite_with_fewer_orders_than_asked_for_does_not_search_forever(size, options):
    simulator = a_simulator(NAMES[:size])

    with ends_within(10):
        hunt(simulator, **options)

    assert len(orders_run(simulator, Setting.SHUFFLED)) == factorial(size) - 1


# A resumed hunt


def plans_of_resumed_hunt(first, **options):
    """The plans that a resumed hunt starts, without a second reference run."""
    again = a_simulator()
    hunt(again, history=History(again.suite, first.history.records), with_reference=False, **options)
    return again.started


def test_a_resumed_hunt_skips_orders_and_pairs_the_history_holds():
    first = hunt(a_simulator(), shuffles=10)

    started = plans_of_resumed_hunt(first, shuffles=10)

    assert not any(plan.setting in (Setting.SHUFFLED, Setting.PROBE) for plan, _ in started)


def test_a_resumed_hunt_with_enough_original_runs_makes_no_more():
    first = hunt(a_simulator(), runs=6, hash_seeds=False)

    started = plans_of_resumed_hunt(first, runs=6, hash_seeds=False)

    assert not any(plan.setting is Setting.ORIGINAL for plan, _ in started)


def test_a_resumed_hunt_does_not_try_the_same_hash_seeds_again():
    first = hunt(a_simulator())

    started = plans_of_resumed_hunt(first)

    tried = {record.hash_seed for record in first.history.records if record.isolation is Isolation.SPAWN}
    assert not any(plan.hash_seed in tried for plan, _ in started if plan.isolation is Isolation.SPAWN)


def test_a_resumed_hunt_goes_on_where_the_first_was_cut_off():
    whole = hunt(a_simulator(), shuffles=20, hash_seeds=False)
    cut = hunt(a_simulator(), shuffles=20, hash_seeds=False, max_plans=12)

    again = a_simulator()
    hunt(again, history=cut.history, with_reference=False, shuffles=20, hash_seeds=False)

    shuffled = [r.order for r in cut.history.records if r.setting is Setting.SHUFFLED]
    assert sorted(shuffled) == sorted(r.order for r in whole.history.records if r.setting is Setting.SHUFFLED)


def test_the_reference_run_is_the_original_order_in_a_new_interpreter():
    plan = reference_plan(suite_of("a", "b"))

    assert (plan.setting, plan.isolation) == (Setting.ORIGINAL, Isolation.SPAWN)
