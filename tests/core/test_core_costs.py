"""What runs are expected to cost."""

from __future__ import annotations

import pytest
from core_samples import A, B, a_run

from flakehound.core.costs import (
    DEFAULT_FORK_S,
    DEFAULT_NEW_INTERPRETER_S,
    DEFAULT_TEST_S,
    MIN_TIMED_FORKS,
    STATE_COMPARED,
    CostMeasurements,
    RunCosts,
)
from flakehound.core.plans import Batch, Isolation, Setting, SharedPrefix, SingleRun, Walk
from flakehound.core.records import Usage

COSTS = RunCosts(fork_s=0.01, new_interpreter_s=2.0, mean_test_s={A: 1.0, B: 3.0})
COMMON = {"why": "", "setting": Setting.PROBE}


def costs_after(*records):
    measurements = CostMeasurements()
    for record in records:
        measurements.add(record)
    return measurements.costs


def forked_run(wall_s, **changes):
    return a_run([A], "P", durations_s=(0.1,), usage=Usage(wall_s=wall_s), **changes)


def spawned_run(wall_s, **changes):
    return forked_run(wall_s, isolation=Isolation.SPAWN, **changes)


def test_the_first_time_of_a_test_stays_when_its_mean_changes():
    costs = costs_after(*(a_run([A], "P", durations_s=(seconds,)) for seconds in (0.5, 1.5)))

    assert costs.first_test_s == {A: 0.5}
    assert costs.mean_test_s == {A: 1.0}


def test_defaults_are_used_until_something_is_measured():
    costs = costs_after()

    assert costs.start_s(Isolation.FORK) == DEFAULT_FORK_S
    assert costs.start_s(Isolation.SPAWN) == DEFAULT_NEW_INTERPRETER_S
    assert costs.test_s(A) == DEFAULT_TEST_S


def test_what_is_expected_of_tests_and_interpreters_holds_until_they_are_timed():
    measurements = CostMeasurements()
    measurements.add(forked_run(0.12))

    measurements.expect(test_s=2.0, new_interpreter_s=5.0)

    costs = measurements.costs
    assert costs.test_s(A) == pytest.approx(0.1)
    assert costs.test_s(B) == 2.0
    assert costs.tests_s([A, B]) == pytest.approx(2.1)
    assert costs.start_s(Isolation.SPAWN) == 5.0


def test_a_test_is_never_expected_to_be_free():
    measurements = CostMeasurements()

    measurements.expect(test_s=0.0, new_interpreter_s=1.0)

    assert measurements.costs.test_s(A) == DEFAULT_TEST_S


def test_the_mean_of_several_forks_replaces_the_default():
    few = costs_after(*[forked_run(0.12)] * (MIN_TIMED_FORKS - 1))
    enough = costs_after(*[forked_run(0.12), forked_run(0.14)] * MIN_TIMED_FORKS)

    assert few.fork_s == DEFAULT_FORK_S
    assert enough.fork_s == pytest.approx(0.03)


def test_a_fork_that_waited_for_something_else_is_not_counted():
    assert costs_after(*[forked_run(5.0)] * MIN_TIMED_FORKS).fork_s == DEFAULT_FORK_S


def test_the_first_new_interpreter_replaces_the_default():
    assert costs_after(spawned_run(0.6)).new_interpreter_s == pytest.approx(0.5)


def test_a_new_interpreter_that_was_killed_is_not_counted():
    assert costs_after(spawned_run(60.0, ended="SIGKILL")).new_interpreter_s == DEFAULT_NEW_INTERPRETER_S


def test_a_run_costs_its_start_and_its_tests():
    assert COSTS.run_s((A, B), Isolation.FORK) == pytest.approx(4.01)
    assert COSTS.run_s((A, B), Isolation.SPAWN) == pytest.approx(6.0)


def test_an_observed_run_costs_more():
    assert COSTS.run_s((A,), Isolation.FORK, STATE_COMPARED) == pytest.approx(0.01 + 0.07 + 3.0)


def test_a_plan_costs_all_of_its_processes():
    assert COSTS.plan_s(SingleRun(order=(A, B), **COMMON)) == pytest.approx(4.01)
    assert COSTS.plan_s(Batch(orders=((A,), (A,)), **COMMON)) == pytest.approx(2.02)
    assert COSTS.plan_s(SharedPrefix(prefix=(A,), continuations=((B,), (B,)), **COMMON)) == pytest.approx(7.03)
    assert COSTS.plan_s(Walk(order=(A, A), test=B, stops=(1, 2), **COMMON)) == pytest.approx(8.03)


def test_a_new_interpreter_runs_a_shared_prefix_again_for_each_continuation():
    plan = SharedPrefix(prefix=(A,), continuations=((B,), (B,)), isolation=Isolation.SPAWN, **COMMON)

    assert COSTS.plan_s(plan) == pytest.approx(2 * (2.0 + 4.0))


def test_times_of_earlier_hunts_hold_until_a_test_is_timed():
    measurements = CostMeasurements()
    measurements.remember({A: 5.0, B: 7.0})
    measurements.add(forked_run(0.2))

    assert measurements.costs.test_s(A) == pytest.approx(0.1)
    assert measurements.costs.test_s(B) == 7.0


def test_adding_up_stops_where_the_limit_is_reached():
    assert COSTS.is_longer([A, B], 4.0)
    assert not COSTS.is_longer([A, B], 4.1)
