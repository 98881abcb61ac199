from __future__ import annotations

from itertools import groupby, islice, pairwise

import pytest
from large_suites import large_suite
from long_suite_samples import TESTS, at, hunted, long_suite, names
from simulated_loop import SESSION_HASH_SEED
from simulator import (
    Simulator,
    fails_after,
    fails_after_all,
    fails_by_chance,
    fails_if,
    fails_when_repeated,
    hunt,
    passes_only_after,
    reference_plan,
    suite_of,
)

from flakehound.core.costs import RunCosts
from flakehound.core.doubtful_failures import DoubtfulFailures
from flakehound.core.history import History
from flakehound.core.plans import Setting, SharedPrefix, SingleRun, Walk, without_running
from flakehound.core.verdicts import Cause, Kind
from flakehound.hunt.diagnosis.findings import Finding
from flakehound.hunt.group_runs import GroupRuns
from flakehound.hunt.group_sweep import GroupSweep
from flakehound.hunt.options import SearchOptions
from flakehound.hunt.quick_tests import quick_tests
from flakehound.hunt.search.long_suite import LongSuite
from flakehound.hunt.search.quick_orders import quick_orders, spread_groups
from flakehound.hunt.suite_groups import SuiteGroups


def test_every_test_is_in_exactly_one_group_of_consecutive_tests():
    suite = suite_of(*names())

    groups = SuiteGroups(suite).groups

    assert sum(groups, ()) == suite.order
    assert max(map(len, groups)) <= SuiteGroups(suite).max_size


def test_small_files_share_a_group_and_large_files_are_split():
    small = [f"s{place}.py::t" for place in range(30)]
    large = [f"l.py::t{place}" for place in range(90)]

    groups = SuiteGroups(suite_of(*small, *large)).groups

    assert len(groups[0]) == 20
    assert {test.partition("::")[0] for test in groups[-1]} == {"l.py"}
    assert max(map(len, groups)) <= 20


def test_excluded_tests_are_in_no_group():
    groups = SuiteGroups(suite_of(*names()), frozenset([at(3)]))

    assert at(3) not in groups.number_of
    assert at(4) in groups.number_of


def group_runs() -> tuple[Simulator, History, GroupRuns]:
    simulator = long_suite({5: fails_after(at(300))})
    history = History(simulator.suite)
    return simulator, history, GroupRuns(history, SuiteGroups(simulator.suite))


def test_a_test_that_ran_after_a_group_is_counted_even_if_tests_of_the_group_ran_twice():
    simulator, history, runs = group_runs()
    number = runs.groups.number_of[at(300)]
    doubled = tuple(test for test in runs.groups.groups[number] for _ in range(2))
    plan = SharedPrefix(prefix=doubled, continuations=((at(5),),), why="", setting=Setting.PROBE)

    for record in simulator.run(plan):
        history.add(record)
    runs.update()

    assert (runs.tally(number, at(5)).n, runs.tally(number, at(5)).failed) == (1, 1)
    assert runs.was_swept(number)
    assert not runs.is_unseen(number, at(5))


def test_a_run_after_part_of_a_group_is_not_a_run_after_the_group():
    simulator, history, runs = group_runs()
    number = runs.groups.number_of[at(300)]
    order = (*runs.groups.groups[number][:5], at(5))

    for record in simulator.run(SingleRun(order=order, why="", setting=Setting.PROBE)):
        history.add(record)
    runs.update()

    assert runs.is_unseen(number, at(5))
    assert not runs.was_swept(number)


def test_one_run_of_a_group_serves_all_suspects():
    simulator, history, runs = group_runs()
    for place in (5, 40):
        order = (at(300), at(place))
        for record in simulator.run(SingleRun(order=order, why="", setting=Setting.PROBE)):
            history.add(record)
    failing = simulator.run(SingleRun(order=(at(300), at(5)), why="", setting=Setting.PROBE))
    history.add(failing[0])
    findings = [Finding(test=at(5), needed_groups=(7, 9))]
    sweep = GroupSweep(history, lambda: runs, lambda: findings)

    plans = sweep.plans_for_suspects(max_groups=5)

    assert [type(plan) for plan in plans] == [SharedPrefix, SharedPrefix]
    assert all(plan.continuations == ((at(5),),) for plan in plans if isinstance(plan, SharedPrefix))


