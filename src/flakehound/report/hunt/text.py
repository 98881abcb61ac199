"""The report of a hunt as text."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Kind
from flakehound.report.formatting import FLAKY_KINDS
from flakehound.report.hunt.result import HuntResult
from flakehound.report.hunt.totals import bound_lines, next_step, shared_failures, summary_line
from flakehound.report.hunt.verdict_lines import LABEL_WIDTH, headline, verdict_lines
from flakehound.report.wrapping import LineWrapper

_MAX_FAILING = 10  # listed; their owner knows tests that always fail


def report_text(result: HuntResult, *, width: int = 100) -> str:
    """Flaky tests by kind, unresolved and failing ones, then the totals; no newline at the end."""
    wrapper = LineWrapper.for_ids((verdict.id for verdict in result.verdicts), width)
    tests = [*_flaky_or_unresolved(result, wrapper), *_failing(result)]
    return "\n".join([*tests, *([""] if tests else []), *_totals(result, wrapper)])


def _flaky_or_unresolved(result: HuntResult, wrapper: LineWrapper) -> Iterator[str]:
    for kind in (*FLAKY_KINDS, Kind.UNRESOLVED):
        for verdict in result.of_kind(kind):
            yield from verdict_lines(result, verdict, wrapper)


def _failing(result: HuntResult) -> Iterator[str]:
    failing = result.of_kind(Kind.FAILING)
    for verdict in failing[:_MAX_FAILING]:
        yield "  ".join([headline(verdict), *verdict.evidence[:1]])
    if len(failing) > _MAX_FAILING:
        yield f"{'':{LABEL_WIDTH}}and {len(failing) - _MAX_FAILING} more"


def _totals(result: HuntResult, wrapper: LineWrapper) -> Iterator[str]:
    notes = (f"note: {note}" for note in result.notes)
    for sentence in (*shared_failures(result), *notes, summary_line(result), *bound_lines(result)):
        yield from wrapper.wrap(sentence)
    last = next_step(result)
    if last is not None:
        yield last
