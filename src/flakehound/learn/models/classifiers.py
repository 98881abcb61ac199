"""The classifiers of STATIC and CANNIER, and the settings that a random search draws from."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from flakehound.learn.extras import Array

FOREST, EXTRA, BOOSTED = "random-forest", "extra-trees", "boosted-trees"
STATIC_CLASSIFIERS = ("decision-tree", "naive-bayes", "perceptron", "svm", "ada-boost", FOREST)
# Classifier -> setting -> values to draw from; the default of scikit-learn comes first.
SEARCH_SPACES: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "decision-tree": {
        "criterion": ("gini", "entropy"),
        "max_depth": (None, 5, 10, 20),
        "min_samples_leaf": (1, 2, 5, 10),
        "max_features": (None, "sqrt"),
    },
    "naive-bayes": {"var_smoothing": (1e-9, 1e-7, 1e-5, 1e-3, 1e-1)},
    "perceptron": {
        "hidden_layer_sizes": ((100,), (50,), (50, 25)),
        "alpha": (1e-4, 1e-3, 1e-2),
        "learning_rate_init": (1e-3, 1e-2),
    },
    BOOSTED: {"max_iter": (100, 300), "learning_rate": (0.1, 0.05, 0.02), "max_leaf_nodes": (31, 15, 63)},
    "svm": {"C": (1.0, 0.1, 10.0, 100.0), "gamma": ("scale", "auto", 0.1, 1.0)},
    "ada-boost": {"n_estimators": (50, 100, 200), "learning_rate": (1.0, 0.1, 0.5)},
    FOREST: {
        "n_estimators": (100, 200),
        "criterion": ("gini", "entropy"),
        "max_depth": (None, 20, 40),
        "min_samples_leaf": (1, 2, 3),
        "max_features": ("sqrt", 0.3, 0.5),
    },
    EXTRA: {
        "n_estimators": (100, 200),
        "criterion": ("gini", "entropy"),
        "min_samples_leaf": (1, 2, 3),
        "max_features": ("sqrt", 0.3, 0.5),
    },
}


def trees_setting(name: str) -> str:
    """The name of scikit-learn's setting for the number of trees."""
    return "max_iter" if name == BOOSTED else "n_estimators"


def new_classifier(name: str, seed: int, settings: Mapping[str, Any]) -> Any:
    """An unfitted classifier of scikit-learn, on one core."""
    from sklearn import ensemble, naive_bayes, neural_network, svm, tree

    classes: Mapping[str, Callable[..., Any]] = {
        FOREST: partial(ensemble.RandomForestClassifier, random_state=seed, n_jobs=1),
        EXTRA: partial(ensemble.ExtraTreesClassifier, random_state=seed, n_jobs=1),
        BOOSTED: partial(ensemble.HistGradientBoostingClassifier, random_state=seed),
        "ada-boost": partial(ensemble.AdaBoostClassifier, random_state=seed),
        "decision-tree": partial(tree.DecisionTreeClassifier, random_state=seed),
        "naive-bayes": naive_bayes.GaussianNB,
        "perceptron": partial(neural_network.MLPClassifier, random_state=seed, max_iter=200),
        "svm": partial(svm.SVC, random_state=seed, cache_size=400),
    }
    return classes[name](**settings)


def predicted_probability(model: Any, values: Array) -> Array:
    """How likely each test is positive; a distance from a support vector machine is mapped to 0…1."""
    import numpy as np

    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(values)[:, list(model.classes_).index(1)])
    return np.asarray(1 / (1 + np.exp(-model.decision_function(values))))


def draw_settings(name: str, draws: int, seed: int) -> list[dict[str, Any]]:
    """The default settings of scikit-learn, then random ones, without duplicates."""
    space = SEARCH_SPACES[name]
    rng = random.Random(seed)
    drawn: list[dict[str, Any]] = [{}]
    for _attempt in range(20 * draws):
        if len(drawn) >= draws:
            break
        settings = {setting: rng.choice(values) for setting, values in space.items()}
        if settings not in drawn:
            drawn.append(settings)
    return drawn
