"""Searches of one suspect that take many long runs, in a long suite."""

from __future__ import annotations

from simulated_loop import SESSION_HASH_SEED
from simulator import Simulator, fails_after, fails_after_all, fails_if, hunt, id_of, suite_of

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import RunPlan, Setting, SingleRun, Walk
from flakehound.hunt.agenda import Agenda
from flakehound.hunt.diagnosis.findings import Finding
from flakehound.hunt.group_runs import GroupRuns
from flakehound.hunt.group_sweep import GroupSweep
from flakehound.hunt.long_limits import FIRST_QUICK_ORDERS, MAX_ALIKE_SUSPECTS
from flakehound.hunt.suite_groups import SuiteGroups

TESTS = 400
TEST_S = 0.1  # 40 seconds in all: long enough for suspects to share runs


def at(place: int) -> NodeId:
    return id_of(f"f{place // 25}.py::t{place}")


def hunted(
    behaviours: dict[int, object], time_left_s: float = 400.0, interpreter_s: float = 2.0, **options: object
):
    suite = suite_of(*(f"f{place // 25}.py::t{place}" for place in range(TESTS)))
    planted = {at(place): behaviour for place, behaviour in behaviours.items()}
    times = {test.id: TEST_S for test in suite.tests}
    simulator = Simulator(suite, planted, test_s=times, fork_s=0.02, interpreter_s=interpreter_s)  # type: ignore
    return hunt(
        simulator,
        jobs=2,
        policy="index",
        endless=True,
        time_left_s=time_left_s,
        background_reference=True,
        **options,
    )


def test_long_searches_leave_a_job_to_the_search(monkeypatch):
    offered: list[int] = []
    original = Agenda.follow_ups

    def watched(agenda: Agenda) -> list[RunPlan]:
        plans = original(agenda)
        walks = {plan.test for plan in plans if isinstance(plan, Walk) and len(plan.order) * TEST_S >= 10.0}
        offered.append(len(walks))
        return plans

    monkeypatch.setattr(Agenda, "follow_ups", watched)

    hunted(
        {5: fails_after_all(at(150), at(300)), 30: fails_after_all(at(120), at(350))},
        time_left_s=600.0,
    )

    assert max(offered[:-1], default=0) == 1


def test_a_walk_leaves_out_tests_beside_which_nothing_may_run():
    alone = frozenset([at(100), at(200)])

    found = hunted({5: fails_after_all(at(150), at(300))}, left_out_of_orders=alone)

    walks = [record.order for record in found.history.records if "decide together" in record.why]
    assert walks
    assert all(alone.isdisjoint(order) for order in walks)
    assert set(found.verdicts[at(5)].polluters) == {at(150), at(300)}


def test_tests_that_act_together_are_found_by_one_long_walk_each():
    """A walk that finds the test in a stretch would run all tests before it again."""
    suite = suite_of(*(f"f{place // 25}.py::t{place}" for place in range(5 * TESTS)))
    planted = {at(5): fails_after_all(at(1500), at(1900))}
    times = {test.id: TEST_S / 5 for test in suite.tests}
    simulator = Simulator(suite, planted, test_s=times, fork_s=0.005, interpreter_s=2.0)  # type: ignore[arg-type]

    found = hunt(simulator, jobs=2, policy="index", endless=True, time_left_s=600.0, background_reference=True)

    walks = [record for record in found.history.records if "decide together" in record.why]
    assert set(found.verdicts[at(5)].polluters) == {at(1500), at(1900)}
    assert 0 < sum(record.executed for record in walks) < 2 * len(suite.tests)


def test_a_test_that_fails_after_others_with_another_hash_seed_runs_alone_with_it_only_once():
    found = hunted(
        {210: fails_if(lambda moment: bool(moment.earlier) and moment.hash_seed != SESSION_HASH_SEED)},
        time_left_s=900.0,
    )

    alone = [record for record in found.history.records if "alone with this hash seed" in record.why]
    assert len(alone) == 1


def test_later_orders_of_quick_tests_have_hash_seeds_of_their_own_where_a_start_is_cheap():
    def hash_seeds(interpreter_s: float) -> list[int | None]:
        records = hunted({}, time_left_s=900.0, interpreter_s=interpreter_s).history.records
        orders = [record for record in records if record.why == "another order of the quick tests"]
        return [record.hash_seed for record in orders if len(record.order) >= TESTS // 8]  # 5 seconds and longer

    cheap, expensive = hash_seeds(1.0), hash_seeds(60.0)

    assert set(cheap[:FIRST_QUICK_ORDERS]) == {SESSION_HASH_SEED}
    later = cheap[FIRST_QUICK_ORDERS:]
    assert len(set(later)) == len(later) > 1
    assert SESSION_HASH_SEED not in later
    assert set(expensive) == {SESSION_HASH_SEED}


def test_of_suspects_with_equal_failures_in_one_file_only_a_few_run_after_a_group_if_they_are_slow():
    def served(test_s: float) -> int:
        places = range(10)
        suite = suite_of(*(f"f{place // 25}.py::t{place}" for place in range(TESTS)))
        times = {test.id: TEST_S for test in suite.tests} | {at(place): test_s for place in places}
        planted = {at(place): fails_after(at(300)) for place in places}
        simulator = Simulator(suite, planted, test_s=times, fork_s=0.001)  # type: ignore[arg-type]
        history = History(suite)
        orders = [suite.order, *((at(300), at(place)) for place in places)]
        for order in orders:
            for record in simulator.run(SingleRun(order=order, why="", setting=Setting.PROBE)):
                history.add(record)
        findings = [Finding(test=at(place), needed_groups=(7,)) for place in places]
        runs = GroupRuns(history, SuiteGroups(suite))
        (plan,) = GroupSweep(history, lambda: runs, lambda: findings).plans_for_suspects(max_groups=1)
        return len(plan.copies)

    assert served(0.001) == 10
    assert served(0.4) == MAX_ALIKE_SUSPECTS
