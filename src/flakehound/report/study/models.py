"""What a study of models found, as text; takes the `flakehound/study-models/1` object."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flakehound.report.study.tables import markdown

_RANKED = 10  # rows that are shown
_FIGURES = ("precision", "recall", "f1", "mcc", "auc")


def model_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """One row per pipeline and split, the best first within each split of a table."""
    yield f"seed {told['seed']}; mean over the repeats, and their standard deviation where there are several"
    yield ""
    head = ["experiment", "split", "P", "R", "F1", "MCC", "AUC", "calibration error", "P/R/F1 of the source"]
    yield from markdown(head, [_row(row) for row in told["rows"]])
    yield from _chosen(told["rows"])
    for one in told["comparisons"]:
        yield from comparison_lines(one)
    for note in dict.fromkeys([*told["notes"], *_notes(told["rows"])]):
        yield f"note: {note}"


def _row(row: Mapping[str, Any]) -> list[str]:
    figures = [_mean([one[name] for one in row["repeats"]]) for name in _FIGURES]
    error = _mean([one["calibration"]["error"] for one in row["repeats"]])
    return [row["title"], row["split"], *figures, error, row["paper"]]


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    spread = f" ± {statistics.stdev(known):.3f}" if len(known) > 1 else ""
    return f"{statistics.mean(known):.3f}{spread}"


def _chosen(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        found = Counter(one["model"] for answer in row["repeats"] for one in answer.get("chosen", ()))
        if found:
            yield f"{row['title']}, chosen by the other projects:"
            yield from (f"  for {times} of them: {model}" for model, times in found.most_common())


def _notes(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        for answer in row["repeats"]:
            yield from (f"{row['title']}, {row['split']}: {note}" for note in answer["notes"])


def comparison_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """Who ranks where over the projects, and who finds what others miss."""
    where = f"{told['tests']}, {told['split']}"
    if told["ranks"]:
        yield from _rank_lines(told["ranks"], where)
    if told["overlap"]:
        yield from _overlap_lines(told["overlap"], where)


def _rank_lines(ranks: Mapping[str, Any], where: str) -> Iterator[str]:
    p = "undefined" if ranks["friedman_p"] is None else f"{ranks['friedman_p']:.2g}"
    yield ""
    yield f"Nemenyi ranks by F1, {where}: {ranks['projects']} projects with a positive test; Friedman p {p};"
    yield f"ranks that are {ranks['critical']:.2f} or less apart cannot be told from chance (5 %)"
    yield ""
    rows = [
        [one["name"], f"{one['rank']:.2f}", f"{one['top']:.0%}", "yes" if one["as_good"] else "no"]
        for one in ranks["pipelines"][:_RANKED]
    ]
    yield from markdown(["pipeline", "mean rank", "best in", "as good as the first"], rows)
    rest = ranks["pipelines"][_RANKED:]
    if rest:
        alike = sum(one["as_good"] for one in rest)
        yield f"and {len(rest)} more, of which {alike} cannot be told from the first; --json has them all"


def _overlap_lines(overlap: Mapping[str, Any], where: str) -> Iterator[str]:
    yield ""
    yield f"Positive tests found, {where}: by both, by one alone, of those that either finds"
    yield ""
    shares = ("both", "first_alone", "second_alone")
    rows = [[one["first"], one["second"], *(f"{one[share]:.1%}" for share in shares)] for one in overlap["pairs"]]
    yield from markdown(["first", "second", "both", "first alone", "second alone"], rows)
    yield f"of those that any of them finds, all find {overlap['all']:.1%}; found by one and no other:"
    yield from (f"  {share:.1%} {name}" for name, share in overlap["alone"].items())
