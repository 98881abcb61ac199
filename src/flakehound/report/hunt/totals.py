"""The end of a report: what was run, what was found, how certain that is, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.outcomes import NodeId
from flakehound.core.verdicts import Kind
from flakehound.report.commands import explain_command, resume_command
from flakehound.report.durations import duration_text
from flakehound.report.formatting import FLAKY_KINDS, RATE_SETTINGS, counted, few, one_failure_in, tally_of
from flakehound.report.hunt.result import HuntResult

_MAX_NAMES = 10  # listed per shared failure


def shared_failures(result: HuntResult) -> Iterator[str]:
    """One line per failure signature that several flaky tests have, the most shared first."""
    found: dict[str, list[NodeId]] = {}
    for verdict in result.flaky:
        for signature in verdict.signatures:
            found.setdefault(signature, []).append(verdict.id)
    for signature, tests in sorted(found.items(), key=lambda item: -len(item[1])):
        if len(tests) > 1:
            yield f"same failure {signature}: {few(tests, _MAX_NAMES)}"


def summary_line(result: HuntResult) -> str:
    """What was run and what was found, in one line."""
    return f"{', '.join(_runs_made(result))}: {', '.join(_tests_found(result))}"


def _runs_made(result: HuntResult) -> Iterator[str]:
    yield counted(result.suite.tests, "test")
    if result.runs.get("original"):
        yield counted(result.runs["original"], "original run")
    if result.runs.get("shuffled"):
        yield counted(result.runs["shuffled"], "other order")
    if result.pairs:
        yield f"{result.pairs} pairs"
    yield duration_text(result.spent.wall_s)


def _tests_found(result: HuntResult) -> Iterator[str]:
    by_kind = [(len(result.of_kind(kind)), kind.value) for kind in FLAKY_KINDS]
    kinds = ", ".join(f"{number} {kind}" for number, kind in by_kind if number)
    yield f"{len(result.flaky)} flaky ({kinds})" if kinds else "0 flaky"
    for kind in (Kind.UNRESOLVED, Kind.FAILING):
        if result.of_kind(kind):
            yield f"{len(result.of_kind(kind))} {kind.value}"
    yield f"{len(result.of_kind(Kind.STEADY))} steady so far"


def bound_lines(result: HuntResult) -> Iterator[str]:
    """How often a test that was not found flaky may still fail."""
    runs = [tally_of(verdict, *RATE_SETTINGS).n for verdict in result.of_kind(Kind.STEADY)]
    unseen = runs.count(0)
    fewest = min((n for n in runs if n), default=0)
    if fewest:
        yield _bound(fewest)
    if unseen:
        verb = "was" if unseen == 1 else "were"
        yield f"{counted(unseen, 'steady test')} {verb} never seen to pass or fail: skipped, or not reached"


def _bound(runs: int) -> str:
    if one_failure_in(runs) < 2:
        return f"Some steady tests ran only {counted(runs, 'time')}: too few to say how often they may fail"
    certainty = f"95 % for each test, at least {runs} runs each"
    return f"No steady test fails more often than 1 in {one_failure_in(runs)} runs ({certainty})"


def next_step(result: HuntResult) -> str | None:
    """The last line: the command to run next; None where nothing was found."""
    if result.interrupted:
        return f"Interrupted before all was settled. Go on: {resume_command(result)}"
    if not result.complete:
        return f"The time ran out before all was settled. Go on: {resume_command(result)}"
    flaky = [verdict for kind in FLAKY_KINDS for verdict in result.of_kind(kind)]
    return f"Everything known about one test: {explain_command(result, flaky[0])}" if flaky else None
