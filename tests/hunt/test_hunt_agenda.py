"""What runs first, and what has to wait."""

from __future__ import annotations

from simulator import Simulator, fails_after, fails_by_chance, hunt, reference_plan
from ten_tests import A, B, C, J, a_run, suite_of_ten

from flakehound.core.history import History
from flakehound.core.plans import Isolation, Setting
from flakehound.core.verdicts import Kind
from flakehound.hunt.agenda import Agenda
from flakehound.hunt.options import SearchOptions

SUITE = suite_of_ten()


def first_follow_ups(*, test_s, budget_s):
    """What an agenda asks for after `a` passed in a new interpreter and failed in the first fork."""
    simulator = Simulator(SUITE, test_s={A: test_s})
    reference = simulator.run(reference_plan(SUITE))
    failed = a_run(SUITE.order, "F" + "P" * 9, setting=Setting.ORIGINAL, hash_seed=reference[0].hash_seed)
    history = History(SUITE, [*reference, failed])
    return Agenda(history, SearchOptions(seed=0), lambda: budget_s).follow_ups()


def test_the_start_of_an_interpreter_keeps_no_follow_up_waiting_for_the_first_look():
    plans = first_follow_ups(test_s=0.001, budget_s=30.0)

    assert {plan.isolation for plan in plans} == {Isolation.SPAWN}


def test_a_slow_test_keeps_its_follow_ups_waiting_for_the_first_look():
    assert first_follow_ups(test_s=1.0, budget_s=30.0) == []
    assert first_follow_ups(test_s=1.0, budget_s=300.0)


def test_the_victim_of_a_slow_polluter_is_proven_and_does_not_run_alone_again_and_again():
    planted = {B: fails_after(C), J: fails_by_chance(0.2)}
    simulator = Simulator(SUITE, planted, test_s={C: 0.3})

    found = hunt(simulator, time_left_s=60.0, policy="rerun")

    assert found.verdict("b").kind is Kind.VICTIM
    assert found.verdict("j").kind is Kind.NOD
    assert found.history.tally(B, Setting.ALONE).n < found.history.tally(A, Setting.ALONE).n + 10
