"""What a table of tests contains, as text; and tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flakehound.report.formatting import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemFacts:
    """One classification problem: how many tests are positive, or why it cannot be learned."""

    name: str
    obstacle: str  # empty: it can be learned, and the counts are set
    tests: int = 0
    positive: int = 0
    projects: int = 0  # with a positive test
    single: int = 0  # projects with exactly one positive test


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetFacts:
    """What a table contains, and what can be learned from it."""

    name: str
    tests: int
    projects: int
    features: int
    exclusions: Mapping[str, int]  # why rows were left out -> how many
    constant: tuple[str, ...]  # features with only one value
    problems: tuple[ProblemFacts, ...]


def dataset_lines(facts: DatasetFacts) -> Iterator[str]:
    """The output of `flakehound data check`: sizes, exclusions, and what can be learned."""
    features = counted(facts.features, "feature")
    yield f"{facts.name}: {facts.tests} tests of {counted(facts.projects, 'project')}, {features}"
    for why, rows in facts.exclusions.items():
        yield f"left out: {counted(rows, 'row')} {why}"
    if facts.constant:
        yield f"constant in all tests, so useless: {', '.join(facts.constant)}"
    yield from map(_problem_line, facts.problems)


def _problem_line(problem: ProblemFacts) -> str:
    if problem.obstacle:
        return f"{problem.name:18}cannot be learned: {problem.obstacle}"
    single = f", {problem.single} of them with one only" if problem.single else ""
    where = f"in {counted(problem.projects, 'project')}{single}"
    return f"{problem.name:18}{problem.positive} of {problem.tests} tests positive, {where}"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table with aligned columns, readable as plain text and as Markdown."""
    widths = [max(len(line[column]) for line in [header, *rows]) for column in range(len(header))]
    yield _line(header, widths)
    yield "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    yield from (_line(row, widths) for row in rows)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return f"| {' | '.join(padded)} |"