def test_tests_whose_failures_are_doubtful_run_after_each_new_group_until_they_fail():
    simulator, history, runs = group_runs()
    sweep = GroupSweep(history, lambda: runs, list, doubtful=(at(5), at(40)))
    for record in simulator.run(SingleRun(order=(at(300), at(5)), why="", setting=Setting.PROBE)):
        history.add(record)

    (plan,) = sweep.plans_of_new_group(7)

    assert history.failures_of(at(5))
    assert isinstance(plan, SharedPrefix)
    assert plan.continuations == ((at(40),),)


def test_each_group_runs_once_although_groups_change_when_a_test_ends_its_process():
    """In a minute of filelock there were fewer groups afterwards, and the hunt ended in a traceback."""
    simulator, history, runs = group_runs()
    ends_its_process = frozenset(at(place) for place in range(TESTS - 60, TESTS))
    later = GroupRuns(history, SuiteGroups(simulator.suite, ends_its_process))
    current = [runs]
    sweep = GroupSweep(history, lambda: current[0], list)
    plans = LongSuite(history, SearchOptions(seed=1), sweep, lambda: current[0].groups).group_plans()

    first = [set(next(plans).orders[0]) for _number in range(3)]
    current[0] = later
    rest = [set(plan.orders[0]) for plan in plans]

    assert len(later.groups.groups) < len(runs.groups.groups)
    assert set().union(*first, *rest) >= set(later.groups.number_of)


def test_what_a_running_plan_does_after_the_same_tests_is_not_planned_again():
    running = SharedPrefix(prefix=(at(1),), continuations=((at(5),),), why="", setting=Setting.PROBE)
    both = SharedPrefix(prefix=(at(1),), continuations=((at(5),), (at(6),)), why="", setting=Setting.PROBE)

    rest = without_running(both, [running])

    assert isinstance(rest, SharedPrefix)
    assert rest.continuations == ((at(6),),)
    assert without_running(running, [both]) is None


def test_a_walk_can_run_other_tests_before_the_last_one_in_each_copy():
    simulator = long_suite({5: fails_after_all(at(100), at(200))})
    walk = Walk(
        order=tuple(at(place) for place in range(90, 110)),
        test=at(5),
        suffix=(at(200),),
        stops=(5, 15),
        why="",
        setting=Setting.PROBE,
    )

    records = simulator.run(walk)

    assert [record.order[-2:] for record in records[:2]] == [(at(200), at(5))] * 2
    assert [record.last.is_failure for record in records[:2]] == [False, True]


@pytest.mark.parametrize("polluter_places", [(300,), (130, 370)])
def test_all_polluters_of_a_victim_in_a_long_suite_are_named(polluter_places: tuple[int, ...]):
    found = hunted({5: fails_after(*map(at, polluter_places))})

    verdict = found.verdicts[at(5)]
    assert verdict.kind is Kind.VICTIM
    assert set(verdict.polluters) == set(map(at, polluter_places))


def test_polluters_in_different_files_that_act_only_together_are_found():
    found = hunted({5: fails_after_all(at(150), at(320))}, time_left_s=900.0)

    verdict = found.verdicts[at(5)]
    assert verdict.kind is Kind.VICTIM
    assert verdict.joint
    assert set(verdict.polluters) == {at(150), at(320)}


def test_a_victim_that_fails_in_the_original_order_of_a_long_suite_is_found():
    found = hunted({390: fails_after(at(20))})

    verdict = found.verdicts[at(390)]
    assert (verdict.kind, verdict.polluters) == (Kind.VICTIM, (at(20),))


def test_brittle_and_non_idempotent_tests_of_a_long_suite_are_found():
    found = hunted({390: passes_only_after(at(20)), 210: fails_when_repeated})

    assert found.verdicts[at(390)].kind is Kind.BRITTLE
    assert found.verdicts[at(390)].state_setters == (at(20),)
    assert found.verdicts[at(210)].kind is Kind.NON_IDEMPOTENT


