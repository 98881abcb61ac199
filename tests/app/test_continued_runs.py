"""Runs of earlier hunts: which are read, and which do not count."""

from __future__ import annotations

import pytest

from flakehound.app.sessions.ageing_sessions import without_ageing_failures
from flakehound.app.sessions.continued_runs import continued_sessions, runs_of_sessions
from flakehound.core.history import History
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import CollectedTest, Isolation, Setting, Suite
from flakehound.core.records import Failure, RunRecord
from flakehound.store import SessionInfo, SessionSettings, Store

TESTS = tuple(NodeId(f"t.py::{number}") for number in range(100))
A, B = TESTS[:2]
SUITE = Suite(tests=tuple(CollectedTest(id=test, module="t.py", parent="t.py") for test in TESTS))
FAILURE = Failure(phase="call", exception="E", message="", where="", text="")


def run(order, outcomes, started_s=0.0, isolation=Isolation.FORK):
    found = tuple(map(Outcome, outcomes))
    return RunRecord(
        order=order,
        outcomes=found,
        durations_s=[0.1] * len(order),
        setting=Setting.ALONE if len(order) == 1 else Setting.ORIGINAL,
        isolation=isolation,
        why="",
        started_s=started_s,
        failures={place: FAILURE for place, outcome in enumerate(found) if outcome.is_failure},
    )


def whole_run(started_s):
    return run(TESTS, "P" * len(TESTS), started_s)


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "runs.db") as opened:
        yield opened


def session(store, records, **settings):
    info = SessionInfo(
        rootdir="/p", python="3", pytest="8", base_seed=1, started_s=0.0, settings=SessionSettings(**settings)
    )
    begun = store.begin(info, SUITE)
    store.append(begun.id, records)
    return begun


def test_the_runs_of_all_sessions_are_read_oldest_first(store):
    first, second = (session(store, [run((A,), "P", time), run((A,), "P", time + 1)]) for time in (10, 20))

    runs = runs_of_sessions(store, [first, second])

    assert [record.started_s for record in runs.evidence] == [10, 11, 20, 21]


def test_of_too_many_runs_the_oldest_long_ones_are_left_out(store):
    old = session(store, [whole_run(1), run((A,), "P", 2)])
    new = session(store, [whole_run(3), run((A,), "P", 4), whole_run(5), run((B,), "P", 6)])

    runs = runs_of_sessions(store, [old, new], max_test_runs=103)

    assert [record.started_s for record in runs.evidence] == [2, 4, 5, 6]


def test_a_session_names_the_sessions_that_it_goes_on_from(store):
    first, _other = session(store, []), session(store, [])
    third = session(store, [], continues=(first.uuid, "of another store"))

    assert [info.id for info in continued_sessions(store, third)] == [first.id]
    assert continued_sessions(store, first) == []


def test_failures_that_came_with_the_age_of_the_session_do_not_count():
    young, old = [run((A,), "P", time) for time in (1, 2)], [run((A,), "F", time) for time in (3, 4)]
    spawned = run((A,), "P", 5, Isolation.SPAWN)

    history = History(SUITE, without_ageing_failures([*young, *old, spawned]))

    assert history.tally(A, Setting.ALONE).n == 3
    assert list(history.failed_tests()) == []


@pytest.mark.parametrize(
    "records",
    [
        [run((A,), "P", 1), run((A,), "F", 2), run((A,), "P", 3)],
        [run((A,), "P", 1), run((A,), "F", 2), run((A,), "F", 3, Isolation.SPAWN)],
        [run((A,), "P", 1), run((B, A), "PF", 2)],
        [run((A, A), "PF", 1)],
    ],
    ids=["passed again", "failed in a new interpreter", "another order", "a second time"],
)
def test_other_failures_count(records):
    assert without_ageing_failures(records) == records


def test_in_a_run_of_many_tests_only_the_ageing_test_is_left_out():
    records = [run((A, B), "PP", 1), run((A, B), "FP", 2)]

    _first, second = without_ageing_failures(records)

    assert second.outcomes == (Outcome.NOT_RUN, Outcome.PASSED)
    assert second.failures == {}
