from __future__ import annotations

import pytest
from store_samples import a_run, a_session, a_suite

from flakehound.core.plans import Isolation
from flakehound.store import NoSuchSession, SessionCommand, SessionSettings, Store
from flakehound.store.session_settings import settings_from_json, settings_json


def test_a_session_comes_back_as_it_began(store, path):
    settings = SessionSettings(python="/ü/\udc80", pytest_args=("-k", "not \udc80"), memory_bytes=2**31)
    info = a_session(commit="abc123", base_seed=2**70, settings=settings, isolation=Isolation.SPAWN)
    begun = store.begin(info, a_suite())

    with Store.open(path, create=False) as again:
        assert again.sessions() == [begun]
    assert begun.id is not None
    assert begun.uuid is not None


def test_the_latest_session_is_the_one_that_started_last(store):
    newer = store.begin(a_session(started_s=2000.0), a_suite())
    store.begin(a_session(started_s=1000.0), a_suite())

    assert store.latest_hunt() == newer


def test_the_latest_session_can_be_asked_for_by_rootdir(store):
    mine = store.begin(a_session(rootdir="/mine\udcff", started_s=1.0), a_suite())
    store.begin(a_session(rootdir="/other", started_s=2.0), a_suite())

    assert store.latest_hunt("/mine\udcff") == mine
    assert store.latest_hunt("/nowhere") is None


def test_an_empty_store_has_no_latest_session(store):
    assert store.latest_hunt() is None
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
    assert store.report(session_id) is None

    for number in range(5):
        store.save_report(session_id, f'{{"number": {number}}}')

    assert store.report(session_id) == '{"number": 4}'


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


STORED = {
    SessionCommand.HUNT: (
        '{"python": "/usr/bin/python3", "pytest_args": "[\\"-q\\"]", "keep_plugins": "[\\"cov\\"]", '
        '"memory_bytes": "1024", "rootdir": "/ü", "switched_off": "[\\"xdist\\"]", "hash_seed": "7", '
        '"self_seeded": "[\\"numpy\\"]"}'
    ),
    SessionCommand.FEATURES: '{"command": "features", "python": "/usr/bin/python3", "pytest_args": "[\\"-q\\"]"}',
    SessionCommand.CALLS: (
        '{"command": "calls", "python": "/usr/bin/python3", "pytest_args": "[\\"-q\\"]", "rootdir": "/ü", '
        '"mode": "all"}'
    ),
    SessionCommand.PYTEST: '{"command": "pytest", "branch": "main"}',
}


@pytest.mark.parametrize("command", list(STORED))
def test_settings_are_stored_in_the_same_form_as_in_existing_stores(command):
    settings = SessionSettings(
        command=command,
        python="/usr/bin/python3",
        pytest_args=("-q",),
        keep_plugins=("cov",),
        memory_bytes=1024,
        rootdir="/ü",
        switched_off=("xdist",),
        hash_seed=7,
        self_seeded=("numpy",),
        trace_mode="all",
        branch="main",
    )

    assert settings_json(settings) == STORED[command]
    assert settings_json(settings_from_json(STORED[command])) == STORED[command]


def test_settings_that_older_stores_lack_get_their_defaults():
    settings = settings_from_json('{"python": "/usr/bin/python3", "pytest_args": "[]"}')

    assert settings == SessionSettings(python="/usr/bin/python3")


def test_a_command_of_another_version_is_no_hunt():
    assert settings_from_json('{"command": "dream"}').command is SessionCommand.UNKNOWN
