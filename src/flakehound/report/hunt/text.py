"""The report as people read it in a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Kind
from flakehound.report.hunt.blocks import LABEL_WIDTH, block, headline
from flakehound.report.hunt.closing import bound_lines, next_step, shared_failures, summary_line
from flakehound.report.hunt.summary import HuntResult
from flakehound.report.phrases import FLAKY_KINDS
from flakehound.report.wrapping import Paper

_MOST_FAILING = 10  # tests that always fail are no news to their owner


def report_text(hunted: HuntResult, *, width: int = 100, colour: bool = False) -> str:
    """Flaky tests by kind, unresolved and failing ones, then what it amounts to; no newline at the end."""
    paper = Paper.for_ids((verdict.id for verdict in hunted.verdicts), width)
    found = [*_blocks(hunted, paper, colour=colour), *_failing(hunted, colour=colour)]
    return "\n".join([*found, *([""] if found else []), *_closing(hunted, paper)])


def _blocks(hunted: HuntResult, paper: Paper, *, colour: bool) -> Iterator[str]:
    for kind in (*FLAKY_KINDS, Kind.UNRESOLVED):
        for verdict in hunted.of_kind(kind):
            yield from block(hunted, verdict, paper, colour=colour)


def _failing(hunted: HuntResult, *, colour: bool) -> Iterator[str]:
    failing = hunted.of_kind(Kind.FAILING)
    for verdict in failing[:_MOST_FAILING]:
        yield "  ".join([headline(verdict, colour=colour), *verdict.evidence[:1]])
    if len(failing) > _MOST_FAILING:
        yield f"{'':{LABEL_WIDTH}}and {len(failing) - _MOST_FAILING} more"


def _closing(hunted: HuntResult, paper: Paper) -> Iterator[str]:
    notes = (f"note: {note}" for note in hunted.notes)
    for sentence in (*shared_failures(hunted), *notes, summary_line(hunted), *bound_lines(hunted)):
        yield from paper.prose(sentence)
    last = next_step(hunted)
    if last is not None:
        yield last
