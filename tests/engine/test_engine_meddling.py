"""Tests that spoil the process they run in spoil neither their outcome nor the runs after them."""

from __future__ import annotations

import pytest
from engine_samples import Sample, is_still_alive
from hostile_sources import FLOOD, GREEDY, MEDDLING

from flakehound.core.outcomes import Outcome

PASSED, FAILED, CRASHED = Outcome.PASSED, Outcome.FAILED, Outcome.CRASHED

HARMLESS = [
    "leaves_a_thread",
    *(
        f"leaves_a_mock[{name}]"
        for name in (
            "builtins.open", "os.open", "os.write", "os.read", "os.close", "os.fstat", "os.getpid", "os.fork",
            "os.wait4", "os.kill", "os._exit", "json.dumps", "json.loads", "time.time", "time.perf_counter",
            "time.monotonic", "time.sleep", "signal.signal", "random.seed", "random.setstate",
        )
    ),
    "freezes_every_clock",
    "moves_away",
    "removes_the_temporary_folder",
    "removes_the_folder_above",
    "sets_signal_handlers",
    "ignores_every_signal",
    "terminates_its_parent",
    "clears_the_environment",
    "breaks_the_encoder",
    "child_returns",
    "child_fails",
    "closes_standard_files",
    "reuses_numbers",
    "replaces_stdout",
    "removes_its_folder",
    "limits_files",
    "limits_file_size",
    "writes_to_every_descriptor",
]  # fmt: skip
# Plain pytest itself breaks on these; it must be reported, and nothing else may break.
SPOILING = {
    "closes_files": "OSError",
    "closes_everything": "OSError",
    "closes_stdout": "ValueError",
}
LEAVING = [
    "leaves_a_child",
    "leaves_a_daemon",
    "leaves_a_stopped_daemon",
    "leaves_a_program",
    "leaves_a_daemon_and_kills_its_parent",
    "leaves_a_daemon_and_dies",
]


@pytest.fixture(scope="module")
def sample(open_shared_sample) -> Sample:
    return open_shared_sample(MEDDLING)


def node_id_of(name: str) -> str:
    return f"test_meddling.py::test_{name}"


@pytest.mark.parametrize("name", HARMLESS)
def test_tests_that_disturb_their_process_change_no_outcome(sample, name):
    record = sample.fork(node_id_of("before"), node_id_of(name), node_id_of("after"))
    following = sample.fork(node_id_of("before"), node_id_of("fails"))

    assert record.outcomes == (PASSED, PASSED, PASSED), record
    assert following.outcomes == (PASSED, FAILED)
    assert "assert 1 == 2" in following.failures[1].text


@pytest.mark.parametrize("name", HARMLESS)
def test_tests_that_disturb_their_process_before_copies_are_made_change_no_outcome(sample, name):
    records = sample.fork_tree(
        [node_id_of(name)], [[node_id_of("after")], [node_id_of("before"), node_id_of("after")]]
    )

    assert [record.outcomes[1:] for record in records] == [(PASSED,), (PASSED, PASSED)], records


@pytest.mark.parametrize("name", SPOILING)
def test_a_spoiled_process_is_reported_and_the_next_run_works(sample, name):
    record = sample.fork(node_id_of("before"), node_id_of(name), node_id_of("after"))
    following = sample.fork(node_id_of("before"), node_id_of("fails"))

    assert record.outcomes[0] is PASSED
    assert record.outcomes[1].is_failure
    assert record.failures[1].exception == SPOILING[name]
    assert following.outcomes == (PASSED, FAILED)


def test_the_output_of_a_dead_test_is_not_reported_for_the_next(sample):
    dead = sample.fork(node_id_of("prints_and_leaves"))
    following = sample.fork(node_id_of("fails"))

    assert dead.outcomes == (CRASHED,)
    assert "left behind" not in following.failures[0].text


def test_a_removed_output_file_is_created_again(sample):
    sample.fork(node_id_of("removes_the_output"))
    following = sample.fork(node_id_of("cries_and_dies"))

    assert following.outcomes == (CRASHED,)
    assert "last words" in following.failures[0].text


