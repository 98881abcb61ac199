"""Tables of tests and of what was learned from them, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flakehound.report.phrases import counted


def dataset_lines(facts: Mapping[str, Any]) -> Iterator[str]:
    """What `flakehound data check` says."""
    features = counted(len(facts["features"]), "feature")
    yield f"{facts['name']}: {facts['tests']} tests of {counted(facts['projects'], 'project')}, {features}"
    for one in facts["exclusions"]:
        yield f"left out: {counted(one['rows'], 'row')} {one['why']}"
    if facts["constant"]:
        yield f"the same in every test, so of no use: {', '.join(facts['constant'])}"
    yield from (_problem_line(problem) for problem in facts["problems"])


def _problem_line(problem: Mapping[str, Any]) -> str:
    if problem["obstacle"]:
        return f"{problem['name']:18}cannot be learned: {problem['obstacle']}"
    single = f", {problem['single']} of them with one only" if problem["single"] else ""
    where = f"in {counted(problem['projects'], 'project')}{single}"
    return f"{problem['name']:18}{problem['positive']} of {problem['tests']} tests positive, {where}"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table that reads well as plain text and as Markdown."""
    widths = [max(len(line[place]) for line in [head, *rows]) for place in range(len(head))]
    yield _line(head, widths)
    yield "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    yield from (_line(row, widths) for row in rows)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return f"| {' | '.join(padded)} |"