def test_the_polluter_in_a_group_of_slow_tests_is_found():
    suite = suite_of(*names())
    times = {test.id: 1.0 for test in suite.tests}  # so that one group takes longer than a short order may
    planted = {at(5): fails_after(at(300))}
    simulator = Simulator(suite, planted, test_s=times, fork_s=0.02, interpreter_s=2.0)  # type: ignore[arg-type]
    found = hunt(simulator, jobs=2, policy="index", endless=True, time_left_s=3000.0, background_reference=True)

    assert found.verdicts[at(5)].polluters == (at(300),)


def test_no_whole_run_is_made_for_one_test_that_fails_in_every_run():
    found = hunted({210: fails_if(lambda moment: True)})

    assert found.verdicts[at(210)].kind is Kind.FAILING
    runs_for_it = [record for record in found.history.records if record.order[-1] == at(210)]
    assert max(len(record.order) for record in runs_for_it) < TESTS // 2


def test_quick_tests_take_a_share_of_the_time_and_keep_their_order():
    simulator = long_suite({})
    times = {test: 10.0 if place % 10 == 0 else 0.125 for place, test in enumerate(simulator.suite.order)}
    costs = RunCosts(first_test_s=times)

    quick = quick_tests(costs, simulator.suite.order, 0.11)

    assert len(quick) == 9 * TESTS // 10
    assert list(quick) == [test for test in simulator.suite.order if times[test] < 1]


def test_orders_of_quick_tests_differ_and_keep_files_together():
    simulator, history, _runs = group_runs()
    for record in simulator.run(reference_plan(simulator.suite)):
        history.add(record)

    orders = list(islice(quick_orders(history, simulator.suite.order, seed=3, share=0.5), 12))

    assert len(set(orders)) == 12
    for order in orders[2:]:
        files = [file for file, _tests in groupby(order, key=lambda test: test.partition("::")[0])]
        assert len(files) == len(set(files))


def test_tests_that_are_spread_run_once_each_and_none_after_its_neighbours():
    tests = long_suite({}).suite.order

    groups = list(spread_groups(tests, 20))

    assert sorted(test for group in groups for test in group) == sorted(tests)
    place = {test: number for number, test in enumerate(tests)}
    assert all(place[a] - place[b] >= 20 for group in groups for a, b in pairwise(group))


def test_a_test_that_depends_on_the_hash_seed_is_found_by_a_run_of_the_quick_tests():
    found = hunted({210: fails_if(lambda moment: moment.hash_seed != SESSION_HASH_SEED)}, time_left_s=900.0)

    verdict = found.verdicts[at(210)]
    assert verdict.kind is Kind.NOD
    assert [cause.cause for cause in verdict.causes] == [Cause.UNORDERED_COLLECTION]


def test_joint_polluters_among_the_quick_tests_are_found_without_long_walks():
    suite = suite_of(*names())
    slow = {at(place) for place in range(3, TESTS, 10)}
    times = {test.id: 4.0 if test.id in slow else 0.05 for test in suite.tests}
    planted = {at(5): fails_after_all(at(150), at(320))}
    simulator = Simulator(suite, planted, test_s=times, fork_s=0.02, interpreter_s=2.0)  # type: ignore[arg-type]
    found = hunt(simulator, jobs=2, policy="index", endless=True, time_left_s=600.0, background_reference=True)

    assert set(found.verdicts[at(5)].polluters) == {at(150), at(320)}
    walks = [r for r in found.history.records if r.why.startswith("which earlier tests decide together")]
    assert walks
    assert slow.isdisjoint(test for record in walks for test in record.order)


def test_a_test_that_fails_by_chance_in_a_long_suite_is_nod():
    found = hunted({210: fails_by_chance(0.3)})

    assert found.verdicts[at(210)].kind is Kind.NOD


def test_groups_run_first_where_one_run_of_all_tests_would_take_too_long():
    found = hunted({}, time_left_s=30.0)

    assert max(record.executed for record in found.history.records) < TESTS // 2
    ran = {test for record in found.history.records for test in record.order}
    assert len(ran) >= TESTS // 4


