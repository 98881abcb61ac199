"""The search by index: which runs it chooses and leaves out, and when it ends."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest
from simulator import Simulator, fails_after, fails_by_chance, hunt, id_of, reference_plan, suite_of

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Batch, Isolation, Order, RunPlan, Setting, SingleRun
from flakehound.core.statistics.index import chance_of_detection
from flakehound.core.statistics.prevalence import (
    NOD_BY_HASH_SEED_SHARE,
    NOD_ONLY_ALONE_SHARE,
    NOD_ONLY_IN_ORIGINAL_ORDER_SHARE,
    NOD_SHARE,
    RATES,
    FlakyWay,
    Priors,
)
from flakehound.core.verdicts import Kind
from flakehound.hunt.limits import MIN_STAGES_SHARE
from flakehound.hunt.options import SearchOptions
from flakehound.hunt.original_order import OriginalOrder
from flakehound.hunt.search.by_index import IndexSearch
from flakehound.hunt.search.expected_gain import WAYS_ALONE, WAYS_IN_ORIGINAL_ORDER, WAYS_TOGETHER, ExpectedGain
from flakehound.hunt.search.forecast import Forecast, RepeatableRun

NAMES = tuple("abcdefghij")
SUITE = suite_of(*NAMES)


def simulator_and_history(test_s=None, **behaviours):
    """A simulator, and a history with the reference run."""
    planted = {id_of(name): acts for name, acts in behaviours.items()}
    simulator = Simulator(SUITE, planted, test_s=test_s or {})
    return simulator, History(SUITE, simulator.run(reference_plan(SUITE)))


def first_plans(history, number, *, time_left_s=60.0, **options):
    search = IndexSearch(history, SearchOptions(seed=5, **options), lambda: OriginalOrder(history))
    plans = search.plans(lambda: time_left_s)
    return [next(plans) for _ in range(number)]


def order_plan(order=SUITE.order, setting=Setting.ORIGINAL):
    return SingleRun(order=order, why="", setting=setting)


def alone_in(plan: RunPlan) -> tuple[Order, ...]:
    return plan.orders if isinstance(plan, Batch) else ()


def alone_plan(*tests: NodeId) -> RunPlan:
    return Batch(orders=tuple((test,) for test in tests), why="", setting=Setting.ALONE)


# The expected gain of a run


def test_another_order_gains_more_than_the_original_one_at_first():
    gain = ExpectedGain(History(SUITE), Priors())

    assert gain.of_plan(order_plan(SUITE.order[::-1], Setting.SHUFFLED)) > gain.of_plan(order_plan())


def test_each_planned_run_lowers_the_gain_of_the_next_one():
    gain = ExpectedGain(History(SUITE), Priors())
    values = []
    for _run in range(5):
        values.append(gain.of_plan(order_plan()))
        gain.count_planned(order_plan())

    assert values == sorted(values, reverse=True)
    assert len(set(values)) == 5


def test_the_running_sums_equal_the_sum_over_the_tests():
    _simulator, history = simulator_and_history(c=fails_by_chance(1.0))
    gain = ExpectedGain(history, Priors(nod={id_of("a"): 0.3}))
    gain.update()
    gain.count_planned(order_plan())
    gain.count_planned(alone_plan(id_of("a"), id_of("b")))

    by_hand = sum(gain.of_test(test, WAYS_IN_ORIGINAL_ORDER) for test in SUITE.order)

    assert gain.of_plan(order_plan()) == pytest.approx(by_hand)


def test_a_test_that_failed_has_no_gain_as_it_is_followed_up_anyway():
    _simulator, history = simulator_and_history(c=fails_by_chance(1.0))
    gain = ExpectedGain(history, Priors())

    gain.update()

    assert gain.of_plan(alone_plan(id_of("c"))) == 0
    assert id_of("c") not in gain.tests


def gain_factors(**behaviours):
    """By which factor the gain of each test grows when failures are taken into account, after ten runs."""
    suite = suite_of(*NAMES, "other.py::far")
    simulator = Simulator(suite, {id_of(name): acts for name, acts in behaviours.items()})
    history = History(suite, simulator.run(reference_plan(suite)))
    for record in (one for _ in range(9) for one in simulator.run(order_plan(suite.order))):
        history.add(record)
    gain = ExpectedGain(history, Priors())
    before = {test: gain.of_plan(alone_plan(test)) for test in suite.order}
    gain.update()
    return {test: gain.of_plan(alone_plan(test)) / before[test] for test in suite.order}, gain


def test_where_one_test_is_flaky_the_others_of_its_file_are_likelier():
    times, gain = gain_factors(c=fails_by_chance(0.5))

    assert times[id_of("a")] > 10
    assert times[id_of("other.py::far")] == 1
    assert gain.increases == 1


def test_a_test_that_always_fails_says_nothing_about_its_file():
    times, gain = gain_factors(c=fails_by_chance(1.0))

    assert times[id_of("a")] == 1
    assert gain.increases == 0


def test_many_passes_among_others_say_little_of_how_a_test_does_with_nothing_before_it():
    gain = ExpectedGain(History(SUITE), Priors(nod={id_of("a"): 0.1}))
    for _run in range(50):
        gain.count_planned(order_plan())
    for _run in range(3):
        gain.count_planned(alone_plan(id_of("a")))

    assert gain.of_test(id_of("a"), WAYS_ALONE) > 2 * gain.of_test(id_of("a"), WAYS_TOGETHER)


def test_what_was_found_beyond_expectation_is_expected_of_the_rest():
    gain = ExpectedGain(History(SUITE), Priors())
    left = gain.expected_flaky(SUITE.order)

    assert gain.suite_factor(0, left) == gain.suite_factor(0, 0.0) == 1
    assert gain.suite_factor(3, left) > gain.suite_factor(1, left) > 1


def test_a_gain_is_the_formula_of_the_index():
    gain = ExpectedGain(History(SUITE), Priors())
    for _run in range(3):
        gain.count_planned(order_plan())

    for way in FlakyWay:
        assert gain.of_way(id_of("a"), way) == pytest.approx(
            chance_of_detection(gain.passing_test(id_of("a"), way), RATES[way])
        )
    assert gain.of_way(id_of("a"), FlakyWay.ANYWHERE, runs_before=2) < gain.of_way(id_of("a"), FlakyWay.ANYWHERE)


# Which runs are chosen


def test_after_a_failure_its_file_comes_first():
    suite = suite_of(*"abc", *(f"other.py::{name}" for name in "klm"))
    simulator = Simulator(suite, {id_of("c"): fails_by_chance(0.5)}, test_s=dict.fromkeys(suite.order, 0.5))
    history = History(suite, simulator.run(reference_plan(suite)))
    for record in (one for _ in range(9) for one in simulator.run(order_plan(suite.order))):
        history.add(record)
    search = IndexSearch(history, SearchOptions(seed=5, techniques=("rerun",)), lambda: OriginalOrder(history))
    plans = search.plans(lambda: 60.0)

    alone = Counter(branch[-1] for plan in islice(plans, 40) for branch in alone_in(plan))

    assert min(alone[id_of("a")], alone[id_of("b")]) > 2 * max(alone[id_of(f"other.py::{one}")] for one in "klm")


def test_the_first_look_is_that_of_the_stages_where_the_time_allows_it():
    _simulator, history = simulator_and_history()

    plans = first_plans(history, 5)

    settings = [plan.setting for plan in plans]
    assert settings == [Setting.ORIGINAL] * 2 + [Setting.ALONE] + [Setting.SHUFFLED] * 2


def test_the_first_round_has_every_sort_of_run_and_ends_with_its_share_of_the_time():
    _simulator, history = simulator_and_history()
    search = IndexSearch(history, SearchOptions(seed=5, endless=True), lambda: OriginalOrder(history))
    left_s = iter([60.0] * 8 + [30.0] * 400)
    plans = search.plans(lambda: next(left_s))

    cut_short = [next(plans) for _ in range(20)]
    whole = first_plans(history, 24, endless=True)

    assert sum(plan.isolation is Isolation.SPAWN for plan in whole) == 6
    assert 0 < sum(plan.isolation is Isolation.SPAWN for plan in cut_short) < 6


def test_a_test_with_a_high_prior_runs_alone_again_and_again():
    _simulator, history = simulator_and_history()
    priors = Priors(nod={id_of("d"): 0.5})

    plans = first_plans(history, 40, priors=priors, endless=True, hash_seeds=False)

    alone = [branch for plan in plans for branch in alone_in(plan) if len(branch) == 1]
    assert alone.count((id_of("d"),)) > 5
    assert alone.count((id_of("c"),)) == 0


def test_likely_tests_that_take_less_than_a_fork_run_many_in_one_process_in_their_order():
    names = tuple(f"t{number:02}" for number in range(60))
    likely = [id_of(name) for name in names[::5]]
    suite = suite_of(*names)
    tiny = Simulator(suite, {}, test_s=dict.fromkeys(suite.order, 0.0002))
    history = History(suite, tiny.run(reference_plan(suite)))
    priors = Priors(nod=dict.fromkeys(likely, 0.2))

    plans = first_plans(history, 60, priors=priors, techniques=("rerun",), endless=True, hash_seeds=False)

    groups = [plan.order for plan in plans if plan.setting is Setting.PROBE and isinstance(plan, SingleRun)]
    assert groups
    assert all(list(group) == sorted(group) and set(group) <= set(likely) for group in groups)
    assert max(map(len, groups)) > 5


def test_tests_of_equal_gain_take_turns_and_unknown_costs_do_no_harm():
    history = History(SUITE)  # nothing has run: nobody knows what a test takes
    alone = [
        branch[0]
        for plan in first_plans(history, 60, techniques=("rerun",), endless=True)
        if plan.setting is Setting.ALONE
        for branch in alone_in(plan)
    ]

    turns = Counter(alone)
    assert set(turns) == set(SUITE.order)
    assert turns.total() > 100
    assert max(turns.values()) - min(turns.values()) <= 1


def test_a_group_is_never_the_whole_suite():
    _simulator, history = simulator_and_history(test_s=dict.fromkeys(SUITE.order, 0.0002))

    plans = first_plans(history, 60, techniques=("rerun",), endless=True, hash_seeds=False)

    assert all(len(plan.order) < len(SUITE.order) for plan in plans if plan.setting is Setting.PROBE)


def test_a_suite_too_expensive_for_a_first_look_is_searched_by_index_at_once():
    _simulator, history = simulator_and_history(test_s={id_of("a"): 30.0})

    plans = first_plans(history, 6, techniques=("rerun",), time_left_s=20.0, hash_seeds=False, endless=True)

    alone = [branch for plan in plans for branch in alone_in(plan) if len(branch) == 1]
    assert (id_of("b"),) in alone
    assert (id_of("a"),) not in alone


def test_a_part_of_the_time_follows_the_stages_whatever_the_rates_say():
    simulator, history = simulator_and_history()
    search = IndexSearch(history, SearchOptions(seed=5, endless=True), lambda: OriginalOrder(history))
    plans = search.plans(lambda: 60.0)
    for _run in range(200):
        for record in simulator.run(next(plans)):
            history.add(record)

    assert search._staged_s >= 0.9 * MIN_STAGES_SHARE * search._spent_s
    assert any(record.isolation is Isolation.SPAWN for record in history.records[1:])


def test_techniques_that_were_not_asked_for_offer_nothing():
    _simulator, history = simulator_and_history()

    plans = first_plans(history, 30, techniques=("rerun",), endless=True)

    assert not any(plan.setting in (Setting.SHUFFLED, Setting.PROBE) for plan in plans)


# When the search ends


def test_a_hunt_ends_when_nothing_is_to_be_expected_of_the_time_left():
    found = hunt(Simulator(SUITE), endless=True, time_left_s=20.0, policy="index")

    assert found.settled
    assert found.agenda.ended_early


def hunt_with_low_priors(**behaviours):
    """Hunt a suite of two tests that have very low priors."""
    tests = {id_of(name): 0.0001 for name in "xy"}
    simulator = Simulator(suite_of("x", "y"), {id_of(name): acts for name, acts in behaviours.items()})
    priors = Priors(nod=tests, order_dependent=tests)
    return hunt(simulator, priors=priors, endless=True, time_left_s=60.0, policy="index")


def test_no_hunt_ends_early_before_it_could_have_seen_one_failure_in_a_hundred_runs():
    found = hunt_with_low_priors()

    assert found.agenda.ended_early
    assert all(found.history.tally(test).n >= 299 for test in found.history.suite.order)


def test_a_rare_failure_in_a_tiny_suite_is_found_though_other_suites_call_it_unlikely():
    found = hunt_with_low_priors(x=fails_by_chance(0.02))

    assert found.verdict("x").kind is Kind.NOD


def test_a_hunt_whose_time_ran_out_did_not_end_early():
    many = Simulator(suite_of(*(f"t{number}" for number in range(40))))

    found = hunt(many, endless=True, time_left_s=1.0, policy="index")

    assert not found.agenda.ended_early


def test_counted_runs_are_made_even_if_nothing_is_to_be_expected():
    simulator = Simulator(SUITE)

    hunt(simulator, runs=400, time_left_s=60.0, hash_seeds=False, policy="index")

    assert sum(plan.setting is Setting.ORIGINAL for plan, _disturbed in simulator.started) == 400


def test_more_time_shows_more_but_less_per_second():
    gain = ExpectedGain(History(SUITE), Priors())
    run = RepeatableRun(tests=SUITE.order, ways=(FlakyWay.ANYWHERE,), cost_s=1.0, max_runs=10**6)

    bought = [Forecast(passing_test=gain.passing_test).detections_in(s, [run]) for s in (16, 160, 1600)]

    assert 0 < bought[0] < bought[1] < bought[2] < NOD_SHARE * len(NAMES)
    assert bought[0] / 16 > bought[1] / 160 > bought[2] / 1600


def test_a_forecast_equals_the_gain_of_the_same_runs_one_by_one():
    gain = ExpectedGain(History(SUITE), Priors())
    run = RepeatableRun(tests=SUITE.order, ways=WAYS_IN_ORIGINAL_ORDER, cost_s=1.0, max_runs=10**6)
    forecast = Forecast(passing_test=gain.passing_test).detections_in(16.0, [run])
    left_at_first = gain.expected_flaky(SUITE.order)

    for _run in range(16):
        gain.count_planned(order_plan())

    # Nothing else than FlakyWay.ANYWHERE is in `left` of what these runs can show.
    shown = left_at_first - gain.expected_flaky(SUITE.order)
    shown *= 1 + NOD_ONLY_IN_ORIGINAL_ORDER_SHARE / (
        1 - NOD_ONLY_IN_ORIGINAL_ORDER_SHARE - NOD_ONLY_ALONE_SHARE - NOD_BY_HASH_SEED_SHARE
    )
    assert forecast == pytest.approx(shown, rel=0.01)


# A whole hunt


@pytest.mark.parametrize("policy", ["index", "rerun"])
def test_both_policies_find_a_nod_test_and_a_victim(policy):
    planted = {id_of("c"): fails_by_chance(0.1), id_of("g"): fails_after(id_of("i"))}

    found = hunt(Simulator(SUITE, planted, seed=3), time_left_s=30.0, policy=policy)

    assert found.verdict("c").kind is Kind.NOD
    assert found.verdict("g").kind is Kind.VICTIM
    assert found.verdict("g").polluters == (id_of("i"),)


def test_the_index_finds_a_likely_test_in_less_time_than_the_stages():
    names = tuple(f"t{number}" for number in range(20))
    suite = suite_of(*names)
    took = {}
    for policy in ("index", "rerun"):
        seconds = []
        for seed in range(2):
            simulator = Simulator(suite, {id_of("t7"): fails_by_chance(0.02)}, seed=seed)
            began_s = simulator.clock_s
            found = hunt(
                simulator,
                endless=True,
                time_left_s=25.0,
                policy=policy,
                hunt_seed=seed,
                hash_seeds=False,
                priors=Priors(nod={id_of("t7"): 0.3}),
            )
            first = found.history.failures_of(id_of("t7"))[0]
            seconds.append(first.record.started_s - began_s)
        took[policy] = sum(seconds)

    assert took["index"] < 0.5 * took["rerun"]