@pytest.mark.parametrize("name", LEAVING)
@pytest.mark.parametrize("run", ["fork", "spawn"])
def test_nothing_that_a_test_started_outlives_its_run(sample, name, run):
    pids = sample.root / "pids"
    pids.unlink(missing_ok=True)

    record = getattr(sample, run)(node_id_of("before"), node_id_of(name))

    left = [int(pid) for pid in pids.read_text().split()]
    assert left
    assert record.outcomes[0] is PASSED
    assert not [pid for pid in left if is_still_alive(pid)]


@pytest.mark.parametrize("run", ["fork", "spawn"])
def test_a_test_that_returns_in_two_processes_runs_what_follows_once(sample, run):
    counted = sample.root / "counted"
    counted.unlink(missing_ok=True)

    record = getattr(sample, run)(node_id_of("child_returns"), node_id_of("is_counted"), node_id_of("after"))

    assert record.outcomes == (PASSED, PASSED, PASSED)
    assert counted.read_text() == "x"


@pytest.mark.parametrize("run", ["fork", "spawn"])
def test_results_that_cannot_be_written_are_missed(sample, run):
    record = getattr(sample, run)(
        node_id_of("before"), node_id_of("limits_file_size_for_good"), node_id_of("after")
    )
    following = sample.fork(node_id_of("before"), node_id_of("after"))

    assert record.outcomes == (PASSED, CRASHED, Outcome.NOT_RUN)
    assert "results could not be written" in record.failures[1].exception
    assert following.outcomes == (PASSED, PASSED)


def test_a_program_that_the_suite_needs_lives_as_long_as_the_session(open_sample):
    sample = open_sample(
        {
            "test_it.py": """
                import os, signal, subprocess, time
                helper = subprocess.Popen(["sleep", "600"])
                with open("pids", "w") as file:
                    file.write(str(helper.pid))
                def test_needs_it(): os.kill(helper.pid, 0)
                def test_kills_its_parent():
                    os.kill(os.getppid(), signal.SIGKILL)
                    time.sleep(60)
                """
        }
    )
    needs, kills = sample.ids

    outcomes = [sample.fork(test).last for test in (needs, kills, needs)]
    sample.close()

    assert outcomes == [PASSED, CRASHED, PASSED]
    assert not is_still_alive(int((sample.root / "pids").read_text()))


def test_events_are_never_written_into_a_file_of_the_test(sample):
    record = sample.fork(node_id_of("reuses_numbers"), node_id_of("own_files_stay_clean"))

    assert not any("st_size" in failure.text for failure in record.failures.values())


def test_signals_to_the_process_above_do_not_reach_us(sample):
    record = sample.spawn(node_id_of("terminates_its_parent"), node_id_of("after"))

    assert record.outcomes == (PASSED, PASSED)


@pytest.mark.parametrize("arguments", [[], ["-s"]], ids=["captured", "not captured"])
def test_a_flood_of_output_costs_no_outcome(open_sample, arguments):
    sample = open_sample(FLOOD, pytest_args=arguments)
    before, prints, writes, fails, dies, after = sample.ids

    record = sample.fork(before, prints, writes, fails, after)
    dead = sample.fork(before, dies)

    assert record.outcomes == (PASSED, PASSED, PASSED, FAILED, PASSED)
    assert len(record.failures[3].text) < 100_000
    assert dead.outcomes == (PASSED, CRASHED)
    assert len(dead.failures[1].text) < 100_000


def test_a_test_that_exceeds_the_memory_limit_fails_and_the_next_run_is_not_affected(open_sample):
    sample = open_sample(GREEDY, memory_bytes=250_000_000)
    before, takes_all, in_pieces, gives_back, after = sample.ids

    given_back = sample.fork(before, gives_back, after)
    taken = sample.fork(before, takes_all, after)
    taken_in_pieces = sample.fork(before, in_pieces, after)
    following = sample.fork(before, after)

    assert given_back.outcomes == (PASSED, FAILED, PASSED)
    assert "MemoryError" in given_back.failures[1].exception
    for record in (taken, taken_in_pieces):
        assert record.outcomes[:1] == (PASSED,)
        assert record.outcomes[1].is_failure
        assert record.failures[1].text
    assert following.outcomes == (PASSED, PASSED)
