from __future__ import annotations

import pytest
from store_samples import a_run, a_session, a_suite

from flakehound.core.plans import Isolation
from flakehound.store import NoSuchSession, Store


def test_a_session_comes_back_as_it_began(store, path):
    info = a_session(
        commit="abc123", base_seed=2**70, options={"budget": "10m", "ü": "\udc80"}, isolation=Isolation.SPAWN
    )
    begun = store.begin(info, a_suite())

    with Store.open(path, create=False) as again:
        assert again.sessions() == [begun]
    assert begun.id is not None
    assert begun.uuid is not None


def test_the_latest_session_is_the_one_that_started_last(store):
    newer = store.begin(a_session(started_s=2000.0), a_suite())
    store.begin(a_session(started_s=1000.0), a_suite())

    assert store.latest() == newer


def test_the_latest_session_can_be_asked_for_by_rootdir(store):
    mine = store.begin(a_session(rootdir="/mine\udcff", started_s=1.0), a_suite())
    store.begin(a_session(rootdir="/other", started_s=2.0), a_suite())

    assert store.latest("/mine\udcff") == mine
    assert store.latest("/nowhere") is None


def test_an_empty_store_has_no_latest_session(store):
    assert store.latest() is None
    assert store.sessions() == []


def test_each_session_keeps_its_own_suite_and_runs(store):
    small, large = a_suite(2), a_suite(5)
    first, second = store.begin(a_session(), small), store.begin(a_session(), large)
    store.append(second.id, [a_run(large.order)])

    store.append(first.id, [a_run(small.order)])

    assert (store.suite(first.id), store.suite(second.id)) == (small, large)
    assert [run.order for run in store.records(first.id)] == [small.order]


def test_a_session_is_finished_once_its_hunt_ended(store):
    session_id = store.begin(a_session(), a_suite()).id
    assert not store.is_finished(session_id)

    store.finish(session_id, "the budget is spent")
    store.finish(session_id, "the budget is spent")

    assert store.is_finished(session_id)


def test_the_newest_verdicts_are_read(store):
    session_id = store.begin(a_session(), a_suite()).id
    assert store.verdicts(session_id) is None

    for number in range(5):
        store.save_report(session_id, f'{{"number": {number}}}')

    assert store.verdicts(session_id) == '{"number": 4}'


@pytest.mark.parametrize(
    "act",
    [
        lambda store: store.suite(99),
        lambda store: store.records(99),
        lambda store: store.append(99, [a_run(())]),
        lambda store: store.finish(99, "done"),
        lambda store: store.save_report(99, "{}"),
    ],
)
def test_a_session_that_is_not_there_is_an_error_with_a_remedy(store, act):
    with pytest.raises(NoSuchSession, match="no session 99") as told:
        act(store)

    assert told.value.remedy == "flakehound history"


def test_a_store_may_be_closed_twice(path):
    store = Store.open(path)
    store.close()

    store.close()
