"""How well models predict flaky tests, as text."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

from flakehound.report.study.tables import markdown_table

_MAX_SHOWN_RANKS = 10
_FIGURES = ("precision", "recall", "f1", "mcc", "auc")


class ModelRow(TypedDict):
    """One pipeline on one split of some tests."""

    title: str
    split: str
    paper: str  # precision, recall and F1 in the paper, in percent; empty: not published
    repeats: list[dict[str, Any]]  # the figures of each repeat


class PipelineComparison(TypedDict):
    """Pipelines that predicted the same tests: ranks over the projects, and the overlap of what they find."""

    tests: str
    split: str
    ranks: dict[str, Any] | None
    overlap: dict[str, Any] | None


class ModelStudy(TypedDict):
    """The JSON object `flakehound/study-models/1`."""

    schema: str
    seed: int
    repeats: int
    notes: list[str]
    rows: list[ModelRow]
    comparisons: list[PipelineComparison]


def model_lines(study: ModelStudy) -> Iterator[str]:
    """One row per pipeline and split, the best first within each split of a table."""
    yield f"seed {study['seed']}; mean over the repeats, and their standard deviation where there are several"
    yield ""
    header = ["experiment", "split", "P", "R", "F1", "MCC", "AUC", "calibration error", "P/R/F1 of the source"]
    yield from markdown_table(header, [_row(row) for row in study["rows"]])
    yield from _chosen_model_lines(study["rows"])
    for comparison in study["comparisons"]:
        yield from comparison_lines(comparison)
    for note in dict.fromkeys([*study["notes"], *_notes(study["rows"])]):
        yield f"note: {note}"


def _row(row: ModelRow) -> list[str]:
    figures = [_mean_text([repeat[name] for repeat in row["repeats"]]) for name in _FIGURES]
    error = _mean_text([repeat["calibration"]["error"] for repeat in row["repeats"]])
    return [row["title"], row["split"], *figures, error, row["paper"]]


def _mean_text(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    spread = f" ± {statistics.stdev(known):.3f}" if len(known) > 1 else ""
    return f"{statistics.mean(known):.3f}{spread}"


def _chosen_model_lines(rows: Sequence[ModelRow]) -> Iterator[str]:
    for row in rows:
        models = Counter(choice["model"] for repeat in row["repeats"] for choice in repeat.get("chosen", ()))
        if models:
            yield f"{row['title']}, chosen by the other projects:"
            yield from (f"  for {times} of them: {model}" for model, times in models.most_common())


def _notes(rows: Sequence[ModelRow]) -> Iterator[str]:
    for row in rows:
        for repeat in row["repeats"]:
            yield from (f"{row['title']}, {row['split']}: {note}" for note in repeat["notes"])


def comparison_lines(comparison: PipelineComparison) -> Iterator[str]:
    """The ranks of the pipelines over the projects, and what each pipeline finds that others miss."""
    where = f"{comparison['tests']}, {comparison['split']}"
    if comparison["ranks"]:
        yield from _rank_lines(comparison["ranks"], where)
    if comparison["overlap"]:
        yield from _overlap_lines(comparison["overlap"], where)


def _rank_lines(ranks: Mapping[str, Any], where: str) -> Iterator[str]:
    p = "undefined" if ranks["friedman_p"] is None else f"{ranks['friedman_p']:.2g}"
    yield ""
    yield f"Nemenyi ranks by F1, {where}: {ranks['projects']} projects with a positive test; Friedman p {p};"
    yield f"ranks that are {ranks['critical']:.2f} or less apart cannot be told from chance (5 %)"
    yield ""
    rows = [
        [
            pipeline["name"],
            f"{pipeline['rank']:.2f}",
            f"{pipeline['top']:.0%}",
            "yes" if pipeline["as_good"] else "no",
        ]
        for pipeline in ranks["pipelines"][:_MAX_SHOWN_RANKS]
    ]
    yield from markdown_table(["pipeline", "mean rank", "best in", "as good as the first"], rows)
    rest = ranks["pipelines"][_MAX_SHOWN_RANKS:]
    if rest:
        as_good = sum(pipeline["as_good"] for pipeline in rest)
        yield f"and {len(rest)} more, of which {as_good} cannot be told from the first; --json has them all"


def _overlap_lines(overlap: Mapping[str, Any], where: str) -> Iterator[str]:
    yield ""
    yield f"Positive tests found, {where}: by both, by one alone, of those that either finds"
    yield ""
    shares = ("both", "first_alone", "second_alone")
    rows = [
        [pair["first"], pair["second"], *(f"{pair[share]:.1%}" for share in shares)] for pair in overlap["pairs"]
    ]
    yield from markdown_table(["first", "second", "both", "first alone", "second alone"], rows)
    yield f"of those that any of them finds, all find {overlap['all']:.1%}; found by one and no other:"
    yield from (f"  {share:.1%} {name}" for name, share in overlap["alone"].items())
