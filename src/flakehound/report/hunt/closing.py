"""How a report ends: what was run, what it amounts to, how sure that is, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.outcomes import NodeId
from flakehound.core.verdicts import Kind
from flakehound.report.commands import explain_command, resume_command
from flakehound.report.durations import spoken
from flakehound.report.hunt.summary import HuntResult
from flakehound.report.phrases import COUNTED, FLAKY_KINDS, counted, few, one_failure_in, tally_of

_MOST_ALIKE = 10  # names listed per shared failure


def shared_failures(hunted: HuntResult) -> Iterator[str]:
    """One line per failure signature that several flaky tests have, the most shared first."""
    found: dict[str, list[NodeId]] = {}
    for verdict in hunted.flaky:
        for signature in verdict.signatures:
            found.setdefault(signature, []).append(verdict.id)
    for signature, tests in sorted(found.items(), key=lambda item: -len(item[1])):
        if len(tests) > 1:
            yield f"same failure {signature}: {few(tests, _MOST_ALIKE)}"


def summary_line(hunted: HuntResult) -> str:
    """What was run and what was found, in one line."""
    return f"{', '.join(_effort(hunted))}: {', '.join(_yield(hunted))}"


def _effort(hunted: HuntResult) -> Iterator[str]:
    yield counted(hunted.suite.tests, "test")
    if hunted.runs.get("original"):
        yield counted(hunted.runs["original"], "original run")
    if hunted.runs.get("shuffled"):
        yield counted(hunted.runs["shuffled"], "other order")
    if hunted.pairs:
        yield f"{hunted.pairs} pairs"
    yield spoken(hunted.spent.wall_s)


def _yield(hunted: HuntResult) -> Iterator[str]:
    by_kind = [(len(hunted.of_kind(kind)), kind.value) for kind in FLAKY_KINDS]
    kinds = ", ".join(f"{number} {kind}" for number, kind in by_kind if number)
    yield f"{len(hunted.flaky)} flaky ({kinds})" if kinds else "0 flaky"
    for kind in (Kind.UNRESOLVED, Kind.FAILING):
        if hunted.of_kind(kind):
            yield f"{len(hunted.of_kind(kind))} {kind.value}"
    yield f"{len(hunted.of_kind(Kind.STEADY))} steady so far"


def bound_lines(hunted: HuntResult) -> Iterator[str]:
    """How often a test not caught may still fail."""
    runs = [tally_of(verdict, *COUNTED).n for verdict in hunted.of_kind(Kind.STEADY)]
    idle = runs.count(0)
    fewest = min((n for n in runs if n), default=0)
    if fewest:
        yield _bound(fewest)
    if idle:
        verb = "was" if idle == 1 else "were"
        yield f"{counted(idle, 'steady test')} {verb} never seen to pass or fail: skipped, or not reached"


def _bound(runs: int) -> str:
    if one_failure_in(runs) < 2:
        return f"Some steady tests ran only {counted(runs, 'time')}: too few to say how often they may fail"
    certainty = f"95 % for each test, at least {runs} runs each"
    return f"No steady test fails more often than 1 in {one_failure_in(runs)} runs ({certainty})"


def next_step(hunted: HuntResult) -> str | None:
    """The last line: a command worth running now."""
    if hunted.interrupted:
        return f"Interrupted before all was settled. Go on: {resume_command(hunted)}"
    if not hunted.complete:
        return f"The time ran out before all was settled. Go on: {resume_command(hunted)}"
    told = [verdict for kind in FLAKY_KINDS for verdict in hunted.of_kind(kind)]
    return f"Everything known about one test: {explain_command(hunted, told[0])}" if told else None
