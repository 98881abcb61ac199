"""Models trained from random weights."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Context, Part, in_each
from flakehound.lint.rules._values import told
from flakehound.lint.rules.unseeded_randomness import SEEDS

_FRAMEWORKS = frozenset(
    (
        "torch",
        "tensorflow",
        "keras",
        "mxnet",
        "sklearn",
        "xgboost",
        "lightgbm",
        "gensim",
        "skopt",
        "hyperopt",
        "chainer",
    )
)
_LEARNING = frozenset(
    ("fit", "fit_generator", "fit_transform", "fit_predict", "partial_fit", "train", "train_on_batch", "backward")
)
_SEARCHING = (
    "scipy.optimize.differential_evolution",
    "scipy.optimize.basinhopping",
    "scipy.optimize.dual_annealing",
)


def _look(part: Part) -> Iterator[Sign]:
    modern = not part.surroundings.roots.isdisjoint(_FRAMEWORKS)
    for call in part.sights.calls:
        if (modern and call.last in _LEARNING) or (
            call.name.startswith(_SEARCHING) and call.keyword("seed") is None
        ):
            yield told(call, "{} starts from random weights or splits")


def _states_given(context: Context) -> bool:
    return any(call.keyword("random_state") is not None for part in context.own for call in part.sights.calls)


def _is_seeded(context: Context) -> bool:
    seeds = tuple(seed for names in SEEDS.values() for seed in names)
    return context.guarded(*seeds, "seed_everything") or _states_given(context)


RULE = Rule(
    id="FH104",
    name="unseeded-training",
    cause=Cause.RANDOMNESS,
    title="A model is trained without a seed",
    why="Weights start at random, and now and then the training ends in a bad optimum below the asserted score.",
    fix="Seed the framework (`torch.manual_seed`, `tf.random.set_seed`) or pass `random_state=`.",
    bad="from sklearn.cluster import KMeans\n\ndef test_fit(points):\n    assert "
    "KMeans(2).fit(points).inertia_ < 3\n",
    good="from sklearn.cluster import KMeans\n\ndef test_fit(points):\n"
    "    assert KMeans(2, random_state=7).fit(points).inertia_ < 3\n",
    check=in_each(_look, far=True, unless=_is_seeded),
)
