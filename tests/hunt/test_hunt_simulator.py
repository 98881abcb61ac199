"""The simulator must hand back what the engine would, or the tests that trust it prove nothing."""

from __future__ import annotations

import pytest
from simulator import Simulator, always, fails_after, fails_if, hunt, id_of, suite_of

from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Batch, Isolation, Setting, SharedPrefix, SingleRun, Walk

A, B, C = (id_of(name) for name in "abc")


def a_plan(*order, **changes):
    return SingleRun(order=order, why="", setting=Setting.PROBE, **changes)


def after(*prefix, continuations, **changes):
    return SharedPrefix(prefix=prefix, continuations=continuations, why="", setting=Setting.PROBE, **changes)


def a_simulator(**behaviours):
    return Simulator(suite_of("a", "b", "c"), {id_of(name): acts for name, acts in behaviours.items()})


def letters(record):
    return "".join(outcome.value for outcome in record.outcomes)


def test_an_order_becomes_one_record():
    records = a_simulator(b=fails_after(A)).run(a_plan(A, B, C))

    assert [letters(record) for record in records] == ["PFP"]


def test_branches_share_what_ran_before_them_and_count_it_once():
    records = a_simulator(b=fails_after(A)).run(after(A, continuations=((B,), (C, B))))

    assert [record.order for record in records] == [(A, B), (A, C, B)]
    assert [letters(record) for record in records] == ["PF", "-PF"]


def test_branches_of_an_empty_order_each_start_from_nothing():
    records = a_simulator(b=fails_after(A)).run(Batch(orders=((A,), (B,)), why="", setting=Setting.PROBE))

    assert [letters(record) for record in records] == ["P", "P"]


def test_a_crash_hides_what_follows():
    records = a_simulator(b=always(Outcome.CRASHED)).run(a_plan(A, B, C))

    assert letters(records[0]) == "PC-"


def test_a_crash_before_the_branches_leaves_no_branch():
    records = a_simulator(a=always(Outcome.CRASHED)).run(after(A, continuations=((B,), (C,))))

    assert [(record.order, letters(record)) for record in records] == [((A,), "C")]


def test_branches_in_new_interpreters_run_everything_again():
    records = a_simulator().run(after(A, continuations=((B,), (C,)), isolation=Isolation.SPAWN))

    assert [letters(record) for record in records] == ["PP", "PP"]


def test_the_last_test_of_a_process_has_no_following_test():
    last_fails = fails_if(lambda moment: moment.following is None)

    records = a_simulator(a=last_fails, b=last_fails).run(a_plan(A, B))

    assert letters(records[0]) == "PF"


def test_a_new_interpreter_has_no_age():
    ages = fails_if(lambda moment: moment.age_s > 0)

    forked = a_simulator(a=ages).run(a_plan(A))[0]
    fresh = a_simulator(a=ages).run(a_plan(A, isolation=Isolation.SPAWN))[0]

    assert (letters(forked), letters(fresh)) == ("F", "P")


def test_a_run_takes_the_start_of_its_processes_and_its_tests():
    simulator = Simulator(suite_of("a", "b", "c"), test_s={A: 2.0, B: 3.0}, fork_s=0.25, interpreter_s=1.0)

    def seconds(plan):
        began_s = simulator.clock_s
        simulator.run(plan)
        return simulator.clock_s - began_s

    assert seconds(a_plan(A, B)) == pytest.approx(5.25)
    assert seconds(a_plan(A, B, isolation=Isolation.SPAWN)) == pytest.approx(6.0)
    assert seconds(Batch(orders=((A,), (A,)), why="", setting=Setting.PROBE)) == pytest.approx(4.5)
    assert seconds(after(A, continuations=((B,), (B,)))) == pytest.approx(8.75)


def test_a_walk_takes_no_time_beyond_the_stop_that_ends_it():
    suite, planted = suite_of("a", "b", "c"), {C: fails_after(A)}
    simulator = Simulator(suite, planted, test_s={A: 2.0, B: 3.0, C: 1.0}, fork_s=0.25)

    simulator.run(Walk(order=(A, B), test=C, stops=(1, 2), until="fails", why="", setting=Setting.PROBE))

    assert simulator.clock_s == pytest.approx(1000.0 + 0.25 + 2.0 + 0.25 + 1.0)


def test_a_record_says_what_its_process_took():
    simulator = Simulator(suite_of("a", "b", "c"), test_s={A: 2.0, B: 3.0}, fork_s=0.25)

    records = simulator.run(after(A, continuations=((B,), (B,))))

    assert [record.usage.wall_s for record in records] == pytest.approx([3.25, 3.25])
    assert [sum(record.durations_s) for record in records] == pytest.approx([5.0, 3.0])


def test_jobs_run_beside_each_other():
    used_s = [
        hunt(Simulator(suite_of("a", "b", "c")), jobs=jobs, hash_seeds=False).simulator.clock_s - 1000
        for jobs in (1, 2)
    ]

    assert used_s[1] < 0.7 * used_s[0]


def test_no_hunt_takes_longer_than_its_time():
    found = hunt(Simulator(suite_of("a", "b", "c"), test_s={A: 0.7}), time_left_s=10.0, endless=True)

    reference_s = 0.5 + 0.7 + 0.002
    assert found.simulator.clock_s <= 1000 + reference_s + 10.0 + 1e-6
    assert not found.settled
