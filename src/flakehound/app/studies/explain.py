"""`flakehound study explain`: what a model of a table looks at, feature by feature and test by test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from flakehound.app.data.problems import chosen_problem
from flakehound.app.data.tables import read_table
from flakehound.app.progress import Progress
from flakehound.learn.extras import Array, requires_libraries
from flakehound.learn.models.explanation import (
    mcc_with_fewer_features,
    rank_features,
    reason_for_test,
    shap_values,
)
from flakehound.learn.models.pipelines import Pipeline
from flakehound.learn.tables.dataset import Dataset
from flakehound.learn.tables.problems import Problem
from flakehound.report.study.explain import ExplainedTest, ExplainStudy

SCHEMA = "flakehound/study-explain/1"
SIZES = (15, 12, 9, 6, 3)  # numbers of features that `--retrain` trains with
PIPELINE = Pipeline(classifier="extra-trees", trees=100, balancing="smote")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainStudyOptions:
    """The options of `flakehound study explain`."""

    table: Path
    columns: str | None  # a known column mapping, or a JSON file; None: by the table's name
    problem: str | None  # None: the first that the table can teach
    tests: int  # to explain, drawn at random
    retrain: bool
    seed: int


@requires_libraries("sklearn", "imblearn", "shap")
def run_explain_study(options: ExplainStudyOptions, progress: Progress) -> ExplainStudy:
    """Every contribution of every feature, as `flakehound/study-explain/1`."""
    import numpy as np

    data = read_table(options.table, options.columns)
    problem = chosen_problem(data, options.problem, options.table)
    domain = data.labels(problem).domain
    places = np.sort(np.random.default_rng(options.seed).permutation(len(domain))[: options.tests])
    progress.message(f"{len(domain)} tests, training a model and explaining {len(places)} of them ...")
    sizes = [size for size in SIZES if size <= len(data.features)] if options.retrain else []
    progress.show_steps("trainings", 0, 1 + len(sizes))
    found = shap_values(data, problem, PIPELINE, options.seed, places)
    ranked = rank_features(data.features, found.contributions)
    names = [one.feature for one in ranked]
    return {
        "schema": SCHEMA,
        "table": data.name,
        "problem": problem.value,
        "seed": options.seed,
        "expected": found.expected,
        "features": list(data.features),
        "ranking": [{"feature": one.feature, "mean": one.mean} for one in ranked],
        "top": _train_with_fewer(data, problem, names, sizes, options.seed, progress),
        "tests": list(_explained_tests(data, domain[places], found.contributions)),
    }


def _train_with_fewer(
    data: Dataset, problem: Problem, ranked: Sequence[str], sizes: Sequence[int], seed: int, progress: Progress
) -> dict[int, float | None]:
    """MCC of models that are trained with only the strongest features, by the number of features."""
    mcc_by_size: dict[int, float | None] = {}
    for number, size in enumerate(sizes, start=1):
        progress.message(f"training with the {size} strongest features ...")
        progress.show_steps("trainings", number, 1 + len(sizes))
        mcc_by_size |= mcc_with_fewer_features(data, problem, PIPELINE, ranked, [size], seed)
    return mcc_by_size


def _explained_tests(data: Dataset, places: Array, contributions: Array) -> Iterator[ExplainedTest]:
    for place, own in zip(places, contributions, strict=True):
        yield {
            "id": data.ids[place],
            "values": data.values[place].tolist(),
            "shap": own.round(5).tolist(),
            "why": reason_for_test(data.features, data.values[place], own),
        }
