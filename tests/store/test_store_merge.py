from __future__ import annotations

import shutil

import pytest
from store_samples import a_failure, a_run, a_session, a_suite

from flakehound.core.outcomes import NodeId
from flakehound.store import MergeCount, Store, StoreBroken, StoreMissing

SUITE = a_suite(12)
STRAYS = tuple(NodeId(f"elsewhere.py::test_{i}") for i in range(12))


@pytest.fixture
def other_path(tmp_path):
    return tmp_path / "other" / "flakehound.db"


@pytest.fixture
def other(other_path):
    with Store.open(other_path) as opened:
        yield opened


def some_runs(name):
    backwards = a_run(SUITE.order[::-1], why=f"{name} backwards", failures={3: a_failure(name)}, ended="SIGKILL")
    strays = a_run(STRAYS, why=f"{name}: does {STRAYS[0]} run?")
    return [
        a_run(SUITE.order, why=f"{name} original"),
        backwards,
        strays,
        a_run(STRAYS[:2], why=name, seed=2**80),
    ]


def runs_without_ids(store, session_id):
    """The runs of a session without their ids, which differ between stores."""
    return [(run.order, run.why, run.failures, run.ended, run.seed) for run in store.records(session_id)]


def test_a_merge_copies_sessions_with_all_their_data(store, other, other_path):
    store.append(store.begin(a_session(), a_suite(2)).id, [a_run(a_suite(2).order)])
    session = other.begin(a_session(commit="abc", started_s=5000.0), SUITE)
    other.append(session.id, some_runs("there"))
    other.finish(session.id, "the budget is spent")
    other.save_report(session.id, '{"tests": []}')

    count = store.merge(other_path)

    assert count == MergeCount(sessions=1, completed=0, runs=4)
    merged = store.latest_hunt()
    assert (merged.uuid, merged.commit) == (session.uuid, "abc")
    assert runs_without_ids(store, merged.id) == runs_without_ids(other, session.id)
    assert store.suite(merged.id) == SUITE
    assert store.is_finished(merged.id)
    assert store.report(merged.id) == '{"tests": []}'


def test_merging_twice_adds_nothing(store, other, other_path):
    session = other.begin(a_session(), SUITE)
    other.append(session.id, some_runs("there"))
    other.finish(session.id, "done")
    store.merge(other_path)
    once = runs_without_ids(store, store.latest_hunt().id)

    assert store.merge(other_path) == MergeCount()
    assert runs_without_ids(store, store.latest_hunt().id) == once


def test_merging_a_store_with_itself_adds_nothing(store, path):
    session = store.begin(a_session(), SUITE)
    store.append(session.id, some_runs("here"))

    assert store.merge(path) == MergeCount()


def test_a_session_copied_while_it_ran_is_completed_later(store, other, other_path):
    session = other.begin(a_session(), SUITE)
    other.append(session.id, some_runs("early"))
    store.merge(other_path)
    other.append(session.id, [a_run((*STRAYS[:2], NodeId("late.py::test_new")), why="late"), *some_runs("late")])
    with Store.open(other_path) as resumed:
        resumed.append(session.id, some_runs("resumed"))

    count = store.merge(other_path)

    assert count == MergeCount(sessions=0, completed=1, runs=9)
    assert runs_without_ids(store, store.latest_hunt().id) == runs_without_ids(other, session.id)


def test_a_session_that_went_on_in_two_copies_keeps_the_runs_of_both(path, other_path):
    with Store.open(path) as store:
        session = store.begin(a_session(), SUITE)
        store.append(session.id, some_runs("common"))
    other_path.parent.mkdir()
    shutil.copy(path, other_path)
    with Store.open(path) as store, Store.open(other_path) as other:
        store.append(session.id, [a_run((NodeId("x"), NodeId("here"))), *some_runs("here")])
        other.append(session.id, [a_run((NodeId("there"),)), *some_runs("there")])

        store.merge(other_path)
        other.merge(path)

        mine, theirs = runs_without_ids(store, session.id), runs_without_ids(other, session.id)
    assert len(mine) == len(theirs) == 14
    assert sorted(map(repr, mine)) == sorted(map(repr, theirs))


def test_a_merged_session_can_be_appended_to(store, other, other_path):
    session = other.begin(a_session(), SUITE)
    other.append(session.id, some_runs("there"))
    store.merge(other_path)

    store.append(store.latest_hunt().id, some_runs("here"))

    whys = [run.why for run in store.records(store.latest_hunt().id)]
    assert whys == [run.why for run in some_runs("there") + some_runs("here")]


def test_an_older_report_does_not_replace_a_newer_one(store, other, other_path):
    session = other.begin(a_session(), SUITE)
    other.save_report(session.id, '"old"')
    store.merge(other_path)
    store.save_report(store.latest_hunt().id, '"new"')

    store.merge(other_path)

    assert store.report(store.latest_hunt().id) == '"new"'


def test_a_store_to_merge_that_is_missing_is_an_error_and_is_not_created(store, tmp_path):
    with pytest.raises(StoreMissing):
        store.merge(tmp_path / "nowhere.db")

    assert not (tmp_path / "nowhere.db").exists()


def test_the_error_names_a_damaged_store_to_merge_and_nothing_is_copied(store, other_path):
    with Store.open(other_path) as other:
        session = other.begin(a_session(), SUITE)
        other.append(session.id, [a_run(SUITE.order[:2], why=f"run {i}") for i in range(2000)])
    content = bytearray(other_path.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = b"\xab" * 4096
    other_path.write_bytes(content)

    with pytest.raises(StoreBroken, match="other") as told_error:
        store.merge(other_path)

    assert str(other_path) in told_error.value.remedy
    assert store.sessions() == []
