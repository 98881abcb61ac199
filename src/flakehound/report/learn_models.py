"""What a study of models found, as text; takes the `flakehound/study-models/1` object."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flakehound.report.learn_tables import markdown

_FIGURES = ("precision", "recall", "f1", "mcc", "auc")


def model_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """One row per pipeline and split, the best first within each split of a table."""
    yield f"seed {told['seed']}; mean over the repeats, and their standard deviation where there are several"
    yield ""
    head = ["experiment", "split", "P", "R", "F1", "MCC", "AUC", "calibration error", "P/R/F1 of the source"]
    yield from markdown(head, [_row(row) for row in told["rows"]])
    yield from _chosen(told["rows"])
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
