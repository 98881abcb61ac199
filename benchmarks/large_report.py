"""Tables and a picture of the results of hunts in large suites."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from large_score import KIND_ONLY, MISSED, PROVEN, UNRESOLVED, WRONG_KIND

Score = Mapping[str, Any]
MAX_NOTES = 20


def table_of(scores: Sequence[Score]) -> str:
    """A Markdown table of the hunts with one budget: one row per suite and one for all, means over hunts."""
    names = sorted({score["suite"] for score in scores})
    groups = {name: [score for score in scores if score["suite"] == name] for name in names}
    if len(names) > 1:
        groups["all"] = list(scores)
    head = "| " + " | ".join(["suite", "hunts", *_COLUMNS]) + " |"
    line = "|" + "---|" * (len(_COLUMNS) + 2)
    rows = [
        "| " + " | ".join([name, str(len(group)), *(column(group) for column in _COLUMNS.values())]) + " |"
        for name, group in groups.items()
    ]
    return "\n".join([head, line, *rows])


def notes_of(scores: Sequence[Score]) -> list[str]:
    """What deserves attention: false claims first, then everything that plain pytest judged."""
    notes = [f"{score['suite']} ({score['budget']}): {note}" for score in scores for note in score["notes"]]
    notes.sort(key=lambda note: ": false:" not in note)
    unverified = sorted({f"{score['suite']}-{score['seed']}" for score in scores if score["unverified_plants"]})
    warnings = [f"plants not verified: {', '.join(unverified)}"] if unverified else []
    left = [f"{score['suite']} ({score['budget']}): left {score['left_behind'][:5]}" for score in scores
            if score["left_behind"]]  # fmt: skip
    return [*warnings, *left, *notes[:MAX_NOTES]]


def draw(scores: Sequence[Score], path: Path) -> None:
    """Draw proven plants against time: one part per budget, one line per suite, means over hunts."""
    from matplotlib import use

    use("agg")
    from matplotlib import pyplot

    budgets = sorted({(score["budget"]) for score in scores}, key=lambda label: _longest_s(scores, label))
    figure, parts = pyplot.subplots(1, len(budgets), figsize=(5.5 * len(budgets), 4), squeeze=False)
    for part, budget in zip(parts[0], budgets, strict=True):
        chosen = [score for score in scores if score["budget"] == budget]
        for name in sorted({score["suite"] for score in chosen}):
            times, numbers = _curve([score for score in chosen if score["suite"] == name])
            part.step([time_s / 60 for time_s in times], numbers, where="post", label=name)
        part.set(title=f"budget {budget}", xlabel="minutes", ylabel="proven planted tests", ylim=(0, None))
        part.axhline(_mean(chosen, lambda score: len(score["plants"])), color="grey", linestyle=":", linewidth=1)
        part.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _curve(scores: Sequence[Score]) -> tuple[list[float], list[float]]:
    """The mean number of proven plants after each moment at which one was proven."""
    moments = sorted(plant["proven_s"] for score in scores for plant in score["plants"] if _is(plant, PROVEN))
    numbers = [(index + 1) / len(scores) for index in range(len(moments))]
    end_s = max(score["watched"]["wall_s"] for score in scores)
    return [0.0, *moments, max(end_s, *moments, 0.0)], [0.0, *numbers, numbers[-1] if numbers else 0.0]


def _longest_s(scores: Sequence[Score], budget: str) -> float:
    return float(max(score["budget_s"] for score in scores if score["budget"] == budget))


def _is(plant: Mapping[str, Any], result: str) -> bool:
    return bool(plant["result"] == result)


def _mean(scores: Sequence[Score], figure: Callable[[Score], float]) -> float:
    return statistics.fmean(figure(score) for score in scores)


def _required(score: Score) -> list[Mapping[str, Any]]:
    return [plant for plant in score["plants"] if plant["required"]]


def _proven(scores: Sequence[Score]) -> str:
    proven = _mean(scores, lambda score: sum(_is(plant, PROVEN) for plant in _required(score)))
    required = _mean(scores, lambda score: len(_required(score)))
    return f"{proven:.1f} of {required:.1f} ({proven / required:.0%})"


def _count(*results: str) -> Callable[[Sequence[Score]], str]:
    def column(scores: Sequence[Score]) -> str:
        return f"{_mean(scores, lambda score: sum(plant['result'] in results for plant in score['plants'])):.1f}"

    return column


def _exposed(scores: Sequence[Score]) -> str:
    return f"{_mean(scores, lambda score: sum(p['exposed_s'] is not None for p in score['plants'])):.1f}"


def _unresolved_share(scores: Sequence[Score]) -> str:
    exposed = [plant for score in scores for plant in score["plants"] if plant["exposed_s"] is not None]
    unresolved = sum(_is(plant, UNRESOLVED) for plant in exposed)
    return f"{unresolved / len(exposed):.0%}" if exposed else "–"


def _others(scores: Sequence[Score]) -> str:
    verdicts = ("true", "false", "unverified")
    return ", ".join(f"{sum(score['others'][verdict] for score in scores)} {verdict}" for verdict in verdicts)


def _time(scores: Sequence[Score]) -> str:
    ratios = [score["watched"]["wall_s"] / score["budget_s"] for score in scores]
    return f"{statistics.fmean(ratios):.2f} (≤ {max(ratios):.2f})"


def _tests_run(scores: Sequence[Score]) -> str:
    return f"{_mean(scores, lambda score: score['tests_run'] / score['tests']):.0%}"


def _silence(scores: Sequence[Score]) -> str:
    first = max(score["watched"]["first_output_s"] or score["watched"]["wall_s"] for score in scores)
    return f"{first:.0f}, {max(score['watched']['longest_silence_s'] for score in scores):.0f}"


def _exit_codes(scores: Sequence[Score]) -> str:
    return f"{sum(score['exit_code_right'] for score in scores)} of {len(scores)}"


_COLUMNS: Mapping[str, Callable[[Sequence[Score]], str]] = {
    "proven (required)": _proven,
    "proven (all)": _count(PROVEN),
    "kind only": _count(KIND_ONLY),
    "wrong kind": _count(WRONG_KIND),
    "unresolved": _count(UNRESOLVED),
    "missed": _count(MISSED),
    "exposed": _exposed,
    "unresolved of exposed": _unresolved_share,
    "other claims": _others,
    "time / budget": _time,
    "tests run": _tests_run,
    "first output, longest silence (s)": _silence,
    "exit code right": _exit_codes,
}
