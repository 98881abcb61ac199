"""What is said about one test: verdict first, evidence second, the command last."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Setting
from flakehound.core.statistics.rates import failure_rate
from flakehound.core.verdicts import Cause, Kind, Verdict
from flakehound.report.commands import replay_command
from flakehound.report.hunt.summary import HuntResult
from flakehound.report.phrases import CLEAN, counted, few, interval, tally_of
from flakehound.report.wrapping import Paper

LABEL_WIDTH = 8  # the longer labels push their id to the right, the lines below stay
_COLOURS = {
    Kind.NOD: "1;31",
    Kind.VICTIM: "1;35",
    Kind.BRITTLE: "1;34",
    Kind.NON_IDEMPOTENT: "1;36",
    Kind.UNRESOLVED: "1;33",
    Kind.FAILING: "31",
    Kind.STEADY: "32",
}


def headline(verdict: Verdict, *, colour: bool = False) -> str:
    """The kind, in capitals, and the test."""
    label = verdict.kind.value.upper()
    gap = " " * max(1, LABEL_WIDTH - len(label))
    if colour:
        label = f"\x1b[{_COLOURS[verdict.kind]}m{label}\x1b[0m"
    return f"{label}{gap}{verdict.id}"


def block(hunted: HuntResult, verdict: Verdict, paper: Paper, *, colour: bool = False) -> list[str]:
    """All lines about one flaky or unresolved test."""
    lines = [headline(verdict, colour=colour)]
    for sentence in sentences(verdict):
        lines += paper.prose(sentence, LABEL_WIDTH)
    command = replay_command(hunted, verdict)
    return lines if command is None else [*lines, " " * LABEL_WIDTH + command]


def sentences(verdict: Verdict) -> Iterator[str]:
    """The evidence in short, then who else takes part, then what it comes from."""
    yield from _evidence(verdict)
    yield from _company(verdict)
    for likely in verdict.causes:
        if not (likely.cause is Cause.TEST_ORDER and decisive(verdict)):
            yield f"likely cause: {likely.cause.value} — {likely.evidence}"


def decisive(verdict: Verdict) -> tuple[NodeId, ...]:
    """The polluters or state-setters of the minimal order; empty while none is proven."""
    proven = {*verdict.polluters, *verdict.state_setters}
    return tuple(test for test in verdict.minimal_order[:-1] if test in proven)


def _evidence(verdict: Verdict) -> Iterator[str]:
    yield from _nod(verdict) or _victim(verdict) or _jointly_brittle(verdict) or verdict.evidence[:1]
    if verdict.joint and decisive(verdict):
        yield f"needs all of: {', '.join(decisive(verdict))}"


def _nod(verdict: Verdict) -> list[str]:
    clean = tally_of(verdict, *CLEAN)
    if verdict.kind is not Kind.NOD or not clean.is_mixed:
        return []
    rate = interval(failure_rate(clean.failed, clean.n))
    return [f"failed {clean.failed} of {clean.n} runs in the same order or alone ({rate})"]


def _victim(verdict: Verdict) -> list[str]:
    blamed, replay = decisive(verdict), verdict.replay
    if verdict.kind is not Kind.VICTIM or not blamed or replay is None or replay.order != verdict.minimal_order:
        return []
    counts = f"{replay.failed} of {replay.runs}"
    who = f"{len(blamed)} tests run together" if len(blamed) > 1 else blamed[0]
    if verdict.pollution_rate is None:
        words = f"failed {counts} after {who}"
    else:
        words = f"fails {counts} times after {who} ({interval(verdict.pollution_rate)})"
    alone = tally_of(verdict, Setting.ALONE)
    return [f"{words}, passed {alone.passed} of {alone.n} alone" if alone.n else words]


def _jointly_brittle(verdict: Verdict) -> list[str]:
    replay = verdict.replay
    if verdict.kind is not Kind.BRITTLE or not verdict.joint or replay is None or replay.order != (verdict.id,):
        return []
    helpers = counted(len(decisive(verdict)), "test")
    return [f"failed {replay.failed} of {replay.runs} alone, passes after {helpers} run together"]


def _company(verdict: Verdict) -> Iterator[str]:
    blamed = decisive(verdict)
    parts = (
        ("also polluted by", [test for test in verdict.polluters if test not in blamed]),
        ("also set up by", [test for test in verdict.state_setters if test not in blamed]),
        ("cleaned by", list(verdict.cleaners)),
    )
    told = [f"{words}: {few(tests)}" for words, tests in parts if tests]
    if told:
        yield "; ".join(told)
    if verdict.shared_state:
        yield f"shared state: {'; '.join(verdict.shared_state)}"
