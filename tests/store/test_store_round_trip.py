from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_samples import a_failure, a_run, a_session, a_suite

from flakehound.core.failure_signatures import signature_of
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import CollectedTest, Isolation, Setting, Suite
from flakehound.core.records import Failure, RunRecord, Usage
from flakehound.store import Store

# Lone surrogates included: a file name that is no UTF-8 puts them into node ids and messages.
ANY_TEXT = st.text(st.characters(), max_size=20)
IDS = st.one_of(st.sampled_from(["a", "ab", "0", "⟨", "⟨0⟩", "t.py::test_x"]), ANY_TEXT).map(NodeId)
SECONDS = st.floats(min_value=0, max_value=1e12)
DURATIONS = st.one_of(st.just(0.0), st.floats(min_value=1e-9, max_value=1e6))
SEEDS = st.none() | st.integers()
FAILURES = st.builds(Failure, phase=ANY_TEXT, exception=ANY_TEXT, message=ANY_TEXT, where=ANY_TEXT, text=ANY_TEXT)
SUITES = st.lists(
    st.builds(CollectedTest, id=IDS, module=ANY_TEXT, parent=ANY_TEXT, repeatable=st.booleans()), max_size=12
).map(lambda tests: Suite(tests=tuple(tests)))


@st.composite
def runs_of(draw: st.DrawFn, suite: Suite) -> RunRecord:
    known = st.sampled_from(suite.order) | IDS if suite.order else IDS
    order = draw(st.just(suite.order) | st.lists(known, max_size=20).map(tuple))
    n = len(order)
    names = draw(st.lists(st.sampled_from(order) | ANY_TEXT, max_size=4)) if order else []
    return RunRecord(
        order=order,
        outcomes=tuple(draw(st.lists(st.sampled_from(Outcome), min_size=n, max_size=n))),
        durations_s=draw(st.lists(DURATIONS, min_size=n, max_size=n)),
        setting=draw(st.sampled_from(Setting)),
        isolation=draw(st.sampled_from(Isolation)),
        why=draw(ANY_TEXT).join(names),
        seed=draw(SEEDS),
        hash_seed=draw(SEEDS),
        disturbed=draw(st.booleans()),
        started_s=draw(SECONDS),
        usage=Usage(
            wall_s=draw(SECONDS),
            cpu_s=draw(SECONDS),
            max_rss_bytes=draw(st.integers(min_value=0, max_value=2**50)),
        ),
        ended=draw(ANY_TEXT),
        failures=draw(st.dictionaries(st.integers(0, n - 1), FAILURES, max_size=3)) if n else {},
    )


@st.composite
def histories(draw: st.DrawFn) -> tuple[Suite, list[RunRecord]]:
    suite = draw(SUITES)
    return suite, draw(st.lists(runs_of(suite), max_size=6))


def assert_same_run(read: RunRecord, written: RunRecord) -> None:
    assert list(read.durations_s) == pytest.approx(list(written.durations_s), rel=0.01, abs=0)
    assert replace(read, durations_s=()) == replace(written, durations_s=())


# Derandomized, so that equal code gives equal results.
@settings(deadline=None, derandomize=True, max_examples=60)
@given(histories())
def test_every_run_comes_back_as_it_was_written(history):
    suite, runs = history
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "flakehound.db"
        with Store.open(path) as store:
            session_id = store.begin(a_session(), suite).id
            written = store.append(session_id, runs[:2]) + store.append(session_id, runs[2:])

        with Store.open(path) as store:
            read = list(store.records(session_id))
            read_suite = store.suite(session_id)

    assert read_suite == suite
    assert len(read) == len(written) == len(runs)
    for got, kept in zip(read, written, strict=True):
        assert_same_run(got, kept)


def test_runs_come_back_in_the_order_of_appending_with_growing_ids(store):
    suite = a_suite()
    session_id = store.begin(a_session(), suite).id
    written = store.append(session_id, [a_run(suite.order[:1], why=f"run {i}") for i in range(600)])

    read = list(store.records(session_id))

    assert [run.why for run in read] == [f"run {i}" for i in range(600)]
    assert [run.id for run in read] == [run.id for run in written]
    assert [run.id for run in read] == sorted({run.id for run in read})


def test_equal_orders_come_back_as_one_object(store):
    suite = a_suite(20)
    session_id = store.begin(a_session(), suite).id
    shuffled, short = suite.order[::-1], suite.order[3:5]
    store.append(session_id, [a_run(order) for order in (suite.order, shuffled, short) * 2])

    original_1, shuffled_1, short_1, original_2, shuffled_2, short_2 = store.records(session_id)

    assert original_1.order is original_2.order
    assert shuffled_1.order is shuffled_2.order
    assert short_1.order is short_2.order


def test_a_stored_order_is_kept_once_and_the_original_order_not_at_all(store):
    suite = a_suite(20)
    session_id = store.begin(a_session(), suite).id

    store.append(session_id, [a_run(suite.order), a_run(suite.order[::-1]), a_run(suite.order[::-1])])

    assert store._connection.execute("SELECT COUNT(*) FROM stored_order").fetchone()[0] == 1


def test_a_test_that_did_not_run_keeps_a_duration_of_exactly_zero(store):
    suite = a_suite(10)
    session_id = store.begin(a_session(), suite).id
    store.append(session_id, [a_run(suite.order, durations_s=(0.0,) * 10)])

    (read,) = store.records(session_id)

    assert list(read.durations_s) == [0.0] * 10


def test_a_report_of_a_failure_is_cut_in_its_middle_to_16_kilobytes(store):
    suite = a_suite(1)
    session_id = store.begin(a_session(), suite).id
    report = "def test_it():" + "x" * 100_000 + "E   assert 1 == 2"
    store.append(session_id, [a_run(suite.order, failures={0: a_failure(text=report)})])

    (read,) = store.records(session_id)

    kept = read.failures[0].text
    assert len(kept) <= 16_384
    assert kept.startswith("def test_it():")
    assert kept.endswith("E   assert 1 == 2")


def test_a_failure_is_kept_once_with_its_signature(store):
    suite = a_suite(1)
    session_id = store.begin(a_session(), suite).id
    failure = a_failure()

    store.append(session_id, [a_run(suite.order, failures={0: failure}) for _ in range(5)])

    rows = store._connection.execute("SELECT signature FROM failure").fetchall()
    assert [row["signature"] for row in rows] == [signature_of(failure)]
    assert store._connection.execute("SELECT COUNT(*) FROM failing").fetchone()[0] == 5


def test_a_run_whose_lengths_disagree_is_refused_and_leaves_no_trace(store):
    suite = a_suite(3)
    session_id = store.begin(a_session(), suite).id

    with pytest.raises(ValueError, match="differ in length"):
        store.append(session_id, [a_run(suite.order), a_run(suite.order, outcomes=())])

    assert list(store.records(session_id)) == []


def test_a_writer_goes_on_after_a_refused_run(store):
    suite = a_suite(3)
    session_id = store.begin(a_session(), suite).id
    stray = [NodeId(f"elsewhere.py::test_{i}") for i in range(12)]
    with pytest.raises(ValueError, match="differ in length"):
        store.append(session_id, [a_run(stray), a_run(stray, outcomes=())])

    store.append(session_id, [a_run(stray, why="again")])

    (read,) = store.records(session_id)
    assert (read.order, read.why) == (tuple(stray), "again")
