"""Balance the classes of a training part; a technique that cannot run is replaced by its fallback, with a note."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from flakehound.learn.extras import Array

NONE = "none"
# Those of STATIC, in its order, then CANNIER's two combinations.
TECHNIQUES = (
    *(NONE, "near-miss-1", "near-miss-2", "near-miss-3", "random-under", "random-over", "smote", "adasyn"),
    *("borderline-smote", "smote-enn", "smote-tomek"),
)
STATIC_TECHNIQUES = TECHNIQUES[:9]
CANNIER_TECHNIQUES = ("smote", "smote-enn", "smote-tomek")
_MAX_NEIGHBOURS = 5
# Technique -> what is tried if it cannot run.
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
    used: str  # the technique that was used
    problem: str = ""  # why the requested technique was not used; empty: it was


def balance(name: str, values: Array, positive: Array, seed: int) -> BalancedPart:
    """Balance a training part with a technique, or with the first of its fallbacks that can run."""
    import numpy as np

    if name == NONE:
        return BalancedPart(values=values, positive=positive, used=NONE)
    try:
        new_values, new_positive = _sampler(name, positive, seed).fit_resample(values, positive)
        problem = "" if len(np.unique(new_positive)) == 2 else "it removed a whole class"
    except ValueError as error:  # imbalanced-learn raises it if there are too few neighbours, or nothing to do
        problem = str(error).split(". ")[0].strip()
    if not problem:
        return BalancedPart(values=new_values, positive=new_positive, used=name)
    fallback = balance(_FALLBACKS[name], values, positive, seed)
    return replace(fallback, problem=f"{name} cannot run: {problem}")


def _sampler(name: str, positive: Array, seed: int) -> Any:
    rare_class_size = int(min(positive.sum(), len(positive) - positive.sum()))
    return _samplers(max(1, min(_MAX_NEIGHBOURS, rare_class_size - 1)), seed)[name]()


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
