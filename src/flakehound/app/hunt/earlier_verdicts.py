"""What earlier hunts concluded about the tests of a suite, and the runs that look at it again first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from flakehound.core.errors import FailedStep, attempt
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order
from flakehound.core.verdicts import Kind, Verdict
from flakehound.hunt.limits import MAX_EARLIER_FAILURES, RUNS_OF_EARLIER_FAILURES
from flakehound.report.hunt.from_json import result_from_json
from flakehound.store import SessionInfo, Store

MAX_REPORTS_READ = 10  # the newest ones
MAX_REPORT_CHARS = 15_000_000  # of all of them, about 1 s; the report of 10,000 tests has 5.5 million
# A failure after a polluter is repeated so often: three times is what a diagnosis needs.
_RUNS_OF_FAILING_ORDER = 3
_MAX_ORDER = 1000  # tests; a longer order is no shorter way to a failure than the search itself


def known_verdicts(
    store: Store, sessions: Sequence[SessionInfo], *, in_history: Collection[str] = ()
) -> dict[NodeId, Verdict]:
    """The newest verdict on each test for which there was evidence; sessions are given oldest first.

    A few passes do not replace what was found flaky before. Of the sessions whose runs are `in_history` anyway
    (by uuid), only what is not steady counts: passes must not count twice.
    """
    found: dict[NodeId, Verdict] = {}
    reports_read = chars_read = 0
    for info in reversed(sessions):
        report = store.report(info.id) if info.id is not None and info.is_hunt else None
        if report is None:
            continue
        result = attempt(partial(result_from_json, report))
        for verdict in () if isinstance(result, FailedStep) else result.verdicts:
            if _executions(verdict) and (info.uuid not in in_history or is_open(verdict)):
                _add(found, verdict)
        reports_read, chars_read = reports_read + 1, chars_read + len(report)
        if reports_read >= MAX_REPORTS_READ or chars_read > MAX_REPORT_CHARS:
            break
    return found


def _add(found: dict[NodeId, Verdict], older: Verdict) -> None:
    newer = found.get(older.id)
    is_doubtful = newer is not None and newer.kind is Kind.STEADY and _executions(newer) < RUNS_OF_EARLIER_FAILURES
    if newer is None or (is_doubtful and is_open(older)):
        found[older.id] = older


def _executions(verdict: Verdict) -> int:
    return sum(tally.n for tally in verdict.tallies.values())


def is_open(verdict: Verdict) -> bool:
    """Whether the test was flaky or not settled."""
    return verdict.kind.is_flaky or verdict.kind is Kind.UNRESOLVED


def open_verdicts(verdicts: Mapping[NodeId, Verdict], tests: Collection[NodeId]) -> list[Verdict]:
    """The verdicts on tests that were flaky or not settled; the latter come first."""
    still_there = [verdicts[test] for test in tests if test in verdicts and is_open(verdicts[test])]
    still_there.sort(key=lambda verdict: verdict.kind.is_flaky)
    return still_there[:MAX_EARLIER_FAILURES]


def first_orders(verdicts: Sequence[Verdict], tests: Collection[NodeId]) -> tuple[Order, ...]:
    """The orders that made these tests fail, each as often as it should run; without tests that are gone."""
    present = set(tests)
    orders = (order for verdict in verdicts for order in _orders_of(verdict))
    return tuple(order for order in orders if present.issuperset(order) and len(order) <= _MAX_ORDER)


def _orders_of(verdict: Verdict) -> Iterator[Order]:
    alone: Order = (verdict.id,)
    failing = verdict.minimal_order if verdict.kind is Kind.VICTIM else ()
    if verdict.replay is not None:
        failing = failing or verdict.replay.order
    if verdict.kind is Kind.NON_IDEMPOTENT:
        failing = (verdict.id, verdict.id)
    if verdict.kind in (Kind.NOD, Kind.UNRESOLVED):
        yield from (alone,) * RUNS_OF_EARLIER_FAILURES
    else:
        yield from (alone,) * _RUNS_OF_FAILING_ORDER
    if failing and failing != alone:
        yield from (failing,) * _RUNS_OF_FAILING_ORDER
