"""The time of a hunt, given or derived from that of the suite."""

from __future__ import annotations

from flakehound.engine.processes.limits import first_test_limit_s
from flakehound.engine.suite.budget import DEFAULT_LIMIT_S, Budget


def test_the_default_time_follows_what_is_known_of_the_suite():
    budget = Budget()

    budget.set_default(2.0)
    early_s = budget.limit_s
    budget.set_default(10.0)

    assert early_s is not None
    assert budget.limit_s is not None
    assert early_s < 60.0 < budget.limit_s < 300.0


def test_a_given_time_is_never_changed():
    budget = Budget(limit_s=60.0)

    budget.set_default(0.1)
    budget.lower_default(0.1)

    assert budget.limit_s == 60.0


def test_a_suite_of_unknown_length_does_not_get_more_than_the_longest_default():
    budget = Budget()

    budget.set_default(float("inf"))

    assert budget.limit_s is not None
    assert budget.limit_s < DEFAULT_LIMIT_S


def test_one_test_of_the_first_run_gets_a_tenth_of_the_time_within_bounds():
    assert [first_test_limit_s(budget_s) for budget_s in (10.0, 600.0, 3600.0)] == [30.0, 60.0, 120.0]
