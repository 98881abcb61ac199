"""Suites with thread pools that wait for work: forks and copies of processes start the threads again."""

from __future__ import annotations

from file_samples import opened

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Setting, SharedPrefix, SingleRun
from flakehound.engine.processes.limits import Limits

POOL = {
    "test_pool.py": """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(2)
        assert list(pool.map(abs, [-1, -2, -3])) == [1, 2, 3]
        later = ThreadPoolExecutor(1)
        def test_submits():
            assert pool.submit(abs, -4).result(timeout=5) == 4
        def test_maps():
            assert list(pool.map(abs, range(-5, 0), timeout=5)) == [5, 4, 3, 2, 1]
        def test_first_use():
            assert later.submit(abs, -1).result(timeout=5) == 1
        """,
}
BUSY = {
    "test_pool.py": """
        import time
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(1)
        pool.submit(time.sleep, 3)
        def test_a(): pass
        """,
}
TRACKED = {
    "test_lock.py": """
        import multiprocessing
        from multiprocessing import resource_tracker
        def test_first():
            with multiprocessing.get_context("spawn").Lock():
                assert resource_tracker._resource_tracker._fd is not None
        def test_second():
            with multiprocessing.get_context("spawn").Lock():
                pass
        """,
}
SUBMITS, MAPS, FIRST_USE = (NodeId(f"test_pool.py::test_{name}") for name in ("submits", "maps", "first_use"))


def run(suite, plan):
    return suite.pool.run_now(plan, Limits(test_limit_s=20.0))


def test_a_pool_made_at_import_works_in_every_fork(open_sample):
    with opened(open_sample(POOL)) as suite:
        assert suite.isolation is Isolation.FORK
        plan = SingleRun(order=(SUBMITS, MAPS), why="a test", setting=Setting.PROBE)
        records = [run(suite, plan)[0] for _ in range(2)]

    assert [outcome.is_pass for record in records for outcome in record.outcomes] == [True] * 4


def test_a_pool_that_an_earlier_test_used_works_in_every_copy_of_the_process(open_sample):
    plan = SharedPrefix(
        prefix=(FIRST_USE, SUBMITS),
        continuations=((FIRST_USE,), (MAPS,)),
        why="a test",
        setting=Setting.PROBE,
    )

    with opened(open_sample(POOL)) as suite:
        records = run(suite, plan)

    assert [record.last.is_pass for record in records] == [True, True]
    assert not any(record.ended for record in records)


def test_a_process_in_which_multiprocessing_tracks_resources_can_be_copied(open_sample):
    first, second = NodeId("test_lock.py::test_first"), NodeId("test_lock.py::test_second")
    plan = SharedPrefix(prefix=(first,), continuations=((second,), (second,)), why="", setting=Setting.PROBE)

    with opened(open_sample(TRACKED)) as suite:
        records = run(suite, plan)

    # Only in the first record the prefix was executed: the others are copies of its process.
    assert [record.executed for record in records] == [2, 1]
    assert [record.last.is_pass for record in records] == [True, True]


def test_a_pool_that_works_is_a_reason_for_new_interpreters(open_sample):
    with opened(open_sample(BUSY)) as suite:
        assert suite.isolation is Isolation.SPAWN
        assert "threads are alive" in " ".join(suite.notes)
