"""Several runs at once, and runs that are called off."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from engine_samples import Sample, is_still_alive

from flakehound.core.errors import FlakehoundError
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Isolation, Setting, SingleRun
from flakehound.engine.processes.limits import Limits
from flakehound.engine.processes.pool import Pool

PASSED, NOT_RUN = Outcome.PASSED, Outcome.NOT_RUN
QUICK, HANGS = NodeId("test_it.py::test_quick"), NodeId("test_it.py::test_hangs")
MEETS = (NodeId("test_it.py::test_meets[a-b]"), NodeId("test_it.py::test_meets[b-a]"))
FILES = {
    "test_it.py": """
        import os, pathlib, time
        import pytest
        def test_quick(): pass
        def test_hangs():
            pathlib.Path("pid").write_text(str(os.getpid()))
            while True: time.sleep(1)
        @pytest.mark.parametrize(("mine", "other"), [("a", "b"), ("b", "a")])
        def test_meets(mine, other):
            pathlib.Path(mine).write_text("")
            for _ in range(3000):
                if os.path.exists(other): return
                time.sleep(0.01)
            assert False, "the other one does not run"
        """
}


@pytest.fixture(scope="module")
def sample(open_shared_sample) -> Sample:
    return open_shared_sample(FILES, slots=2)


@pytest.fixture
def pool(sample) -> Iterator[Pool]:
    for name in ("a", "b", "pid"):
        (sample.root / name).unlink(missing_ok=True)
    made = Pool(jobs=2, spawner=sample.spawner, server=sample.server)
    yield made
    made.close()


def plan(*order: NodeId, isolation: Isolation = Isolation.FORK) -> SingleRun:
    return SingleRun(order=order, why="a test", setting=Setting.PROBE, isolation=isolation, seed=1)


def finished(pool: Pool) -> list:
    jobs = []
    while pool.running:
        job = pool.next_finished(60.0)
        assert job is not None
        jobs.append(job)
    return jobs


def wait_for_pid(sample: Sample) -> int:
    path = sample.root / "pid"
    for _ in range(3000):
        if path.exists() and path.read_text():
            return int(path.read_text())
        time.sleep(0.01)
    raise AssertionError("the test never began")


@pytest.mark.parametrize("isolation", Isolation)
def test_two_parallel_runs_are_marked_as_disturbed(pool, isolation):
    for test in MEETS:
        pool.submit(plan(test, isolation=isolation), Limits())
    jobs = finished(pool)

    assert [record.outcomes for job in jobs for record in job.records] == [(PASSED,), (PASSED,)]
    assert all(record.disturbed for job in jobs for record in job.records)


def test_one_run_at_a_time_is_undisturbed(pool):
    (record,) = pool.run_now(plan(QUICK), Limits())

    assert not record.disturbed


@pytest.mark.parametrize("isolation", Isolation)
def test_a_run_that_is_cancelled_keeps_what_it_finished_and_leaves_nothing_running(sample, pool, isolation):
    pool.submit(plan(QUICK, HANGS, isolation=isolation), Limits())
    pid = wait_for_pid(sample)

    pool.cancel()
    (job,) = finished(pool)

    assert [record.outcomes for record in job.records] == [(PASSED, NOT_RUN)]
    assert not is_still_alive(pid)
    assert pool.run_now(plan(QUICK), Limits())[0].outcomes == (PASSED,)


def test_a_run_that_is_cancelled_at_once_ends_at_once(pool):
    for _ in range(10):
        pool.submit(plan(HANGS), Limits())
        pool.cancel()
        (job,) = finished(pool)

        assert [record.outcomes for record in job.records] == [(NOT_RUN,)]


def test_cancelling_without_a_run_does_not_disturb_later_runs(pool):
    pool.cancel()

    assert [pool.run_now(plan(QUICK), Limits())[0].outcomes for _ in range(3)] == [(PASSED,)] * 3


def test_an_unexpected_error_is_returned_and_the_worker_continues(pool, monkeypatch):
    def broken(*_arguments: object) -> None:
        raise RuntimeError("unforeseen")

    with monkeypatch.context() as patched:
        patched.setattr(pool, "_run", broken)
        with pytest.raises(FlakehoundError, match="unforeseen"):
            pool.run_now(plan(QUICK), Limits())

    assert pool.run_now(plan(QUICK), Limits())[0].outcomes == (PASSED,)


def test_a_test_that_the_session_lacks_is_not_run(pool):
    (record,) = pool.run_now(plan(NodeId("test_it.py::test_unknown"), QUICK), Limits())

    assert record.outcomes == (NOT_RUN, PASSED)


def test_closing_the_session_ends_what_runs(open_sample):
    sample = open_sample(FILES)
    pool = Pool(jobs=1, spawner=sample.spawner, server=sample.server)
    pool.submit(plan(HANGS), Limits())
    pid = wait_for_pid(sample)

    pool.close()
    sample.close()

    assert not is_still_alive(pid)


def test_a_finished_job_that_an_interrupt_took_out_of_the_queue_is_found(pool):
    pool.submit(plan(QUICK), Limits())
    pool._done.get(timeout=60.0)  # as an interrupt right behind it would leave things

    job = pool.next_finished(0.1)

    assert job is not None
    assert [record.last for record in job.records] == [PASSED]
    assert not pool.running


def test_a_run_that_ends_while_another_is_waited_for_is_not_lost(pool):
    other = pool.submit(plan(QUICK), Limits())

    (record,) = pool.run_now(plan(QUICK), Limits())

    assert record.outcomes == (PASSED,)
    finished = None
    while finished is None:
        finished = pool.next_finished(0.5)
    assert finished is other
    assert pool.running == []
