"""Features that are measured in runs, of a suite with known values; in forks and in new interpreters."""

from __future__ import annotations

import pytest
from probes import (
    CHILDREN,
    MEGABYTES,
    READS,
    SLEEPS,
    SOURCE,
    TESTS,
    THREADS,
    WAIT_S,
    WRITES,
    measures_by_name,
    run_measured,
    write_files,
)

from flakehound.core.measurements import MEASURED_FEATURES
from flakehound.core.plans import Isolation

MEGABYTE = 1000 * 1000
CHURN = [0, 1, 2, 0, 0, 0, 9, 5]  # changes of each line; line 7, with 9 changes, never runs


@pytest.fixture(scope="module", params=[Isolation.FORK, Isolation.SPAWN], ids=["fork", "spawn"])
def probed(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("probes").resolve() / "suite"
    write_files(folder, {"test_probe.py": TESTS, "probed.py": SOURCE})
    (record,) = run_measured(folder, request.param, churn={str(folder / "probed.py"): CHURN})
    assert not record.ended
    return measures_by_name(record)


def test_every_test_has_every_feature(probed):
    missing = {
        name: [feature for feature in MEASURED_FEATURES if getattr(found, feature) is None]
        for name, found in probed.items()
    }

    assert not any(missing.values()), missing


def test_reads_and_writes_are_counted_exactly(probed):
    assert (probed["test_reads"].read_count, probed["test_reads"].write_count) == (READS, 0)
    assert (probed["test_writes"].read_count, probed["test_writes"].write_count) == (0, WRITES)
    assert (probed["test_nothing"].read_count, probed["test_nothing"].write_count) == (0, 0)


def test_reads_of_pytest_itself_are_not_counted(probed):
    assert probed["test_prints_much"].read_count == 0


def test_the_maximum_of_threads_that_run_at_the_same_time_is_counted(probed):
    assert probed["test_nothing"].max_threads == 1
    assert probed["test_threads"].max_threads == 1 + THREADS
    assert probed["test_threads_one_by_one"].max_threads in (2, 3)  # a joined thread may not have ended yet


def test_the_maximum_of_children_that_run_at_the_same_time_is_counted(probed):
    assert probed["test_nothing"].max_children == 0
    assert probed["test_children"].max_children == CHILDREN
    assert probed["test_children_one_by_one"].max_children == 1
    assert probed["test_forks"].max_children == 1


def test_memory_is_the_peak_during_the_test(probed):
    before, peak = probed["test_nothing"].max_memory_bytes, probed["test_memory"].max_memory_bytes

    assert peak - before == pytest.approx(MEGABYTES * MEGABYTE, abs=5 * MEGABYTE)
    assert probed["test_after_memory"].max_memory_bytes - before < 5 * MEGABYTE


def test_wait_time_is_time_without_computing(probed):
    # The run time has no upper bound: the machine may be busy, which does not count as waiting.
    assert probed["test_waits"].wait_time_s == pytest.approx(WAIT_S, abs=0.05)
    assert probed["test_waits"].run_time_s >= WAIT_S
    assert probed["test_computes"].run_time_s >= WAIT_S
    assert probed["test_computes"].wait_time_s < WAIT_S / 3


def test_each_sleep_is_a_voluntary_switch(probed):
    assert SLEEPS <= probed["test_sleeps_often"].context_switches <= SLEEPS + 5
    assert probed["test_nothing"].context_switches <= 2


def test_lines_are_counted_for_each_test_separately_and_in_threads_too(probed):
    # One line of the test; and five of the source: the first, two of the loop, the condition, the return.
    assert [
        (probed[name].covered_lines, probed[name].source_covered_lines)
        for name in ("test_covers", "test_covers_in_a_thread", "test_covers_after_all_that", "test_nothing")
    ] == [(6, 5), (8, 5), (6, 5), (1, 0)]


def test_changes_of_covered_lines_are_added_up(probed):
    assert probed["test_covers"].covered_changes == 1 + 2 + 5
    assert probed["test_nothing"].covered_changes == 0


HOSTILE = {
    "test_hostile.py": """
        import os
        import sys
        import threading

        from probed import covered


        def test_takes_the_tracer_away():
            sys.settrace(None)
            covered(1)


        def test_closes_our_descriptors():
            for number in map(int, os.listdir("/proc/self/fd")):
                path = f"/proc/self/fd/{number}"
                if os.path.exists(path) and os.readlink(path).startswith("/proc"):
                    os.close(number)


        def test_is_measured_anyway(tmp_path):
            (tmp_path / "file").write_text("x")
            covered(1)


        def test_dies():
            os._exit(3)


        def test_never_runs():
            pass
        """,
    "probed.py": SOURCE,
}


def test_a_test_that_breaks_the_measurement_affects_only_itself(tmp_path):
    write_files(tmp_path / "suite", HOSTILE)

    (record,) = run_measured((tmp_path / "suite").resolve(), Isolation.FORK)

    found = {record.order[place].rpartition("::")[2]: one for place, one in record.measures.items()}
    assert sorted(found) == [
        "test_closes_our_descriptors",
        "test_is_measured_anyway",
        "test_takes_the_tracer_away",
    ]
    assert found["test_is_measured_anyway"].source_covered_lines == 5
    assert found["test_is_measured_anyway"].write_count == 1
    assert found["test_is_measured_anyway"].covered_changes is None


def test_a_plain_run_measures_nothing_and_imports_no_coverage(tmp_path):
    write_files(
        tmp_path / "suite",
        {"test_plain.py": "import sys\n\n\ndef test_plain():\n    assert 'coverage' not in sys.modules\n"},
    )

    plain, measured = run_measured((tmp_path / "suite").resolve(), Isolation.FORK, plain_first=True)

    assert not plain.failures
    assert not plain.measures
    assert measured.measures


MOCKING = """
    import os

    def test_leaves_a_broken_mock():
        os.path.realpath = None

    def test_passes_anyway():
        pass
    """


def test_a_broken_mock_that_a_test_leaves_makes_no_test_fail(tmp_path):
    write_files(tmp_path / "suite", {"test_mocking.py": MOCKING})

    (record,) = run_measured((tmp_path / "suite").resolve(), Isolation.FORK)

    assert not record.failures
    assert not record.ended


THREADED = """
    import threading, time

    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()


    def test_with_another_thread():
        assert threading.active_count() == 2
    """


def test_lines_are_counted_although_another_thread_runs_before_the_test(tmp_path):
    write_files(tmp_path / "suite", {"test_threaded.py": THREADED})

    (record,) = run_measured((tmp_path / "suite").resolve(), Isolation.SPAWN)

    assert (record.measures[0].covered_lines, record.measures[0].max_threads) == (1, 2)
