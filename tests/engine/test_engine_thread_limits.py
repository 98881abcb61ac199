"""Numeric libraries get their share of the cores if several runs go on at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from flakehound.core.outcomes import Outcome
from flakehound.engine.processes.launch import Target
from flakehound.engine.suite.thread_limits import THREAD_VARIABLES, with_thread_limits

TARGET = Target(python="python", cwd=Path())


@pytest.fixture(autouse=True)
def _four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flakehound.engine.suite.thread_limits.usable_cores", lambda: 4)


@pytest.mark.parametrize(("jobs", "threads"), [(None, "1"), (2, "2"), (4, "1"), (16, "1")])
def test_each_run_gets_its_share_of_the_cores(jobs, threads):
    limited = with_thread_limits(TARGET, jobs, inherited={})

    assert limited.env_of_collection == dict.fromkeys(THREAD_VARIABLES, threads)
    assert not limited.env


def test_a_single_run_at_a_time_may_use_all_cores():
    assert with_thread_limits(TARGET, 1, inherited={}) == TARGET


@pytest.mark.parametrize("name", THREAD_VARIABLES)
def test_a_limit_that_the_user_has_set_is_kept(name):
    assert with_thread_limits(TARGET, None, inherited={name: "3"}) == TARGET


def test_modules_see_the_limits_while_they_are_collected_and_tests_do_not(open_sample):
    sample = open_sample(
        {
            "test_it.py": """
                import os
                AT_IMPORT = os.environ.get("OMP_NUM_THREADS")

                def test_it():
                    assert AT_IMPORT == "1"
                    assert "OMP_NUM_THREADS" not in os.environ
            """
        },
        env_of_collection={"OMP_NUM_THREADS": "1"},
    )
    (test,) = sample.ids

    outcomes = [sample.fork(test).outcomes, sample.spawn(test).outcomes]

    assert outcomes == [(Outcome.PASSED,)] * 2
