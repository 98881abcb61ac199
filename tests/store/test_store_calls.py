"""Call traces survive storing, merging, and the migration of a store that has no tables for them."""

from __future__ import annotations

import pytest
from store_samples import a_run, a_session, a_suite

from flakehound.core.calls import CallSite, CallTrace, Function
from flakehound.store import Store
from flakehound.store.connection import connect
from flakehound.store.schema import CURRENT, TABLES, Schema
from flakehound.store.versions import create_or_migrate

SLEEP = Function(file="<time>", owner="", name="sleep", kind="c")
TOTAL = Function(file="shop/cart.py", owner="Cart", name="total", kind="python")
TRACE = CallTrace(
    calls={"setup": {TOTAL: 1}, "call": {SLEEP: 2, TOTAL: 40}},
    call_sites=(CallSite(phase="call", function=SLEEP, path="tests/test_cart.py", line=7, caller="test_total"),),
    children=(("call", "git status"),),
    notes=("another profiler took over",),
)
UNCOUNTED = CallTrace(calls={"call": {TOTAL: 0, SLEEP: 0}})


def append_traced_run(store: Store, *traces: CallTrace) -> int:
    order = a_suite().order
    session_id = store.begin(a_session(), a_suite()).id
    assert session_id is not None
    store.append(session_id, [a_run(order), *[a_run(order, calls={1: trace}) for trace in traces]])
    return session_id


def stored_traces(store: Store, session_id: int) -> list[CallTrace]:
    return [trace for record in store.traced_records(session_id) for trace in record.calls.values()]


def test_traces_come_back_as_they_were_and_only_with_traced_runs(store):
    session_id = append_traced_run(store, TRACE, UNCOUNTED)

    traced = list(store.traced_records(session_id))

    assert [dict(record.calls) for record in traced] == [{1: TRACE}, {1: UNCOUNTED}]
    assert list(traced[1].calls[1].calls["call"]) == [TOTAL, SLEEP]  # the order of first calls
    assert all(not record.calls for record in store.records(session_id))


def test_a_merge_takes_the_traces_along(store, tmp_path):
    other = tmp_path / "other.db"
    with Store.open(other) as there:
        append_traced_run(there, UNCOUNTED)  # so that ids differ
        session_id = append_traced_run(there, TRACE)
        uuid = next(info.uuid for info in there.sessions() if info.id == session_id)
    append_traced_run(store, CallTrace(calls={"call": {SLEEP: 1}}))

    store.merge(other)
    store.merge(other)

    here = next(info.id for info in store.sessions() if info.uuid == uuid)
    assert stored_traces(store, here) == [TRACE]


def test_a_store_from_before_the_traces_gets_their_tables(path):
    path.parent.mkdir()
    connection = connect(path)
    create_or_migrate(connection, path, create=True, schema=Schema(version=1, sql=TABLES))
    connection.close()

    with Store.open(path) as store:
        session_id = append_traced_run(store, TRACE)
        assert stored_traces(store, session_id) == [TRACE]

    assert CURRENT.version > 1


@pytest.mark.parametrize("name", ["caf\udce9", "ünïcode"])
def test_names_that_are_no_valid_unicode_are_kept(store, name):
    odd = Function(file="a.py", owner="", name=name, kind="python")

    session_id = append_traced_run(store, CallTrace(calls={"call": {odd: 1}}))

    assert stored_traces(store, session_id) == [CallTrace(calls={"call": {odd: 1}})]
