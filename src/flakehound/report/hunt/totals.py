"""The end of a report: what was run, what was found, how certain that is, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flakehound.core.outcomes import NodeId
from flakehound.core.verdicts import Kind
from flakehound.report.commands import explain_command, resume_command
from flakehound.report.durations import budget_option, duration_text
from flakehound.report.formatting import (
    FLAKY_KINDS,
    RATE_SETTINGS,
    counted,
    few,
    one_failure_in,
    percent,
    tally_of,
)
from flakehound.report.hunt.result import HuntResult

_MAX_NAMES = 10  # listed per shared failure
_MAX_SHARED_FAILURES = 5  # listed


@dataclass(frozen=True, slots=True, kw_only=True)
class NextCommand:
    """A sentence, and the command that it ends with."""

    sentence: str
    command: str

    def lines(self, width: int) -> list[str]:
        """In one line if it fits, else the command on a line of its own, which can still be pasted."""
        line = f"{self.sentence} {self.command}"
        return [line] if len(line) <= width else [self.sentence, f"  {self.command}"]


def shared_failures(result: HuntResult) -> Iterator[str]:
    """One line per failure signature that several flaky tests have, the most shared first."""
    found: dict[str, list[NodeId]] = {}
    for verdict in result.flaky:
        for signature in verdict.signatures:
            found.setdefault(signature, []).append(verdict.id)
    shared = [(signature, tests) for signature, tests in found.items() if len(tests) > 1]
    shared.sort(key=lambda item: -len(item[1]))
    for signature, tests in shared[:_MAX_SHARED_FAILURES]:
        yield f"same failure {signature}: {few(tests, _MAX_NAMES)}"
    if len(shared) > _MAX_SHARED_FAILURES:
        yield f"and {counted(len(shared) - _MAX_SHARED_FAILURES, 'more failure')} that several tests have"


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
    yield f"{len(result.flaky):,} flaky ({kinds})" if kinds else "0 flaky"
    for kind in (Kind.UNRESOLVED, Kind.FAILING):
        if result.of_kind(kind):
            yield f"{len(result.of_kind(kind)):,} {kind.value}"
    never_ran = len(_never_ran(result))
    yield f"{len(result.of_kind(Kind.STEADY)) - never_ran:,} steady so far"
    if never_ran:
        yield f"{never_ran:,} never ran"


def _never_ran(result: HuntResult) -> frozenset[NodeId]:
    return frozenset() if result.never_ran is None else result.never_ran.tests


def never_ran_lines(result: HuntResult) -> Iterator[str]:
    """Which share of the tests never ran, and what it takes to run all of them."""
    never_ran = result.never_ran
    if never_ran is None or not never_ran.tests:
        return
    share = percent(len(never_ran.tests) / result.suite.tests)
    if not never_ran.one_run_s:
        yield "No test ended within the time, so what they take is not known; --test-timeout ends one that hangs"
        return
    takes = f"one run of all of them takes about {duration_text(never_ran.one_run_s)}"
    budget = f"--budget {budget_option(never_ran.full_look_s)} gives a full look"
    tests = f"{len(never_ran.tests):,} of {counted(result.suite.tests, 'test')}"
    yield f"{tests} ({share} %) never ran: {takes}; {budget}"


def bound_lines(result: HuntResult) -> Iterator[str]:
    """How often a test that was not found flaky may still fail."""
    never_ran = _never_ran(result)
    steady = [verdict for verdict in result.of_kind(Kind.STEADY) if verdict.id not in never_ran]
    runs = [tally_of(verdict, *RATE_SETTINGS).n for verdict in steady]
    unseen = runs.count(0)
    fewest = min((n for n in runs if n), default=0)
    if fewest:
        yield _bound(fewest)
    if unseen:
        verb = "was" if unseen == 1 else "were"
        why = "skipped, or not reached" if result.never_ran is None else "skipped in every run"
        yield f"{counted(unseen, 'steady test')} {verb} never seen to pass or fail: {why}"


def _bound(runs: int) -> str:
    if one_failure_in(runs) < 2:
        return f"Some steady tests ran only {counted(runs, 'time')}: too few to say how often they may fail"
    certainty = f"95 % for each test, at least {runs} runs each"
    return f"No steady test fails more often than 1 in {one_failure_in(runs)} runs ({certainty})"


def next_step(result: HuntResult) -> NextCommand | None:
    """The last line: the command to run next; None where nothing was found."""
    if result.interrupted:
        return NextCommand(sentence="Interrupted before all was settled. Go on:", command=resume_command(result))
    if not result.complete:
        sentence = "The time ran out before all was settled. Go on:"
        return NextCommand(sentence=sentence, command=resume_command(result))
    flaky = [verdict for kind in FLAKY_KINDS for verdict in result.of_kind(kind)]
    if not flaky:
        return None
    return NextCommand(sentence="Everything known about one test:", command=explain_command(result, flaky[0]))
