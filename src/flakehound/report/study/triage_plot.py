"""Plot how often changes are disjoint from tests, one box per project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

_INCHES_PER_BOX = 1.1


def plot_shares(shares: Mapping[str, Sequence[float]], path: Path) -> None:
    """Boxes as in the thesis: quartiles and median, whiskers at the 10th and 90th percentile, outliers as dots."""
    from matplotlib.figure import Figure  # not pyplot, which may need a display

    figure = Figure(figsize=(2.4 + _INCHES_PER_BOX * len(shares), 4.0), layout="constrained")
    axes = figure.add_subplot()
    axes.boxplot(list(shares.values()), whis=(10, 90), medianprops={"color": "red"}, flierprops={"marker": "."})
    axes.set_xticks(range(1, len(shares) + 1), [f"{name}\n{len(values)} tests" for name, values in shares.items()])
    axes.set_ylim(-3, 103)
    axes.set_ylabel("changes disjoint from a test, %")
    axes.grid(axis="y", alpha=0.3)
    figure.savefig(path, dpi=150)
