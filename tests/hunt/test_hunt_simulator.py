"""The simulator must hand back what the engine would, or the tests that trust it prove nothing."""

from __future__ import annotations

from simulator import Simulator, always, fails_after, fails_if, id_of, suite_of

from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Batch, Isolation, Setting, SharedPrefix, SingleRun

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
