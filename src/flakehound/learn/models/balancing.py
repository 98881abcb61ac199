"""Balance the training part of a fold; where a technique cannot run, say so and fall back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from flakehound.learn.extras import Array

NONE = "none"
# Of STATIC, in its order, then CANNIER's two combinations.
NAMES = (
    *(NONE, "near-miss-1", "near-miss-2", "near-miss-3", "random-under", "random-over", "smote", "adasyn"),
    *("borderline-smote", "smote-enn", "smote-tomek"),
)
OF_STATIC = NAMES[:9]
OF_CANNIER = ("smote", "smote-enn", "smote-tomek")
_NEIGHBOURS = 5
# What is tried in turn when a technique cannot run.
_FALLBACKS = {
    "near-miss-1": "random-under",
    "near-miss-2": "random-under",
    "near-miss-3": "random-under",
    "smote-enn": "smote",
    "smote-tomek": "smote",
    "borderline-smote": "smote",
    "adasyn": "smote",
    "smote": "random-over",
    "random-over": NONE,
    "random-under": NONE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BalancedPart:
    """A training part after balancing."""

    values: Array
    positive: Array
    used: str  # the technique that was used in the end
    problem: str = ""  # why it is not the one that was asked for


def balance(name: str, values: Array, positive: Array, seed: int) -> BalancedPart:
    """The training part by the named technique, or by the first of its fallbacks that can run."""
    import numpy as np

    if name == NONE:
        return BalancedPart(values=values, positive=positive, used=NONE)
    try:
        new_values, new_positive = _sampler(name, positive, seed).fit_resample(values, positive)
        problem = "" if len(np.unique(new_positive)) == 2 else "it removed a whole class"
    except ValueError as refusal:  # how imbalanced-learn says that there are too few neighbours, or nothing to do
        problem = str(refusal).split(". ")[0].strip()
    if not problem:
        return BalancedPart(values=new_values, positive=new_positive, used=name)
    found = balance(_FALLBACKS[name], values, positive, seed)
    return BalancedPart(
        values=found.values, positive=found.positive, used=found.used, problem=f"{name} cannot run: {problem}"
    )


def _sampler(name: str, positive: Array, seed: int) -> Any:
    rare = int(min(positive.sum(), len(positive) - positive.sum()))
    return _samplers(max(1, min(_NEIGHBOURS, rare - 1)), seed)[name]()


def _samplers(neighbours: int, seed: int) -> Mapping[str, Callable[[], Any]]:
    from imblearn import combine, over_sampling, under_sampling

    def smote() -> Any:
        return over_sampling.SMOTE(k_neighbors=neighbours, random_state=seed)

    return {
        **{f"near-miss-{version}": partial(under_sampling.NearMiss, version=version) for version in (1, 2, 3)},
        "random-under": lambda: under_sampling.RandomUnderSampler(random_state=seed),
        "random-over": lambda: over_sampling.RandomOverSampler(random_state=seed),
        "smote": smote,
        "adasyn": lambda: over_sampling.ADASYN(n_neighbors=neighbours, random_state=seed),
        "borderline-smote": lambda: over_sampling.BorderlineSMOTE(k_neighbors=neighbours, random_state=seed),
        "smote-enn": lambda: combine.SMOTEENN(smote=smote(), random_state=seed),
        "smote-tomek": lambda: combine.SMOTETomek(smote=smote(), random_state=seed),
    }
