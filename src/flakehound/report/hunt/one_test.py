"""The report of `flakehound explain`: everything that is known about one test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flakehound.core.plans import Setting
from flakehound.core.verdicts import Kind, Verdict
from flakehound.report.commands import plain_pytest_command, replay_command
from flakehound.report.formatting import MEANINGS, RATE_SETTINGS, counted, interval, one_failure_in, tally_of
from flakehound.report.hunt.failures import FailureExample, failure_lines
from flakehound.report.hunt.result import HuntResult
from flakehound.report.hunt.verdict_lines import headline

_MAX_ORDER = 20  # tests; a longer order is shortened, and shown without its plain pytest command
_SETTINGS = {
    Setting.ORIGINAL: "original order",
    Setting.SHUFFLED: "other orders",
    Setting.ALONE: "alone in a new process",
    Setting.REPEATED: "again in one process",
    Setting.PROBE: "after chosen tests",
}


def explain_text(result: HuntResult, verdict: Verdict, examples: Sequence[FailureExample]) -> str:
    """The kind and its meaning, all evidence, an example of each failure, and commands; no newline at the end."""
    sections = (
        [headline(verdict), f"  {_meaning(verdict)}"],
        _section("Evidence", verdict.evidence),
        _section("Runs", _counts(verdict)),
        _section("Other tests", _others(verdict)),
        _section("State", _state(verdict)),
        _section(_order_heading(verdict), _order(verdict)),
        _section("Likely causes", _causes(verdict)),
        _section("Failures", failure_lines(verdict.signatures, examples)),
        _section("Make it fail again", _commands(result, verdict)),
    )
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def _meaning(verdict: Verdict) -> str:
    if verdict.kind is Kind.FAILING and tally_of(verdict, *Setting).passed:
        return "Never seen passing in a new interpreter."
    return MEANINGS[verdict.kind]


def _section(heading: str, lines: Sequence[str] | Iterator[str]) -> list[str]:
    indented = [f"  {line}".rstrip() for line in lines]
    return [heading, *indented] if indented else []


def _counts(verdict: Verdict) -> Iterator[str]:
    yield f"{'setting':<24}{'runs':>6}{'failed':>8}"
    for setting, name in _SETTINGS.items():
        tally = tally_of(verdict, setting)
        if tally.n:
            yield f"{name:<24}{tally.n:>6}{tally.failed:>8}"
    yield _rate(verdict)
    if verdict.under_load:
        yield "failed only while other processes of flakehound ran beside it"


def _rate(verdict: Verdict) -> str:
    total = tally_of(verdict, *RATE_SETTINGS)
    if not total.n:
        return "never seen to pass or fail in the original order, in other orders or alone"
    if total.failed:
        return f"failure rate {interval(verdict.rate)}, over original order, other orders and alone"
    if one_failure_in(total.n) < 2:
        return "too few runs to say how often it may fail"
    return f"fails at most 1 in {one_failure_in(total.n)} runs (95 %), by original order, other orders and alone"


def _others(verdict: Verdict) -> Iterator[str]:
    together = ", needed together" if verdict.joint else ""
    parts = (
        (f"polluters{together}", verdict.polluters),
        (f"state-setters{together}", verdict.state_setters),
        ("cleaners", verdict.cleaners),
    )
    for heading, tests in parts:
        if tests:
            yield f"{heading}:"
            yield from (f"  {test}" for test in tests)
    if verdict.pollution_rate is not None:
        yield f"fails only sometimes after its polluter: {interval(verdict.pollution_rate)}"


def _state(verdict: Verdict) -> Iterator[str]:
    others = {Kind.BRITTLE: "its state-setters", Kind.NON_IDEMPOTENT: "its first run"}
    shared = f"shared with {others.get(verdict.kind, 'its polluters')}"
    for heading, changes in ((shared, verdict.shared_state), ("left behind", verdict.leaves)):
        if changes:
            yield f"{heading}:"
            yield from (f"  {change}" for change in changes)


def _order_heading(verdict: Verdict) -> str:
    if verdict.kind is Kind.BRITTLE and verdict.state_setters:
        return "Shortest order in which it passes"
    return "Shortest order in which it failed"


def _order(verdict: Verdict) -> Iterator[str]:
    order = verdict.minimal_order
    left_out = len(order) - _MAX_ORDER if len(order) > _MAX_ORDER else 0
    if left_out:
        yield f"({counted(left_out, 'test')} before these)"
    for number, test in enumerate(order[left_out:], left_out + 1):
        yield f"{number}. {test}"


def _causes(verdict: Verdict) -> Iterator[str]:
    for likely in verdict.causes:
        is_shown_above = likely.evidence in verdict.evidence
        yield likely.cause.value if is_shown_above else f"{likely.cause.value} — {likely.evidence}"


def _commands(result: HuntResult, verdict: Verdict) -> Iterator[str]:
    replay, command = verdict.replay, replay_command(result, verdict)
    if replay is None or command is None:
        yield "no failing run is known, so there is none to repeat"
        return
    yield f"(such runs failed {replay.failed} of {counted(replay.runs, 'time')})"
    yield command
    plain = plain_pytest_command(result, verdict)
    if plain is not None and len(replay.order) <= _MAX_ORDER:
        yield "or without flakehound:"
        yield plain
