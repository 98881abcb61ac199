"""Event lines become records, also when some of them are cut, forged or missing."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Setting, SharedPrefix, SingleRun
from flakehound.engine.processes.decode import ProcessFacts, describe_end, orders_left, records_from

A, B, C = NodeId("t.py::a"), NodeId("t.py::b"), NodeId("t.py::c")
WELL = {"code": 0, "signal": None, "cut": "", "wall_s": 1.0, "cpu_s": 0.5, "max_rss_bytes": 10}
FAILURE = {"phase": "call", "exception": "E", "message": "E: m", "where": "t.py:1", "text": "all of it"}


def plan(*order):
    return SingleRun(order=order, why="a test", setting=Setting.PROBE)


def plan_with_copies(prefix, *continuations):
    return SharedPrefix(prefix=(prefix,), continuations=continuations, why="a test", setting=Setting.PROBE)


def records(a_plan, *lines, end=WELL, output=""):
    events = "".join(f"{line}\n" for line in lines).encode()
    return records_from(a_plan, events, ProcessFacts(end=end, output=output))


def test_a_whole_run_is_one_record():
    (record,) = records(
        plan(A, B), "r 1", "s 0 1.0", "e 0 P 0.5", "s 1 1.5", f"f 1 {json.dumps(FAILURE)}", "e 1 F 0.25"
    )

    assert record.outcomes == (Outcome.PASSED, Outcome.FAILED)
    assert list(record.durations_s) == [0.5, 0.25]
    assert record.failures[1].text == "all of it"
    assert record.ended == ""


@pytest.mark.parametrize(
    "garbage",
    [
        "",
        "e 0",
        "e x P 1",
        "e 0 Q 1",
        "e 99 F 1",
        "s",
        "s x",
        "f 0 {",
        'f 0 {"a": 1}',
        "B x",
        "b 7 {}",
        "x {",
        "?",
    ],
)
def test_an_invalid_line_is_ignored(garbage):
    (record,) = records(plan(A, B), "s 0 1.0", "e 0 P 0.5", garbage, "s 1 1.5", "e 1 P 0.25")

    assert record.outcomes == (Outcome.PASSED, Outcome.PASSED)


def test_a_line_cut_short_leaves_its_test_without_an_end():
    events = b"s 0 1.0\ne 0 P 0.5\ns 1 1.5\ne 1 P 0."

    (record,) = records_from(plan(A, B), events, ProcessFacts(end={**WELL, "code": None, "signal": 9}))

    assert record.outcomes == (Outcome.PASSED, Outcome.CRASHED)
    assert record.failures[1].exception == "killed by SIGKILL"


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        ({**WELL, "cut": "test limit", "signal": 9}, Outcome.TIMED_OUT),
        ({**WELL, "cut": "run limit", "signal": 9}, Outcome.TIMED_OUT),
        ({**WELL, "cut": "cancelled", "signal": 9}, Outcome.NOT_RUN),
        ({**WELL, "signal": 11, "code": None}, Outcome.CRASHED),
        ({**WELL, "code": 3}, Outcome.CRASHED),
        (WELL, Outcome.CRASHED),
    ],
    ids=lambda value: "",
)
def test_a_test_without_an_end_gets_its_outcome_from_the_end_of_its_process(end, outcome):
    (record,) = records(plan(A), "s 0 1.0", end=end)

    assert record.outcomes == (outcome,)
    assert bool(record.failures) == outcome.is_failure


def test_branches_share_what_ran_before_them_and_count_it_once():
    first, second = records(
        plan_with_copies(A, (B,), (C,)),
        "s 0 1.0",
        f"f 0 {json.dumps(FAILURE)}",
        "e 0 F 0.5",
        "B 0",
        "s 0 2.0",
        "e 0 P 0.25",
        f"b 0 {json.dumps(WELL)}",
        "B 1",
        "s 0 3.0",
        f"b 1 {json.dumps({**WELL, 'code': 3})}",
    )

    assert (first.order, second.order) == ((A, B), (A, C))
    assert first.outcomes == (Outcome.FAILED, Outcome.PASSED)
    assert second.outcomes == (Outcome.NOT_RUN, Outcome.CRASHED)
    assert list(first.durations_s) == [0.5, 0.25]
    assert first.failures[0].text == "all of it"
    assert list(second.failures) == [1]


def test_branches_that_a_process_refused_are_left_to_be_run():
    a_plan = plan_with_copies(A, (B,), (C,))
    lines = ["s 0 1.0", "e 0 P 0.5", "B 0", "s 0 2.0", "e 0 P 0.1", f"b 0 {json.dumps(WELL)}", 'u "threads"']

    found = records(a_plan, *lines)

    assert [record.order for record in found] == [(A, B)]
    assert orders_left(a_plan, "\n".join([*lines, ""]).encode()) == [(A, C)]
    assert records(a_plan, *lines[:2], lines[-1]) == []


def test_continuations_that_may_run_one_after_another_are_left_to_be_run_in_one_process():
    a_plan = replace(plan_with_copies(A, (B,), (C,)), may_chain=True)
    lines = ["s 0 1.0", "e 0 P 0.5", 'u "threads"']

    found = records(a_plan, *lines)

    assert [record.order for record in found] == [(A,)]
    assert orders_left(a_plan, "\n".join([*lines, ""]).encode()) == [(A, B, C)]


def test_half_a_surrogate_pair_can_be_stored_and_printed():
    told = json.dumps({**FAILURE, "text": "\udcff"})

    (record,) = records(plan(A), "s 0 1.0", f"f 0 {told}", "e 0 F 0.5")

    assert record.failures[0].text.encode() == b"\\udcff"


def test_an_unknown_signal_is_reported_by_its_number():
    assert describe_end({"signal": 250}) == "killed by signal 250"
