"""Tables and a picture of the results of hunts in large suites."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from large_score import FLAKY_KINDS, KIND_ONLY, MISSED, PROVEN, UNRESOLVED, WRONG_KIND

Score = Mapping[str, Any]
MAX_NOTES = 20


def budgets_of(scores: Sequence[Score]) -> list[str]:
    """The budgets as they were given, the shortest first."""
    longest_s = {score["budget"]: 0.0 for score in scores}
    for score in scores:
        longest_s[score["budget"]] = max(longest_s[score["budget"]], score["budget_s"])
    return sorted(longest_s, key=lambda budget: longest_s[budget])


def conditions_of(scores: Sequence[Score]) -> str:
    """How the hunts were made, in a few lines."""
    suites = {
        score["suite"]: f"{score['suite']} ({score['tests']} tests, {score['suite_s']:.0f} s)" for score in scores
    }
    loads = [score["load"] for score in scores]
    return (
        f"- {len(scores)} hunts in {', '.join(suites.values())}; seconds: CPU time of one plain run\n"
        f"- load of the machine before a hunt: {min(loads):.1f} to {max(loads):.1f}\n"
        "- proven: right kind and all culprits; required: all plants except NOD tests that fail in less than 5 %\n"
        "- moments of proofs are recomputed from the stored runs (`large_store.py`)"
    )


def goals_of(scores: Sequence[Score]) -> str:
    """A table of the goals with what was measured; only for budgets that were used."""
    rows = ["| job | measured | goal | met |", "|---|---|---|---|"]
    for budget in budgets_of(scores):
        chosen = [score for score in scores if score["budget"] == budget]
        for name, measured, goal, met in _goals(budget, chosen):
            rows.append(f"| {budget}: {name} | {measured} | {goal} | {'yes' if met else '**no**'} |")
    return "\n".join(rows)


def _goals(budget: str, scores: Sequence[Score]) -> Iterator[tuple[str, str, str, bool]]:
    if budget in (goals := {"10m": 0.6, "30m": 0.9}):
        share = _proven_share(scores)
        yield "required plants proven", f"{share:.0%}", f"≥ {goals[budget]:.0%}", share >= goals[budget]
    if budget == "30m":
        share = _unresolved_of_exposed(scores) or 0.0
        yield "exposed plants that stay unresolved", f"{share:.0%}", "≤ 5 %", share <= 0.05
    if budget == "third":
        least = min(score["tests_run"] / score["tests"] for score in scores)
        yield "tests run at least once", f"≥ {least:.0%}", "≥ 25 %", least >= 0.25
    false = sum(score["others"]["false"] for score in scores)
    yield "false claims", str(false), "0", false == 0
    kept = sum(score["watched"]["wall_s"] <= 1.05 * score["budget_s"] + 5 for score in scores)
    yield "time kept (1.05 T + 5 s)", f"{kept} of {len(scores)}", "all", kept == len(scores)
    right = sum(score["exit_code_right"] for score in scores)
    yield "exit code right", f"{right} of {len(scores)}", "all", right == len(scores)


def kinds_of(scores: Sequence[Score]) -> str:
    """A table of what was proven of each kind and source."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for plant in (plant for score in scores for plant in score["plants"]):
        groups.setdefault(_group(plant), []).append(plant)
    rows = ["| planted | tests | exposed | proven | what became of the others |", "|---|---|---|---|---|"]
    for name, plants in sorted(groups.items()):
        others = Counter(
            f"{plant['result']} ({plant['reported']})" if _is(plant, WRONG_KIND) else plant["result"]
            for plant in plants
            if not _is(plant, PROVEN)
        )
        counts = [len(plants), sum(plant["exposed"] for plant in plants), sum(_is(p, PROVEN) for p in plants)]
        left = ", ".join(f"{number} {result}" for result, number in others.most_common())
        rows.append(f"| {name} | {' | '.join(map(str, counts))} | {left or '–'} |")
    return "\n".join(rows)


