"""`flakehound study explain`: how much each feature contributes to the predictions of a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from flakehound.app.data.problems import choose_problem
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
FEATURE_COUNTS = (15, 12, 9, 6, 3)  # numbers of features that `--retrain` trains with
PIPELINE = Pipeline(classifier="extra-trees", trees=100, balancing="smote")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainStudyOptions:
    """The options of `flakehound study explain`."""

    table: Path
    columns: str | None  # a known column mapping, or a JSON file; None: by the table's name
    problem: str | None  # None: the first that can be learned from the table
    tests: int  # to explain, drawn at random
    retrain: bool
    seed: int


@requires_libraries("sklearn", "imblearn", "shap")
def run_explain_study(options: ExplainStudyOptions, progress: Progress) -> ExplainStudy:
    """The contributions of all features, as `flakehound/study-explain/1`."""
    import numpy as np

    data = read_table(options.table, options.columns)
    problem = choose_problem(data, options.problem, options.table)
    domain = data.labels(problem).domain
    drawn = np.sort(np.random.default_rng(options.seed).permutation(len(domain))[: options.tests])
    progress.message(f"{len(domain)} tests, training a model and explaining {len(drawn)} of them ...")
    sizes = [size for size in FEATURE_COUNTS if size <= len(data.features)] if options.retrain else []
    progress.show_steps("trainings", 0, 1 + len(sizes))
    shap = shap_values(data, problem, PIPELINE, options.seed, drawn)
    ranked = rank_features(data.features, shap.contributions)
    names = [rank.feature for rank in ranked]
    return {
        "schema": SCHEMA,
        "table": data.name,
        "problem": problem.value,
        "seed": options.seed,
        "expected": shap.expected,
        "features": list(data.features),
        "ranking": [{"feature": rank.feature, "mean": rank.mean} for rank in ranked],
        "top": _train_with_fewer(data, problem, names, sizes, options.seed, progress),
        "tests": list(_explained_tests(data, domain[drawn], shap.contributions)),
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


def _explained_tests(data: Dataset, rows: Array, contributions: Array) -> Iterator[ExplainedTest]:
    for row, own_contributions in zip(rows, contributions, strict=True):
        yield {
            "id": data.ids[row],
            "values": data.values[row].tolist(),
            "shap": own_contributions.round(5).tolist(),
            "why": reason_for_test(data.features, data.values[row], own_contributions),
        }
