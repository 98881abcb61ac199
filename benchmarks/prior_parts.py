"""How well the parts of the index's prior rank flaky tests, alone and together: lint's score, features, calls.

Uses the tests that `measured_training.py` measured and traced, with the labels of Gruber et al. (2021). Every
score comes from a model that never saw the project: lint's in five folds, that of features with each project left
out. A slope is the share of a part's log odds that remains when the other parts are known; 1 if they are
independent.

    python benchmarks/prior_parts.py --work DIR [--cache SDISTS] [--data ../shared/data] [--write]

With --write the NOD part becomes the table from which `flakehound study policies --scores parts` draws.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from flaky_sources import CACHE, DATA, parse_project, projects_with_sources

import flakehound.learn
from flakehound.core.statistics.prevalence import CALLS_ODDS_RATIO
from flakehound.features.vectors import without_parameters
from flakehound.learn.evaluation.prior_table import COLUMNS, TABLE_FILE
from flakehound.learn.evaluation.scores import area_under_curve
from flakehound.learn.measured.model import balanced_weights, fit_measured_model, fit_trust
from flakehound.learn.static.model import NOD, ORDER_DEPENDENT
from flakehound.learn.static.table import shipped_bytes, shipped_samples
from flakehound.learn.static.unseen import unseen_chances
from flakehound.learn.tables.column_mapping import KNOWN_MAPPINGS
from flakehound.learn.tables.problems import Problem
from flakehound.learn.tables.ranks import ranks_within_projects
from flakehound.learn.tables.reading import dataset_from
from flakehound.lint.analyse import analyse_file

OUT = Path(flakehound.learn.__file__).parent / "facts" / TABLE_FILE
KINDS = {NOD: Problem.NOD_VS_REST, ORDER_DEPENDENT: Problem.VICTIM_VS_REST}
RESAMPLES = 200
SLOPE_PENALTY = 1.0  # a prior with mean 0 and deviation 1 on each slope


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Log odds by part, labels and projects of the same tests."""

    odds: Mapping[str, Any]
    positive: Any
    projects: Any


def rows_in(work: Path, name: str) -> dict[str, list[dict[str, str]]]:
    """The rows of one file of each project, by project."""
    rows = {}
    for path in sorted((work / "tables").glob(f"*/{name}")):
        with path.open(newline="", encoding="utf-8") as file:
            rows[path.parent.name] = list(csv.DictReader(file))
    return rows


def lint_odds(data: Path, cache: Path, projects: set[str], kind: str) -> dict[tuple[str, str], float]:
    """Log odds by lint's model, by project and test without parameters."""
    samples = shipped_samples(shipped_bytes())
    by_project: dict[str, list[float]] = {}
    for sample, chance in zip(samples, unseen_chances(samples, kind), strict=True):
        by_project.setdefault(sample.project, []).append(math.log(chance / (1 - chance)))
    by_test = {}
    for source in projects_with_sources(data, cache, offline=True):
        project = parse_project(source) if source.name in projects & by_project.keys() else None
        if project is None:
            continue
        tests = [test.row.test_id for module in project.test_modules() for test in analyse_file(project, module)]
        odds = by_project[source.name]
        if len(tests) != len(odds):
            print(f"{source.name}: {len(tests)} tests in the sources, {len(odds)} in the table; left out")
            continue
        by_test |= {(source.name, test): value for test, value in zip(tests, odds, strict=True)}
    return by_test


def read_parts(work: Path, data: Path, cache: Path, kind: str) -> Parts:
    """All tests that have a lint score, features and a trace."""
    tables, calls = rows_in(work, "tests.csv"), rows_in(work, "calls.csv")
    rows = [row for table in tables.values() for row in table]
    table = dataset_from(
        "measured", list(rows[0]), [{**row, "polluter": "0"} for row in rows], KNOWN_MAPPINGS["flakehound"]
    )
    labels = table.labels(KINDS[kind])
    calls_one = {(name, row["id"]): row["calls"] == "1" for name, rows in calls.items() for row in rows}
    by_lint = lint_odds(data, cache, set(tables), kind)
    model = fit_measured_model(table, ranks_within_projects(table), KINDS[kind])
    chances = np.clip(model.unseen_probabilities, 1e-6, 1 - 1e-6)
    ids = list(zip(table.projects, table.ids, strict=True))
    lint_ids = [(project, without_parameters(test)) for project, test in ids]
    known = [row for row in range(len(ids)) if lint_ids[row] in by_lint and ids[row] in calls_one]
    odds = {
        "lint": np.array([by_lint[lint_ids[row]] for row in known]),
        "features": np.log(chances / (1 - chances))[known],
        "calls": np.array([math.log(CALLS_ODDS_RATIO[calls_one[ids[row]]]) for row in known]),
    }
    return Parts(odds=odds, positive=labels.positive[known], projects=table.projects[known].astype(str))