def _group(plant: Mapping[str, Any]) -> str:
    if plant["kind"] == "nod":
        return (
            f"nod, {plant['rate']:.0%}, by {plant['via']}" if plant["by_process"] else f"nod, {plant['rate']:.0%}"
        )
    return "joint victim" if plant["joint"] else str(plant["kind"])


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

    budgets = budgets_of(scores)
    figure, parts = pyplot.subplots(1, len(budgets), figsize=(5.5 * len(budgets), 4), squeeze=False)
    for part, budget in zip(parts[0], budgets, strict=True):
        chosen = [score for score in scores if score["budget"] == budget]
        for name in sorted({score["suite"] for score in chosen}):
            times, numbers = _curve([score for score in chosen if score["suite"] == name])
            part.step([time_s / 60 for time_s in times], numbers, where="post", label=name)
        planted = _mean(chosen, lambda score: len(score["plants"]))
        part.axhline(planted, color="grey", linestyle=":", linewidth=1, label="all planted tests")
        top = 1.08 * planted
        part.set(title=f"budget {budget}", xlabel="minutes", ylabel="proven planted tests, mean", ylim=(0, top))
        part.legend(loc="upper left", bbox_to_anchor=(0.0, 0.93), fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _curve(scores: Sequence[Score]) -> tuple[list[float], list[float]]:
    """The mean number of proven plants after each moment at which one was proven."""
    moments = sorted(plant["proven_s"] for score in scores for plant in score["plants"] if _is(plant, PROVEN))
    numbers = [(index + 1) / len(scores) for index in range(len(moments))]
    end_s = max(score["watched"]["wall_s"] for score in scores)
    return [0.0, *moments, max(end_s, *moments, 0.0)], [0.0, *numbers, numbers[-1] if numbers else 0.0]


def _is(plant: Mapping[str, Any], result: str) -> bool:
    return bool(plant["result"] == result)


def _mean(scores: Sequence[Score], figure: Callable[[Score], float]) -> float:
    return statistics.fmean(figure(score) for score in scores)


def _required(score: Score) -> list[Mapping[str, Any]]:
    return [plant for plant in score["plants"] if plant["required"]]


def _proven_share(scores: Sequence[Score]) -> float:
    """The mean over hunts."""
    return _mean(scores, lambda score: _number_proven(score) / max(1, len(_required(score))))


def _number_proven(score: Score) -> int:
    return sum(_is(plant, PROVEN) for plant in _required(score))


def _proven(scores: Sequence[Score]) -> str:
    required = _mean(scores, lambda score: len(_required(score)))
    return f"{_mean(scores, _number_proven):.1f} of {required:.1f} ({_proven_share(scores):.0%})"


def _count(*results: str) -> Callable[[Sequence[Score]], str]:
    def column(scores: Sequence[Score]) -> str:
        return f"{_mean(scores, lambda score: sum(plant['result'] in results for plant in score['plants'])):.1f}"

    return column


def _exposed(scores: Sequence[Score]) -> str:
    return f"{_mean(scores, lambda score: sum(plant['exposed'] for plant in score['plants'])):.1f}"


def _unresolved_of_exposed(scores: Sequence[Score]) -> float | None:
    """The share of the plants seen failing that the report does not call flaky; None: none was seen failing.

    A plant that is said to fail always counts as unresolved too.
    """
    exposed = [plant for score in scores for plant in score["plants"] if plant["exposed"]]
    unresolved = sum(plant["reported"] not in FLAKY_KINDS for plant in exposed)
    return unresolved / len(exposed) if exposed else None


def _unresolved_share(scores: Sequence[Score]) -> str:
    share = _unresolved_of_exposed(scores)
    return "–" if share is None else f"{share:.0%}"


def _own_tests(scores: Sequence[Score]) -> str:
    kinds = {"unresolved_others": "unresolved", "failing_others": "failing"}
    return ", ".join(f"{sum(score[key] for score in scores)} {kind}" for key, kind in kinds.items())


def _report_size(scores: Sequence[Score]) -> str:
    return f"{_mean(scores, lambda score: score['report_bytes']) / 1e6:.1f}"


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
    "the suite's own tests": _own_tests,
    "time / budget": _time,
    "tests run": _tests_run,
    "first output, longest silence (s)": _silence,
    "JSON (MB)": _report_size,
    "exit code right": _exit_codes,
}
