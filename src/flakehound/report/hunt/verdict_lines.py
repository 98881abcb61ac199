"""The lines of a report about one test: verdict first, evidence second, the command last."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Setting
from flakehound.core.statistics.rates import failure_rate
from flakehound.core.verdicts import Cause, Kind, Verdict
from flakehound.report.commands import replay_command
from flakehound.report.formatting import SAME_ORDER_SETTINGS, counted, few, interval, tally_of
from flakehound.report.hunt.result import HuntResult
from flakehound.report.wrapping import LineWrapper

LABEL_WIDTH = 8  # longer labels move their id to the right; the lines below stay aligned


def headline(verdict: Verdict) -> str:
    """The kind, in capitals, and the test."""
    return f"{label(verdict)}{verdict.id}"


def label(verdict: Verdict) -> str:
    """The kind, in capitals, and the space behind it."""
    return f"{verdict.kind.value.upper():{LABEL_WIDTH - 1}} "


def verdict_lines(result: HuntResult, verdict: Verdict, wrapper: LineWrapper) -> list[str]:
    """All lines about one flaky or unresolved test."""
    lines = [headline(verdict)]
    for sentence in sentences(verdict):
        lines += wrapper.wrap(sentence, LABEL_WIDTH)
    command = replay_command(result, verdict)
    return lines if command is None else [*lines, " " * LABEL_WIDTH + command]


def sentences(verdict: Verdict) -> Iterator[str]:
    """The evidence in short, then polluters and other tests that matter, then likely causes."""
    yield from _evidence(verdict)
    yield from _other_tests(verdict)
    for likely in verdict.causes:
        if not (likely.cause is Cause.TEST_ORDER and proven_prefix(verdict)):
            yield f"likely cause: {likely.cause.value} — {likely.evidence}"


def proven_prefix(verdict: Verdict) -> tuple[NodeId, ...]:
    """The polluters or state-setters of the minimal order; empty while none is proven."""
    proven = {*verdict.polluters, *verdict.state_setters}
    return tuple(test for test in verdict.minimal_order[:-1] if test in proven)


def _evidence(verdict: Verdict) -> Iterator[str]:
    yield from _nod(verdict) or _victim(verdict) or _jointly_brittle(verdict) or verdict.evidence[:1]
    if verdict.joint and proven_prefix(verdict):
        yield f"needs all of: {', '.join(proven_prefix(verdict))}"


def _nod(verdict: Verdict) -> list[str]:
    same_order = tally_of(verdict, *SAME_ORDER_SETTINGS)
    if verdict.kind is not Kind.NOD or not same_order.is_mixed:
        return []
    rate = interval(failure_rate(same_order.failed, same_order.n))
    return [f"failed {same_order.failed} of {same_order.n} runs in the same order or alone ({rate})"]


def _victim(verdict: Verdict) -> list[str]:
    prefix, replay = proven_prefix(verdict), verdict.replay
    if verdict.kind is not Kind.VICTIM or not prefix or replay is None or replay.order != verdict.minimal_order:
        return []
    counts = f"{replay.failed} of {replay.runs}"
    polluters = f"{len(prefix)} tests run together" if len(prefix) > 1 else prefix[0]
    if verdict.pollution_rate is None:
        sentence = f"failed {counts} after {polluters}"
    else:
        sentence = f"fails {counts} times after {polluters} ({interval(verdict.pollution_rate)})"
    alone = tally_of(verdict, Setting.ALONE)
    return [f"{sentence}, passed {alone.passed} of {alone.n} alone" if alone.n else sentence]


def _jointly_brittle(verdict: Verdict) -> list[str]:
    replay = verdict.replay
    if verdict.kind is not Kind.BRITTLE or not verdict.joint or replay is None or replay.order != (verdict.id,):
        return []
    helpers = counted(len(proven_prefix(verdict)), "test")
    return [f"failed {replay.failed} of {replay.runs} alone, passes after {helpers} run together"]


def _other_tests(verdict: Verdict) -> Iterator[str]:
    prefix = proven_prefix(verdict)
    parts = (
        ("also polluted by", [test for test in verdict.polluters if test not in prefix]),
        ("also set up by", [test for test in verdict.state_setters if test not in prefix]),
        ("cleaned by", list(verdict.cleaners)),
    )
    parts_with_tests = [f"{relation}: {few(tests)}" for relation, tests in parts if tests]
    if parts_with_tests:
        yield "; ".join(parts_with_tests)
    if verdict.shared_state:
        yield f"shared state: {'; '.join(verdict.shared_state)}"
