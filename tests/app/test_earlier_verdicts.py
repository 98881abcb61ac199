"""What earlier reports say about tests, and the orders that look at it again."""

from __future__ import annotations

import pytest

from flakehound.app.hunt.earlier_verdicts import first_orders, known_verdicts, open_verdicts
from flakehound.core.history import Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import CollectedTest, Setting, Suite
from flakehound.core.statistics.rates import failure_rate
from flakehound.core.verdicts import Kind, Replay, Verdict
from flakehound.report.hunt.as_json import report_json
from flakehound.report.hunt.result import HuntResult, SpentFacts, SuiteFacts
from flakehound.store import SessionInfo, Store

A, B, C = (NodeId(f"t.py::{name}") for name in "abc")
SUITE = Suite(tests=tuple(CollectedTest(id=test, module="t.py", parent="t.py") for test in (A, B, C)))


def verdict(test, kind, runs=20, **fields):
    tallies = {setting: Tally(n=runs if setting is Setting.ORIGINAL else 0) for setting in Setting}
    return Verdict(id=test, kind=Kind(kind), tallies=tallies, rate=failure_rate(0, runs), **fields)


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "runs.db") as opened:
        yield opened


def reported(store, *verdicts):
    facts = SuiteFacts(tests=3, original_order_s=1.0, python="3", pytest="8", commit=None, rootdir="/p")
    spent = SpentFacts(wall_s=1.0, cpu_s=1.0, test_runs=1, processes=1)
    begun = store.begin(SessionInfo(rootdir="/p", python="3", pytest="8", base_seed=1, started_s=0.0), SUITE)
    store.save_report(begun.id, report_json(HuntResult(verdicts=verdicts, suite=facts, spent=spent, seed=1)))
    return begun


def kinds(found):
    return {test: verdict.kind.value for test, verdict in found.items()}


def test_the_newest_verdict_with_evidence_counts(store):
    old = reported(store, verdict(A, "nod"), verdict(B, "victim"), verdict(C, "steady"))
    new = reported(store, verdict(A, "steady"), verdict(B, "steady", runs=0), verdict(C, "failing"))

    assert kinds(known_verdicts(store, [old, new])) == {A: "steady", B: "victim", C: "failing"}


def test_a_few_passes_do_not_make_a_flaky_test_forgotten(store):
    old = reported(store, verdict(A, "nod"), verdict(B, "nod"))
    new = reported(store, verdict(A, "steady", runs=3), verdict(B, "steady", runs=8))

    assert kinds(known_verdicts(store, [old, new])) == {A: "nod", B: "steady"}


def test_passes_that_are_in_the_history_do_not_count_twice(store):
    hunt = reported(store, verdict(A, "nod"), verdict(B, "steady"))

    assert kinds(known_verdicts(store, [hunt], in_history=[hunt.uuid])) == {A: "nod"}


def test_a_damaged_report_is_left_out(store):
    old = reported(store, verdict(A, "nod"))
    new = reported(store)
    store.save_report(new.id, "{}")

    assert kinds(known_verdicts(store, [old, new])) == {A: "nod"}


def test_the_unsettled_tests_come_first_and_steady_ones_not_at_all():
    known = {A: verdict(A, "nod"), B: verdict(B, "unresolved"), C: verdict(C, "steady")}

    assert [found.id for found in open_verdicts(known, (A, B, C))] == [B, A]


@pytest.mark.parametrize(
    ("found", "orders"),
    [
        (verdict(A, "nod"), {(A,): 8}),
        (verdict(A, "victim", minimal_order=(B, A)), {(A,): 3, (B, A): 3}),
        (verdict(A, "brittle", replay=Replay(order=(A,))), {(A,): 3}),
        (verdict(A, "non-idempotent"), {(A,): 3, (A, A): 3}),
        (verdict(A, "unresolved", replay=Replay(order=(C, B, A))), {(A,): 8, (C, B, A): 3}),
        (verdict(A, "victim", minimal_order=(NodeId("gone"), A)), {(A,): 3}),
    ],
    ids=["nod", "victim", "brittle", "non-idempotent", "unresolved", "polluter gone"],
)
def test_each_kind_has_the_orders_that_show_it_again(found, orders):
    planned = first_orders([found], (A, B, C))

    assert {order: planned.count(order) for order in planned} == orders
