"""How many runs of a step fit into the time of a triage."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from flakehound.app.triage.failing_run import FailingRun, ObservedProcess, TriageOptions
from flakehound.app.triage.step_runner import StepRunner
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.triage.evidence import Condition
from flakehound.triage.next_step import CheckBase, RunSide, SearchPolluters

SLOW, POLLUTER, VICTIM = (NodeId(f"test_m.py::test_{name}") for name in ("slow", "polluter", "victim"))
START_S, FORK_S = 2.0, 0.1


@pytest.fixture
def runner(tmp_path: Path) -> StepRunner:
    """Of a run in which the slow test takes a minute and the others half a second each."""
    process = ObservedProcess(
        worker="", order=(SLOW, POLLUTER, VICTIM), outcomes=(Outcome.PASSED,) * 3, durations_s=[60.0, 0.5, 0.5]
    )
    options = TriageOptions(
        forked=2, since=None, intersect=True, check_base=False, json_file=None, store=tmp_path / "s.db", seed=1
    )
    run = FailingRun(
        rootdir=tmp_path,
        cwd=tmp_path,
        python="python",
        pytest_args=(),
        options=options,
        tests=3,
        started_s=0.0,
        processes=(process,),
        failures=(),
        not_rerun="",
        rerun_by_others=(),
        notes=(),
    )
    change = SimpleNamespace(top=None, python_files=(), data_files=())
    processes = SimpleNamespace(start_s=START_S, fork_s=FORK_S)
    return StepRunner(run, change, processes, None, lambda _test, _how: None, 0.0)  # type: ignore[arg-type]


def step(*order: NodeId, forks: int = 10, new_interpreters: int = 2) -> RunSide:
    return RunSide(
        at_base=True,
        condition=Condition.AFTER_OTHERS,
        order=order,
        forks=forks,
        new_interpreters=new_interpreters,
    )


def test_a_step_is_whole_if_there_is_time_for_it(runner):
    assert runner.part_that_fits(step(POLLUTER, VICTIM), 60.0) == step(POLLUTER, VICTIM)


def test_only_the_tests_of_the_order_count_not_those_that_ran_before_in_the_failing_run(runner):
    part = runner.part_that_fits(step(POLLUTER, VICTIM), 10.0)

    assert part is not None
    assert (part.new_interpreters, part.forks) == (2, 3)


def test_without_time_for_one_run_there_is_no_step(runner):
    assert runner.part_that_fits(step(SLOW, VICTIM), 30.0) is None
    assert runner.part_that_fits(step(VICTIM), -1.0) is None
    assert runner.part_that_fits(CheckBase(order=(VICTIM,)), 1.0) is None
    assert runner.part_that_fits(SearchPolluters(), -1.0) is None
