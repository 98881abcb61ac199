"""The report of a hunt as text."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Kind
from flakehound.report.commands import explain_command
from flakehound.report.formatting import FLAKY_KINDS, counted
from flakehound.report.hunt.groups import (
    ShownTests,
    flaky_selection,
    group_line,
    unresolved_selection,
)
from flakehound.report.hunt.result import HuntResult
from flakehound.report.hunt.totals import bound_lines, never_ran_lines, next_step, shared_failures, summary_line
from flakehound.report.hunt.verdict_lines import LABEL_WIDTH, headline, label, verdict_lines
from flakehound.report.wrapping import LineWrapper

WIDTH = 80  # columns of a terminal that nobody has enlarged
_MAX_FAILING = 10  # listed; their owner knows tests that always fail


def report_text(result: HuntResult, *, width: int = WIDTH) -> str:
    """Flaky tests by kind, unresolved and failing ones, then the totals; no newline at the end."""
    wrapper = LineWrapper.for_ids((verdict.id for verdict in result.verdicts), width)
    flaky = [verdict for kind in FLAKY_KINDS for verdict in result.of_kind(kind)]
    tests = [
        *_selected(result, flaky_selection(flaky), wrapper),
        *_selected(result, unresolved_selection(result.of_kind(Kind.UNRESOLVED)), wrapper),
        *_failing(result, width),
    ]
    return "\n".join([*tests, *([""] if tests else []), *_totals(result, wrapper)])


def _selected(result: HuntResult, selection: ShownTests, wrapper: LineWrapper) -> Iterator[str]:
    """The tests that are shown in full, then one example of each group."""
    indent = " " * LABEL_WIDTH
    for verdict in selection.in_full:
        yield from verdict_lines(result, verdict, wrapper)
    for group in selection.groups:
        example = group.verdicts[0]
        line = label(example) + group_line(group, more=bool(selection.in_full))
        yield from wrapper.wrap(line, hanging=LABEL_WIDTH + 2)
        yield f"{indent}{explain_command(result, example)}"
    if selection.in_small_groups:
        yield f"{indent}and {counted(selection.in_small_groups, 'test')} in smaller groups"
    if selection.groups:
        yield f"{indent}hunt --json FILE lists each of them"


def _failing(result: HuntResult, width: int) -> Iterator[str]:
    failing = result.of_kind(Kind.FAILING)
    for verdict in failing[:_MAX_FAILING]:
        line = "  ".join([headline(verdict), *verdict.evidence[:1]])
        if len(line) <= width:
            yield line
        else:
            yield headline(verdict)
            yield from (" " * LABEL_WIDTH + sentence for sentence in verdict.evidence[:1])
    if len(failing) > _MAX_FAILING:
        yield f"{'':{LABEL_WIDTH}}and {len(failing) - _MAX_FAILING:,} more"


def _totals(result: HuntResult, wrapper: LineWrapper) -> Iterator[str]:
    notes = (f"note: {note}" for note in result.notes)
    totals = (summary_line(result), *never_ran_lines(result), *bound_lines(result))
    for sentence in (*shared_failures(result), *notes, *totals):
        yield from wrapper.wrap(sentence)
    last = next_step(result)
    if last is not None:
        yield from last.lines(wrapper.width)
