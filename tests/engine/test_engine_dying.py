"""Tests that end their process get an outcome and a reason."""

from __future__ import annotations

import pytest
from engine_samples import HANGING_S, LONG_S, Sample, is_still_alive
from hostile_sources import DYING

from flakehound.core.outcomes import Outcome
from flakehound.engine.processes.forkserver import ServerLost

PASSED, FAILED, CRASHED, TIMED_OUT = Outcome.PASSED, Outcome.FAILED, Outcome.CRASHED, Outcome.TIMED_OUT

# name -> outcome, a word of the failure's exception, a word of its text
FATAL = {
    "hangs": (TIMED_OUT, "test limit", "test_dying.py"),
    "hangs_in_a_loop": (TIMED_OUT, "test limit", "test_dying.py"),
    "hangs_and_ignores_signals": (TIMED_OUT, "test limit", "limit"),
    "hangs_with_signals_blocked": (TIMED_OUT, "test limit", "limit"),
    "segfaults": (CRASHED, "SIGSEGV", "test_segfaults"),
    "leaves_with_3": (CRASHED, "code 3", "code 3"),
    "leaves_with_0": (CRASHED, "code 0", "code 0"),
    "aborts": (CRASHED, "SIGABRT", "test_aborts"),
    "kills_itself": (CRASHED, "SIGKILL", "SIGKILL"),
    "terminates_itself": (CRASHED, "SIGTERM", "SIGTERM"),
    "kills_its_group": (CRASHED, "SIGKILL", "SIGKILL"),
    "kills_its_parent": (CRASHED, "process above", "process above"),
    "exits_pytest": (FAILED, "Exit", "enough of this"),
    "interrupts": (FAILED, "KeyboardInterrupt", "stop it"),
    "interrupts_itself": (FAILED, "KeyboardInterrupt", "test_interrupts_itself"),
}
# These fail as any test fails, and the session goes on.
SURVIVED = {
    "exits_python": "SystemExit",
    "raises_the_base_of_all": "the base",
    "recurses": "RecursionError",
    "recurses_in_repr": "RecursionError",
    "raises_what_cannot_be_shown": "Odd",
    "raises_surrogates": "ValueError",
}


@pytest.fixture(scope="module")
def sample(open_shared_sample) -> Sample:
    return open_shared_sample(DYING)


def node_id_of(name: str) -> str:
    return f"test_dying.py::test_{name}"


def limit_for(outcome: Outcome) -> float:
    return HANGING_S if outcome is TIMED_OUT else LONG_S


@pytest.mark.parametrize("name", FATAL)
def test_a_fatal_test_has_an_outcome_and_a_reason_and_the_next_run_works(sample, name):
    outcome, exception, words = FATAL[name]
    before, after = node_id_of("before"), node_id_of("after")

    record = sample.fork(before, node_id_of(name), after, test_limit_s=limit_for(outcome))
    following = sample.fork(before, after)

    assert record.outcomes == (PASSED, outcome, Outcome.NOT_RUN)
    assert exception in record.failures[1].exception
    assert words in record.failures[1].text
    assert following.outcomes == (PASSED, PASSED)
    assert following.ended == ""


@pytest.mark.parametrize("name", SURVIVED)
def test_a_test_that_fails_with_unusual_errors_lets_the_next_one_run(sample, name):
    record = sample.fork(node_id_of("before"), node_id_of(name), node_id_of("after"))

    assert record.outcomes == (PASSED, FAILED, PASSED)
    assert SURVIVED[name] in record.failures[1].text
    record.failures[1].text.encode()


@pytest.mark.parametrize(
    "name",
    ["hangs", "segfaults", "leaves_with_0", "kills_its_group", "kills_its_parent", "exits_pytest", "interrupts"],
)
def test_a_fatal_test_in_a_new_interpreter_has_the_same_outcome(sample, name):
    outcome, exception, words = FATAL[name]

    record = sample.spawn(
        node_id_of("before"), node_id_of(name), node_id_of("after"), test_limit_s=limit_for(outcome)
    )

    assert record.outcomes == (PASSED, outcome, Outcome.NOT_RUN)
    assert exception in record.failures[1].exception
    assert words in record.failures[1].text


def test_a_run_that_exceeds_its_own_limit_keeps_what_it_finished(sample):
    record = sample.fork(node_id_of("before"), node_id_of("hangs"), run_limit_s=HANGING_S)

    assert record.outcomes == (PASSED, TIMED_OUT)
    assert record.ended == "stopped at the run limit"


def test_a_session_that_dies_is_an_error_and_not_a_hang(open_sample):
    sample = open_sample(
        {
            "test_patricide.py": """
                import os, signal, time
                def test_kills_all_above():
                    parent = os.getppid()
                    with open("/proc/%d/stat" % parent) as stat:
                        grandparent = int(stat.read().rpartition(")")[2].split()[1])
                    with open("pid", "w") as file:
                        file.write(str(os.getpid()))
                    os.kill(grandparent, signal.SIGKILL)
                    os.kill(parent, signal.SIGKILL)
                    time.sleep(60)
                def test_calm(): pass
                """
        },
        slots=2,
    )
    killer, _calm = sample.ids

    with pytest.raises(ServerLost):
        sample.fork(killer)
    sample.close()

    assert not is_still_alive(int((sample.root / "pid").read_text()))
