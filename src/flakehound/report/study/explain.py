"""Which features a model uses, as text and as a beeswarm plot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypedDict

from flakehound.report.study.tables import markdown_table

_MAX_SHOWN_TESTS = 5


class FeatureRank(TypedDict):
    """A feature and its mean absolute contribution."""

    feature: str
    mean: float


class ExplainedTest(TypedDict):
    """One test: its feature values, and what each contributes to the probability that it is positive."""

    id: str
    values: list[float]
    shap: list[float]
    why: str


class ExplainStudy(TypedDict):
    """The JSON object `flakehound/study-explain/1`."""

    schema: str
    table: str
    problem: str
    seed: int
    expected: float  # the mean probability; with a test's contributions it adds up to the test's probability
    features: list[str]
    ranking: list[FeatureRank]
    top: dict[int, float | None]  # MCC with only this many of the strongest features
    tests: list[ExplainedTest]


def explained_lines(study: ExplainStudy) -> Iterator[str]:
    """The ranked features, and a line for each of the tests with the highest probability."""
    yield f"{study['table']}, {study['problem']}: {len(study['tests'])} tests explained, seed {study['seed']}"
    yield ""
    ranking = [[rank["feature"], f"{rank['mean']:.4f}"] for rank in study["ranking"]]
    yield from markdown_table(["feature", "mean |SHAP|"], ranking)
    for size, mcc in study["top"].items():
        yield f"the {size} strongest alone: MCC {'undefined' if mcc is None else f'{mcc:.3f}'}"
    likeliest = sorted(study["tests"], key=lambda test: -sum(test["shap"]))[:_MAX_SHOWN_TESTS]
    for test in likeliest:
        yield f"{study['expected'] + sum(test['shap']):.2f}  {test['id']}: {test['why']}"


def plot_swarm(study: ExplainStudy, path: Path) -> None:
    """One row per feature, one dot per test, coloured by the rank of the feature's value."""
    from matplotlib.figure import Figure  # not pyplot, which may need a display

    figure = Figure(figsize=(7.0, 1.0 + 0.3 * len(study["features"])), layout="constrained")
    axes = figure.add_subplot()
    names = [rank["feature"] for rank in reversed(study["ranking"])]
    for row, name in enumerate(names):
        column = study["features"].index(name)
        contributions = [test["shap"][column] for test in study["tests"]]
        heights = [row + 0.6 * ((number * 0.618) % 1 - 0.5) for number in range(len(contributions))]
        colours = _value_ranks([test["values"][column] for test in study["tests"]])
        dots = axes.scatter(contributions, heights, s=4, c=colours, cmap="coolwarm", vmin=0, vmax=1)
    axes.axvline(0, color="grey", linewidth=0.5, zorder=0)
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("contribution to the probability")
    legend = figure.colorbar(dots, ax=axes, ticks=(0, 1), label="the test's value of the feature", aspect=40)
    legend.ax.set_yticklabels(["low", "high"])
    figure.savefig(path, dpi=150)


def _value_ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value among the distinct values, from 0 to 1."""
    distinct = sorted(set(values))
    ranks = {value: rank / max(1, len(distinct) - 1) for rank, value in enumerate(distinct)}
    return [ranks[value] for value in values]
