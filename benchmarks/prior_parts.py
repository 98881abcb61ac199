"""What the parts of the index's prior are worth, alone and together: lint's score, measured features, calls.

On the tests that `measured_training.py` measured and traced, with what Gruber et al. (2021) saw of them. Every
score is of a model that never saw the project: lint's in five folds, that of features with each project left out.
The slopes say how much of each part's log odds is left once the others are known: 1 where they are independent.

    python benchmarks/prior_parts.py --work DIR [--cache SDISTS] [--data ../shared/data] [--write]

With --write the NOD part becomes the table that `flakehound study policies --scores parts` draws from.
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
from lint_recall import CACHE, DATA, jobs_for, project_of

import flakehound.learn
from flakehound.core.statistics.prevalence import CALLS_ODDS_RATIO
from flakehound.features.vectors import without_parameters
from flakehound.learn.evaluation.prior_table import COLUMNS, FILE
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

OUT = Path(flakehound.learn.__file__).parent / "facts" / FILE
KINDS = {NOD: Problem.NOD_VS_REST, ORDER_DEPENDENT: Problem.VICTIM_VS_REST}
RESAMPLED = 200
HELD_BACK = 1.0  # a prior of deviation 1 around 0, on each slope


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Log odds by part, labels and projects of the same tests."""

    odds: Mapping[str, Any]
    positive: Any
    projects: Any


def rows_in(work: Path, name: str) -> dict[str, list[dict[str, str]]]:
    """By project, the rows of one of its files."""
    found = {}
    for path in sorted((work / "tables").glob(f"*/{name}")):
        with path.open(newline="", encoding="utf-8") as file:
            found[path.parent.name] = list(csv.DictReader(file))
    return found


def lint_odds(data: Path, cache: Path, projects: set[str], kind: str) -> dict[tuple[str, str], float]:
    """By project and test without parameters."""
    samples = shipped_samples(shipped_bytes())
    by_project: dict[str, list[float]] = {}
    for sample, chance in zip(samples, unseen_chances(samples, kind), strict=True):
        by_project.setdefault(sample.project, []).append(math.log(chance / (1 - chance)))
    found = {}
    for job in jobs_for(data, cache, offline=True):
        project = project_of(job) if job[0] in projects & by_project.keys() else None
        if project is None:
            continue
        tests = [test.row.test_id for module in project.test_modules() for test in analyse_file(project, module)]
        if len(tests) != len(by_project[job[0]]):
            print(f"{job[0]}: {len(tests)} tests in the sources, {len(by_project[job[0]])} in the table; left out")
            continue
        found |= {(job[0], test): odds for test, odds in zip(tests, by_project[job[0]], strict=True)}
    return found


def parts_of(work: Path, data: Path, cache: Path, kind: str) -> Parts:
    tables, calls = rows_in(work, "tests.csv"), rows_in(work, "calls.csv")
    rows = [row for table in tables.values() for row in table]
    table = dataset_from(
        "measured", list(rows[0]), [{**row, "polluter": "0"} for row in rows], KNOWN_MAPPINGS["flakehound"]
    )
    labels = table.labels(KINDS[kind])
    called = {(name, row["id"]): row["calls"] == "1" for name, found in calls.items() for row in found}
    linted = lint_odds(data, cache, set(tables), kind)
    model = fit_measured_model(table, ranks_within_projects(table), KINDS[kind])
    apart = np.clip(model.unseen_probabilities, 1e-6, 1 - 1e-6)
    keys = list(zip(table.projects, table.ids, strict=True))
    known = [
        at
        for at, (project, test) in enumerate(keys)
        if (project, without_parameters(test)) in linted and (project, test) in called
    ]
    odds = {
        "lint": np.array([linted[keys[at][0], without_parameters(keys[at][1])] for at in known]),
        "features": np.log(apart / (1 - apart))[known],
        "calls": np.array([math.log(CALLS_ODDS_RATIO[called[keys[at]]]) for at in known]),
    }
    return Parts(odds=odds, positive=labels.positive[known], projects=table.projects[known].astype(str))


