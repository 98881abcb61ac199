"""Small tables of tests: written by hand, or drawn with a seed."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import numpy as np

from flakehound.learn.tables.column_mapping import ColumnMapping
from flakehound.learn.tables.dataset import Dataset
from flakehound.learn.tables.reading import dataset_from

COLUMNS = ColumnMapping(label="flaky")


def table(text: str, columns: ColumnMapping = COLUMNS, name: str = "table.csv") -> Dataset:
    """The data set in a few lines of CSV; blanks around the lines are removed."""
    lines = [line.strip() for line in text.strip().splitlines()]
    reader = csv.DictReader(io.StringIO("\n".join(lines) + "\n"))
    return dataset_from(name, reader.fieldnames or (), reader, columns)


def draw_table(
    tests: int = 200,
    projects: Sequence[str] = ("a", "b", "c"),
    share: float = 0.2,
    seed: int = 1,
    noise: float = 1.0,
) -> Dataset:
    """Tests whose first feature separates flaky ones, with some noise; the other two are random."""
    rng = np.random.default_rng(seed)
    label = (rng.random(tests) < share).astype(int)
    values = rng.normal(size=(tests, 3))
    values[:, 0] = 2 * label + noise * values[:, 0]
    return Dataset(
        name="drawn",
        ids=np.array([f"t{i}" for i in range(tests)], dtype=object),
        projects=np.array([projects[i % len(projects)] for i in range(tests)], dtype=object),
        features=("signal", "noise", "more_noise"),
        values=values,
        label=label,
    )
