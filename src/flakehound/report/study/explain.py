"""What a model looks at, as text and as a beeswarm; takes the `flakehound/study-explain/1` object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flakehound.report.study.tables import markdown

_SHOWN = 5


def explained_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """The ranking, and a line for the likeliest tests."""
    yield f"{told['table']}, {told['problem']}: {len(told['tests'])} tests explained, seed {told['seed']}"
    yield ""
    yield from markdown(
        ["feature", "mean |SHAP|"], [[one["feature"], f"{one['mean']:.4f}"] for one in told["ranking"]]
    )
    for size, mcc in told["top"].items():
        yield f"the {size} strongest alone: MCC {'undefined' if mcc is None else f'{mcc:.3f}'}"
    likeliest = sorted(told["tests"], key=lambda one: -sum(one["shap"]))[:_SHOWN]
    yield from (f"{told['expected'] + sum(one['shap']):.2f}  {one['id']}: {one['why']}" for one in likeliest)


def plot_swarm(told: Mapping[str, Any], path: Path) -> None:
    """One row per feature, one dot per test, coloured by the feature's value among the others."""
    from matplotlib.figure import Figure  # without pyplot: touches no display

    figure = Figure(figsize=(7.0, 1.0 + 0.3 * len(told["features"])), layout="constrained")
    axes = figure.add_subplot()
    names = [one["feature"] for one in reversed(told["ranking"])]
    for row, name in enumerate(names):
        column = told["features"].index(name)
        values = [test["values"][column] for test in told["tests"]]
        different = sorted(set(values))
        ranks = {value: rank / max(1, len(different) - 1) for rank, value in enumerate(different)}
        heights = [row + 0.6 * ((number * 0.618) % 1 - 0.5) for number in range(len(values))]
        shap = [test["shap"][column] for test in told["tests"]]
        colours = [ranks[value] for value in values]
        dots = axes.scatter(shap, heights, s=4, c=colours, cmap="coolwarm", vmin=0, vmax=1)
    axes.axvline(0, color="grey", linewidth=0.5, zorder=0)
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("contribution to the probability")
    legend = figure.colorbar(dots, ax=axes, ticks=(0, 1), label="the test's value of the feature", aspect=40)
    legend.ax.set_yticklabels(["low", "high"])
    figure.savefig(path, dpi=150)
