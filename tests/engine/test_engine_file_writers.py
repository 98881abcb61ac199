"""Suites in which a few tests write files that runs share: only runs with such a test go alone."""

from __future__ import annotations

from collections import deque

import pytest
from file_samples import opened

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import RunPlan, Setting, SharedPrefix, SingleRun
from flakehound.engine.suite.budget import Budget
from flakehound.engine.suite.loop import RunLoop
from flakehound.engine.suite.plans_aside import MAX_WAIT_S, PlansAside

STEADY = "".join(f"def test_{number}(): pass\n" for number in range(40))
WRITER = NodeId("test_writer.py::test_writes")
READER = NodeId("test_writer.py::test_reads")
SUITE = {
    "test_steady.py": STEADY,
    "test_writer.py": """
        import pathlib
        def test_writes():
            pathlib.Path("mode.cfg").write_text("changed")
        def test_reads():
            assert not pathlib.Path("mode.cfg").exists()
        """,
}
SECRET_WRITER = {
    "test_steady.py": STEADY,
    "test_writer.py": """
        import pathlib
        times = []
        def test_writes():
            pathlib.Path("mode.cfg").write_text("changed")
        def test_reads():
            pathlib.Path("mode.cfg").write_text("changed by another test") if times else times.append(1)
        """,
}


def plan(*tests: str) -> SingleRun:
    return SingleRun(order=tuple(map(NodeId, tests)), why="a test", setting=Setting.PROBE)


class Planned:
    """A planner with a fixed list of runs."""

    def __init__(self, *plans: RunPlan) -> None:
        self._plans = deque(plans)

    def follow_ups(self) -> list[RunPlan]:
        return []

    def next_search_run(self) -> RunPlan | None:
        return self._plans.popleft() if self._plans else None


def run_all(suite, *plans: RunPlan) -> History:
    history = History(suite.suite)
    RunLoop(suite, history, Budget(limit_s=60.0), save=lambda _records: None, seed=1).run(Planned(*plans))
    return history


def test_only_runs_with_the_test_that_writes_go_alone(open_sample):
    with opened(open_sample(SUITE)) as suite:
        alone = [suite.goes_alone(plan(test)) for test in (WRITER, READER, "test_steady.py::test_1")]

    assert alone == [True, False, False]
    assert suite.writers is not None
    assert suite.writers.tests == {WRITER}
    assert "nothing runs beside test_writer.py::test_writes" in " ".join(suite.notes)


def test_a_file_written_at_import_makes_every_run_go_alone(open_sample):
    sample = open_sample({**SUITE, "test_import.py": "open('made', 'w').close()\ndef test_a(): pass\n"})

    with opened(sample) as suite:
        assert suite.runs_one_at_a_time


def test_many_writers_make_every_run_go_alone(open_sample):
    writers = "".join(f"def test_{number}(): open('f{number}', 'w').close()\n" for number in range(5))

    with opened(open_sample({"test_steady.py": STEADY, "test_writers.py": writers})) as suite:
        assert suite.runs_one_at_a_time


def test_every_run_finds_the_files_as_they_were(open_sample):
    with opened(open_sample(SUITE)) as suite:
        history = run_all(suite, plan(READER), plan(WRITER, READER), plan(READER), plan(WRITER), plan(READER))

    outcomes = [record.last.is_failure for record in history.records]
    assert outcomes == [False, True, False, False, False]


def test_copies_that_do_not_write_run_after_a_prefix_that_does(open_sample):
    copies = SharedPrefix(
        prefix=(WRITER,),
        continuations=((READER,), (NodeId("test_steady.py::test_1"),)),
        why="a test",
        setting=Setting.PROBE,
    )

    with opened(open_sample(SUITE)) as suite:
        history = run_all(suite, copies, plan(READER))

    assert [record.last.is_failure for record in history.records] == [True, False, False]


@pytest.mark.parametrize("later_runs", [1, 2])
def test_a_run_that_writes_unexpectedly_is_no_evidence_and_ends_parallel_runs(open_sample, later_runs):
    with opened(open_sample(SECRET_WRITER)) as suite:
        assert not suite.runs_one_at_a_time
        history = run_all(suite, plan(READER, READER), *[plan("test_steady.py::test_2")] * later_runs)

        assert suite.runs_one_at_a_time
    assert len(history.records) == later_runs


def test_plans_that_must_go_alone_do_not_keep_others_waiting_at_once():
    clock = [0.0]
    aside = PlansAside(lambda: clock[0])
    aside.add(plan(WRITER))

    assert not aside.are_due
    clock[0] = MAX_WAIT_S + 1
    assert aside.are_due
    assert aside.next(lambda _plan: True) == plan(WRITER)
    assert not aside.are_due


def test_a_plan_aside_that_no_longer_fits_the_time_is_dropped():
    aside = PlansAside(lambda: 0.0)
    aside.add(plan(WRITER))

    assert aside.next(lambda _plan: False) is None
    assert not aside.plans
