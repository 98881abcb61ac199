"""As many parallel runs as cores, and more if the tests of a suite mostly wait."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from engine_samples import HASH_SEED

from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Isolation, Setting
from flakehound.core.records import RunRecord, Usage
from flakehound.engine.processes.limits import Limits
from flakehound.engine.suite.open_suite import open_suite
from flakehound.engine.suite.parallelism import Parallelism, free_memory_bytes, usable_cores

TWO_CORES = Parallelism(default_jobs=2, max_jobs=8)
PLENTY = 2.0**40
RUN = RunRecord(
    order=(NodeId("test_it.py::test_it"),),
    outcomes=(Outcome.PASSED,),
    durations_s=(9.0,),
    setting=Setting.ORIGINAL,
    isolation=Isolation.SPAWN,
    why="a test",
    usage=Usage(wall_s=10.0, cpu_s=1.0, max_rss_bytes=2**20),
)


def after(run: RunRecord, parallelism: Parallelism = TWO_CORES, free_bytes: float = PLENTY) -> int:
    return parallelism.for_suite([run], (), lambda: free_bytes)


def using(cpu_s: float) -> RunRecord:
    return replace(RUN, usage=replace(RUN.usage, cpu_s=cpu_s))


@pytest.mark.parametrize(
    ("cpu_s", "expected"),
    [
        pytest.param(1.0, 8, id="room for 15, but eight are the most"),
        pytest.param(2.5, 6, id="six runs keep three quarters of two cores busy"),
        pytest.param(5.0, 3, id="half of the time waited"),
        pytest.param(10.0, 2, id="nothing waited"),
        pytest.param(40.0, 2, id="it keeps all cores busy by itself"),
        pytest.param(0.0, 2, id="nothing known"),
    ],
)
def test_parallel_runs_do_not_use_all_cores(cpu_s, expected):
    assert after(using(cpu_s)) == expected


def test_runs_that_wait_for_a_core_get_no_more_parallel_runs():
    queued = replace(RUN, usage=replace(RUN.usage, cpu_s=1.0, queued_s=9.0))

    assert after(queued) == 2


def test_without_a_whole_run_nothing_is_known():
    assert TWO_CORES.for_suite([], (), lambda: PLENTY) == 2


def test_runs_together_fit_into_half_of_the_free_memory():
    assert after(RUN, free_bytes=10 * RUN.usage.max_rss_bytes) == 5
    assert after(RUN, free_bytes=0.0) == 2


def test_a_test_that_hung_did_not_wait():
    hung = replace(RUN, outcomes=(Outcome.TIMED_OUT,))

    assert after(hung) == 2


def test_the_number_of_jobs_that_the_user_gives_is_used_for_every_suite():
    assert Parallelism.of(3) == Parallelism(default_jobs=3, max_jobs=3, is_set_by_user=True)
    assert after(RUN, Parallelism.of(3)) == 3


@pytest.mark.parametrize(("cores", "most"), [(1, 4), (2, 8), (4, 16), (12, 16), (64, 64)])
def test_many_cores_are_enough(cores, most, monkeypatch):
    monkeypatch.setattr("flakehound.engine.suite.parallelism.usable_cores", lambda: cores)

    assert Parallelism.of(None) == Parallelism(default_jobs=cores, max_jobs=most)


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        pytest.param({"cpu.max": "200000 100000\n"}, 2, id="two cores' worth"),
        pytest.param({"cpu.max": "150000 100000\n"}, 2, id="one and a half"),
        pytest.param({"cpu.max": "50000 100000\n"}, 1, id="half of one"),
        pytest.param({"cpu.max": "max 100000\n"}, 8, id="no limit"),
        pytest.param({"cpu.max": "9900000 100000\n"}, 8, id="more than there are"),
        pytest.param(
            {"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3, id="the old way"
        ),
        pytest.param(
            {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 8, id="none, the old way"
        ),
        pytest.param({}, 8, id="no quota"),
    ],
)
def test_a_container_has_the_cores_of_its_share(files, cores, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(8)))
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    assert usable_cores(tmp_path) == cores


def test_free_memory_is_read_from_the_system(tmp_path):
    info = tmp_path / "meminfo"
    info.write_text("MemTotal:       24684372 kB\nMemAvailable:   23000000 kB\n")

    assert free_memory_bytes(info) == 23_000_000 * 1024
    assert free_memory_bytes(tmp_path / "missing") == 0.0
    assert free_memory_bytes() > 0


WAITS = "import time\ndef test_waits(): time.sleep(4)\n"
WORKS = """
    import time
    def test_works():
        until = time.process_time() + 0.7
        while time.process_time() < until: pass
    """


def opened(sample, jobs):
    suite = open_suite(sample.target, jobs=jobs, isolation=None, hash_seed=HASH_SEED, limits=Limits())
    suite.close()
    return suite


def test_a_suite_that_waits_gets_more_runs_at_once_and_says_so(open_sample, monkeypatch):
    monkeypatch.setattr("flakehound.engine.suite.parallelism.usable_cores", lambda: 2)
    suite = opened(open_sample({"test_it.py": WAITS}), None)

    assert suite.pool.jobs > 2
    assert [note for note in suite.notes if "mostly wait" in note] == [
        f"the tests mostly wait: {suite.pool.jobs} runs at once instead of 2"
    ]


def test_a_suite_that_computes_gets_no_more_runs_at_once(open_sample, monkeypatch):
    monkeypatch.setattr("flakehound.engine.suite.parallelism.usable_cores", lambda: 2)
    suite = opened(open_sample({"test_it.py": WORKS}), None)

    assert suite.pool.jobs == 2
    assert suite.notes == []


def test_a_suite_that_waits_keeps_the_number_that_the_user_named(open_sample):
    suite = opened(open_sample({"test_it.py": "import time\ndef test_waits(): time.sleep(1)\n"}), 1)

    assert suite.pool.jobs == 1
