"""The first run of a long suite: it goes on in the background, with other runs beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from engine_samples import HASH_SEED, Sample

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Isolation, RunPlan, Setting, SingleRun
from flakehound.core.records import RunRecord
from flakehound.engine.processes.limits import Limits
from flakehound.engine.suite.budget import Budget
from flakehound.engine.suite.loop import RunLoop
from flakehound.engine.suite.open_suite import OpenSuite, open_suite

QUICK, WRITER = NodeId("test_it.py::test_quick"), NodeId("test_it.py::test_writes")
WAITING = """
    import time, pytest

    def test_quick():
        pass

    @pytest.mark.parametrize("number", range(8))
    def test_waits(number):
        time.sleep(0.4)
"""
# Written late, so that runs have gone on beside the first run before.
WRITING_LATE = WAITING + "\n    def test_writes():\n        open('left', 'a').write('x')\n"
WRITING_FIRST = "\n    def test_writes():\n        open('left', 'a').write('x')\n" + WAITING
BINDING = WAITING.replace("import time", "import socket, time").replace(
    "        pass\n", "        socket.socket(socket.AF_UNIX).bind('\\0flakehound-first-run')\n"
)


class Repeats:
    """A planner that plans one test alone again and again."""

    def __init__(self, opened: OpenSuite, *, before: tuple[NodeId, ...] = (), undisturbed: bool = False) -> None:
        self.planned = 0
        self._plan = SingleRun(
            order=(*before, QUICK),
            why="a test of the engine",
            setting=Setting.ALONE,
            isolation=opened.isolation,
            undisturbed=undisturbed,
        )

    def follow_ups(self) -> list[RunPlan]:
        return []

    def next_search_run(self) -> RunPlan | None:
        self.planned += 1
        return self._plan


@pytest.fixture(autouse=True)
def _no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flakehound.engine.suite.open_suite.GRACE_S", 0.0)


@contextmanager
def opened_suite(
    sample: Sample, budget: Budget, jobs: int = 2, isolation: Isolation | None = None
) -> Iterator[OpenSuite]:
    suite = open_suite(
        sample.target, jobs=jobs, isolation=isolation, hash_seed=HASH_SEED, limits=Limits(), budget=budget
    )
    try:
        yield suite
    finally:
        suite.close()


def run_beside(opened: OpenSuite, budget: Budget, planner: Repeats) -> tuple[History, list[RunRecord]]:
    history, saved = History(opened.suite), list[RunRecord]()
    loop = RunLoop(opened, history, budget, save=saved.extend, seed=1)
    loop.run_beside_reference(planner)
    return history, saved


@pytest.mark.parametrize("isolation", [None, Isolation.SPAWN])
def test_other_runs_go_on_beside_the_first_one_and_all_are_marked_as_disturbed(open_sample, isolation):
    budget = Budget(limit_s=120.0)
    with opened_suite(open_sample({"test_it.py": WAITING}), budget, isolation=isolation) as opened:
        assert opened.reference_run is not None
        assert opened.reference == ()
        history, saved = run_beside(opened, budget, Repeats(opened))
        assert opened.reference_run is None
        assert opened.suite_s > 8 * 0.4

    first, *others = history.records
    assert len(first.order) == first.executed == 9
    assert len(others) >= 2
    assert {record.order for record in others} == {(QUICK,)}
    assert all(record.disturbed for record in history.records)
    assert saved == history.records


def test_a_first_run_that_takes_more_than_half_of_the_time_is_ended_and_what_it_finished_is_kept(open_sample):
    budget = Budget(limit_s=6.0)
    source = WAITING.replace("0.4", "1.0")
    with opened_suite(open_sample({"test_it.py": source}), budget) as opened:
        history, _saved = run_beside(opened, budget, Repeats(opened))
        expected_s = opened.suite_s
        (note,) = [note for note in opened.notes if note.startswith("the first run was ended after")]

    first = history.records[0]
    assert first.was_called_off
    assert 0 < first.executed < 9
    assert first.outcomes[-1] is Outcome.NOT_RUN
    assert expected_s > 6.0  # that of the whole suite
    assert "of 9 tests" in note
    # A test that was not reached is expected to take as long as the others, not nothing.
    assert history.costs.test_s(first.order[-1]) > 0.3


@pytest.mark.parametrize("source", [WRITING_LATE, WRITING_FIRST])
def test_runs_beside_a_first_run_that_writes_lasting_files_are_no_evidence(open_sample, source):
    sample, budget = open_sample({"test_it.py": source}), Budget(limit_s=120.0)
    with opened_suite(sample, budget) as opened:
        planner = Repeats(opened)
        history, saved = run_beside(opened, budget, planner)
        assert opened.guard is not None
        assert opened.guard.is_active

    assert [len(record.order) for record in history.records] == [10]
    assert saved == history.records
    assert not (sample.root / "left").exists()


def test_failures_beside_a_first_run_that_writes_files_are_doubtful_and_so_are_its_own(open_sample):
    failing = "\n    def test_fails():\n        open('left', 'a').write('x')\n        assert False\n"
    sample, budget = open_sample({"test_it.py": WAITING + failing}), Budget(limit_s=120.0)
    with opened_suite(sample, budget) as opened:
        history = History(opened.suite)
        loop = RunLoop(opened, history, budget, save=lambda _records: None, seed=1)
        loop.run_beside_reference(Repeats(opened))

    assert loop.doubtful_failures.tests == ("test_it.py::test_fails",)
    assert not loop.doubtful_failures.of_whole_order
    assert [record.outcomes[-1] for record in history.records] == [Outcome.NOT_RUN]


def test_beside_a_first_run_that_has_written_a_file_other_tests_run_and_its_writer_does_not(
    open_sample, monkeypatch
):
    steady = "".join(f"\n    def test_{number}():\n        pass\n" for number in range(30))
    budget, started = Budget(limit_s=120.0), list[tuple[NodeId, ...]]()
    with opened_suite(open_sample({"test_it.py": WRITING_FIRST + steady}), budget) as opened:
        submit = opened.pool.submit
        monkeypatch.setattr(
            opened.pool, "submit", lambda plan, limits: started.append(plan.order) or submit(plan, limits)
        )
        run_beside(opened, budget, Repeats(opened, before=(WRITER,)))

    written = started.index((QUICK,))
    assert written <= 30  # the first test wrote the file
    assert set(started[written:]) == {(QUICK,)}
    assert len(started) > written + 30


def test_nothing_more_is_started_beside_a_first_run_of_which_many_tests_write_files(open_sample):
    budget = Budget(limit_s=120.0)
    with opened_suite(open_sample({"test_it.py": WRITING_FIRST}), budget) as opened:
        planner = Repeats(opened)
        run_beside(opened, budget, planner)

    assert planner.planned <= 60  # one for each look at the first run, and those before the file was written


def test_runs_beside_a_first_run_that_binds_an_address_are_no_evidence(open_sample, monkeypatch):
    monkeypatch.setattr("flakehound.engine.suite.parallelism.usable_cores", lambda: 2)
    budget = Budget(limit_s=120.0)
    with opened_suite(open_sample({"test_it.py": BINDING}), budget, jobs=None) as opened:
        history, _saved = run_beside(opened, budget, Repeats(opened))
        assert opened.pool.jobs == 1

    assert len(history.records) == 1


def test_with_one_job_nothing_runs_beside_the_first_run(open_sample):
    budget = Budget(limit_s=120.0)
    with opened_suite(open_sample({"test_it.py": WAITING}), budget, jobs=1) as opened:
        planner = Repeats(opened)
        history, _saved = run_beside(opened, budget, planner)

    assert planner.planned == 0
    assert len(history.records) == 1


def test_a_run_that_must_not_be_disturbed_waits_for_the_first_run(open_sample):
    budget = Budget(limit_s=120.0)
    with opened_suite(open_sample({"test_it.py": WAITING}), budget) as opened:
        history, _saved = run_beside(opened, budget, Repeats(opened, undisturbed=True))

    assert len(history.records) == 1


def test_the_time_of_the_suite_is_extrapolated_while_its_first_run_goes_on(open_sample):
    budget = Budget(limit_s=120.0)
    with opened_suite(open_sample({"test_it.py": WAITING}), budget) as opened:
        run = opened.reference_run
        assert run is not None
        run.join(2.0)
        progress, expected_s = run.progress, opened.expected_suite_s()

    assert progress is not None
    assert progress.tests == 9
    assert 0 < progress.ended < 9
    assert progress.failed == 0
    assert expected_s is not None
    assert expected_s > progress.tests_s


def test_a_suite_that_is_opened_without_a_budget_has_had_its_first_run(open_sample):
    sample = open_sample({"test_it.py": "def test_quick(): pass\n"})

    suite = open_suite(sample.target, jobs=1, isolation=None, hash_seed=HASH_SEED, limits=Limits())

    assert suite.reference_run is None
    assert [record.outcomes for record in suite.reference] == [(Outcome.PASSED,)]
    suite.close()