def written(parts: Parts) -> bytes:
    """The table of COLUMNS: by lint and by features how many times the odds of an average test each has."""
    samples = [sample for sample in shipped_samples(shipped_bytes()) if sample.learned]
    nod = sum(sample.nod for sample in samples)
    base = math.log(nod / (len(samples) - nod))
    trust = fit_trust(1 / (1 + np.exp(-parts.odds["features"])), parts.positive, parts.projects)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for at, project in enumerate(parts.projects):
        lint, features = math.exp(parts.odds["lint"][at] - base), math.exp(trust * parts.odds["features"][at])
        calls = int(parts.odds["calls"][at] > 0)
        writer.writerow([project, int(parts.positive[at]), f"{lint:.4g}", f"{features:.4g}", calls])
    return gzip.compress(text.getvalue().encode(), 9, mtime=0)


def slopes(columns: Sequence[Any], positive: Any, shares: Any) -> Any:
    """Logistic regression with a free constant; the slopes are held back."""
    table = np.column_stack([np.ones(len(positive)), *columns])
    held, weights = np.diag([1e-9, *[HELD_BACK] * len(columns)]), np.zeros(table.shape[1])
    for _ in range(50):
        chances = 1 / (1 + np.exp(-np.clip(table @ weights, -60, 60)))
        step = np.linalg.solve(
            (table * (shares * chances * (1 - chances))[:, None]).T @ table + held,
            table.T @ (shares * (positive - chances)) - held @ weights,
        )
        weights = weights + step
    return weights[1:]


def told(parts: Parts, kind: str) -> None:
    positive, projects = parts.positive, parts.projects
    print(
        f"\n{kind}: {len(positive)} tests of {len(set(projects))} projects, {int(positive.sum())} positive "
        f"in {len(set(projects[positive == 1]))}"
    )
    names = list(parts.odds)
    for chosen in ([one] for one in names):
        print(f"  AUC of {chosen[0]}: {area_under_curve(positive, parts.odds[chosen[0]]):.3f}")
    for chosen in (names[:2], [names[0], names[2]], names):
        total = sum(parts.odds[name] for name in chosen)
        print(f"  AUC of {' + '.join(chosen)}: {area_under_curve(positive, total):.3f}")
    for chosen in (*([one] for one in names), names[:2], [names[0], names[2]], names):
        own = slopes([parts.odds[name] for name in chosen], positive, balanced_weights(positive, projects))
        rng, drawn = np.random.default_rng(1), []
        unique = np.unique(projects)
        for _ in range(RESAMPLED):
            picked = rng.choice(unique, len(unique))
            at = np.concatenate([np.flatnonzero(projects == name) for name in picked])
            labels = np.concatenate([np.full((projects == n).sum(), k) for k, n in enumerate(picked)])
            if positive[at].sum():
                shares = balanced_weights(positive[at], labels)
                drawn.append(slopes([parts.odds[name][at] for name in chosen], positive[at], shares))
        low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
        words = ", ".join(
            f"{n} {s:.2f} ({a:.2f}–{b:.2f})" for n, s, a, b in zip(chosen, own, low, high, strict=True)
        )
        print(f"  slopes: {words}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True, help="folder of measured_training.py")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder of the sources (default %(default)s)")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--write", action="store_true", help=f"write {OUT}")
    asked = parser.parse_args()
    found = {kind: parts_of(asked.work, asked.data, asked.cache, kind) for kind in KINDS}
    for kind, parts in found.items():
        told(parts, kind)
    if asked.write:
        OUT.write_bytes(written(found[NOD]))
        print(f"\n{OUT.stat().st_size:,} bytes: {OUT}")


if __name__ == "__main__":
    main()