def test_many_suspects_of_one_polluter_do_not_take_part_in_long_searches_one_by_one():
    found = hunted({place: fails_after(at(380)) for place in range(0, 300, 2)}, time_left_s=600.0)

    kinds = [found.verdicts[at(place)].kind for place in range(0, 300, 2)]
    assert kinds.count(Kind.VICTIM) >= 140


@pytest.mark.slow
def test_most_planted_tests_of_large_suites_are_proven_in_ten_minutes():
    proven = planted = 0
    for number in (20, 21):
        large = large_suite(number)
        found = hunt(
            large.simulator(),
            max_plans=10**6,
            jobs=2,
            policy="index",
            endless=True,
            time_left_s=592.0,
            background_reference=True,
        )
        for test, plant in large.planted.items():
            verdict = found.verdicts[test]
            planted += 1
            culprits = {*verdict.polluters, *verdict.state_setters}
            proven += verdict.kind is plant.right and plant.decisive <= culprits
            assert not verdict.kind.is_flaky or verdict.kind is plant.right
        assert not [v for v in found.verdicts.values() if v.kind.is_flaky and v.id not in large.planted]
    assert proven >= 0.5 * planted


def test_tests_that_nothing_may_run_beside_are_left_out_of_other_orders_except_two():
    found = hunt(
        long_suite({}),
        jobs=2,
        policy="index",
        endless=True,
        time_left_s=600.0,
        background_reference=True,
        left_out_of_orders=frozenset([at(7)]),
    )

    orders = [record.order for record in found.history.records if record.setting is Setting.SHUFFLED]
    assert len(orders) > 3
    with_it = [order for order in orders if at(7) in order]
    assert [order[0] for order in with_it] == [at(7)] * 2  # before the quick tests, and before all others


def test_suspects_run_one_after_another_behind_a_group_where_processes_cannot_be_copied():
    behaviours = {5: fails_after(at(300)), 50: fails_after(at(180)), 90: passes_only_after(at(20))}
    found = hunt(
        long_suite(behaviours),
        jobs=1,
        snapshots=False,
        policy="index",
        endless=True,
        time_left_s=900.0,
    )

    assert found.verdicts[at(5)].polluters == (at(300),)
    assert found.verdicts[at(50)].polluters == (at(180),)
    assert found.verdicts[at(90)].state_setters == (at(20),)


def test_a_victim_whose_only_failure_so_far_is_doubtful_is_proven_without_another_whole_order_first():
    found = hunt(
        long_suite({5: fails_after(at(300))}),
        jobs=2,
        policy="index",
        endless=True,
        time_left_s=300.0,
        doubtful=DoubtfulFailures(tests=(at(5),), of_whole_order=True),
    )

    assert found.verdicts[at(5)].polluters == (at(300),)
    first_orders = [record.order for record in found.history.records[1:20]]
    assert max(map(len, first_orders)) < TESTS // 2


def test_the_whole_order_runs_again_after_the_groups_if_they_do_not_show_all_that_was_doubtful():
    """In xarray two tests that act together ran in it again after 15 of 30 minutes, too late to be found."""
    found = hunt(
        long_suite({5: fails_after_all(at(150), at(300))}),
        jobs=2,
        policy="index",
        endless=True,
        time_left_s=400.0,
        doubtful=DoubtfulFailures(tests=(at(5),), of_whole_order=True),
    )

    began = {
        record.why: record.started_s - sum(record.durations_s) for record in reversed(found.history.records)
    }  # the simulator notes when a run has ended
    assert began["another order"] < began["another order, some tests twice"]
    assert set(found.verdicts[at(5)].polluters) == {at(150), at(300)}


def test_a_test_that_fails_only_with_the_hash_seed_of_the_session_is_nod():
    found = hunted({210: fails_if(lambda moment: moment.hash_seed == SESSION_HASH_SEED)})

    assert found.verdicts[at(210)].kind is Kind.NOD


def test_a_test_that_fails_with_every_hash_seed_is_failing():
    found = hunted({210: fails_if(lambda moment: True)})

    assert found.verdicts[at(210)].kind is Kind.FAILING
