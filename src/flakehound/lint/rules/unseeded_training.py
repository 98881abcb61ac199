"""A model is trained without a seed."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import CaseContext, ReachedFunction
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules.unseeded_randomness import SEEDS

_FRAMEWORKS = frozenset(
    {
        "chainer",
        "gensim",
        "hyperopt",
        "keras",
        "lightgbm",
        "mxnet",
        "sklearn",
        "skopt",
        "tensorflow",
        "torch",
        "xgboost",
    }
)
_TRAINING_METHODS = frozenset(
    {
        "backward",
        "fit",
        "fit_generator",
        "fit_predict",
        "fit_transform",
        "partial_fit",
        "train",
        "train_on_batch",
    }
)
_RANDOM_OPTIMISERS = (
    "scipy.optimize.basinhopping",
    "scipy.optimize.differential_evolution",
    "scipy.optimize.dual_annealing",
)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    imports_framework = not function.module.imported_packages.isdisjoint(_FRAMEWORKS)
    for call in function.facts.calls:
        if (imports_framework and call.short_name in _TRAINING_METHODS) or (
            call.name.startswith(_RANDOM_OPTIMISERS) and call.keyword("seed") is None
        ):
            yield sign_for(call, "{} starts from random weights or splits")


def _has_random_state(context: CaseContext) -> bool:
    return any(
        call.keyword("random_state") is not None for function in context.test_code for call in function.facts.calls
    )


def _is_seeded(context: CaseContext) -> bool:
    seeds = tuple(seed for names in SEEDS.values() for seed in names)
    return context.uses(*seeds, "seed_everything") or _has_random_state(context)


RULE = LintRule(
    id="FH104",
    name="unseeded-training",
    cause=Cause.RANDOMNESS,
    title="A model is trained without a seed",
    why="Weights start at random, and some trainings end below the asserted score.",
    fix="Seed the framework (`torch.manual_seed`, `tf.random.set_seed`) or pass `random_state=`.",
    bad="from sklearn.cluster import KMeans\n\ndef test_fit(points):\n    assert "
    "KMeans(2).fit(points).inertia_ < 3\n",
    good="from sklearn.cluster import KMeans\n\ndef test_fit(points):\n"
    "    assert KMeans(2, random_state=7).fit(points).inertia_ < 3\n",
    check=in_each_function(_find, in_far_calls=True, unless=_is_seeded),
)