def packed_table(parts: Parts) -> bytes:
    """The table of COLUMNS, with the odds by lint and by features relative to those of an average test."""
    samples = [sample for sample in shipped_samples(shipped_bytes()) if sample.learned]
    nod = sum(sample.nod for sample in samples)
    base = math.log(nod / (len(samples) - nod))
    trust = fit_trust(1 / (1 + np.exp(-parts.odds["features"])), parts.positive, parts.projects)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row, project in enumerate(parts.projects):
        lint, features = math.exp(parts.odds["lint"][row] - base), math.exp(trust * parts.odds["features"][row])
        calls = int(parts.odds["calls"][row] > 0)
        writer.writerow([project, int(parts.positive[row]), f"{lint:.4g}", f"{features:.4g}", calls])
    return gzip.compress(text.getvalue().encode(), 9, mtime=0)


def fit_slopes(columns: Sequence[Any], positive: Any, weights: Any) -> Any:
    """Weighted logistic regression; the slopes have a quadratic penalty, the constant has none."""
    table = np.column_stack([np.ones(len(positive)), *columns])
    penalty, coefficients = np.diag([1e-9, *[SLOPE_PENALTY] * len(columns)]), np.zeros(table.shape[1])
    for _ in range(50):
        chances = 1 / (1 + np.exp(-np.clip(table @ coefficients, -60, 60)))
        step = np.linalg.solve(
            (table * (weights * chances * (1 - chances))[:, None]).T @ table + penalty,
            table.T @ (weights * (positive - chances)) - penalty @ coefficients,
        )
        coefficients = coefficients + step
    return coefficients[1:]


def print_figures(parts: Parts, kind: str) -> None:
    """AUC and slopes of each part, and of several parts together."""
    positive, projects = parts.positive, parts.projects
    print(
        f"\n{kind}: {len(positive)} tests of {len(set(projects))} projects, {int(positive.sum())} positive "
        f"in {len(set(projects[positive == 1]))}"
    )
    names = list(parts.odds)
    combinations = [*([name] for name in names), names[:2], [names[0], names[2]], names]
    for combination in combinations:
        total = sum(parts.odds[name] for name in combination)
        print(f"  AUC of {' + '.join(combination)}: {area_under_curve(positive, total):.3f}")
    for combination in combinations:
        columns = [parts.odds[name] for name in combination]
        slopes = fit_slopes(columns, positive, balanced_weights(positive, projects))
        low, high = np.quantile(resampled_slopes(columns, positive, projects), [0.025, 0.975], axis=0)
        figures = zip(combination, slopes, low, high, strict=True)
        print("  slopes: " + ", ".join(f"{name} {slope:.2f} ({a:.2f}–{b:.2f})" for name, slope, a, b in figures))


def resampled_slopes(columns: Sequence[Any], positive: Any, projects: Any) -> list[Any]:
    """Slopes of bootstrap samples, which draw whole projects; a project drawn twice counts as two."""
    rng, names = np.random.default_rng(1), np.unique(projects)
    slopes = []
    for _ in range(RESAMPLES):
        drawn = rng.choice(names, len(names))
        rows = np.concatenate([np.flatnonzero(projects == name) for name in drawn])
        project_numbers = np.concatenate([np.full((projects == name).sum(), k) for k, name in enumerate(drawn)])
        if positive[rows].sum():
            weights = balanced_weights(positive[rows], project_numbers)
            slopes.append(fit_slopes([column[rows] for column in columns], positive[rows], weights))
    return slopes


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True, help="folder of measured_training.py")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder of the sources (default %(default)s)")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--write", action="store_true", help=f"write {OUT}")
    options = parser.parse_args()
    by_kind = {kind: read_parts(options.work, options.data, options.cache, kind) for kind in KINDS}
    for kind, parts in by_kind.items():
        print_figures(parts, kind)
    if options.write:
        OUT.write_bytes(packed_table(by_kind[NOD]))
        print(f"\n{OUT.stat().st_size:,} bytes: {OUT}")


if __name__ == "__main__":
    main()
