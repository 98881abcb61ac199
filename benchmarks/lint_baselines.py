"""Simple predictors of flaky tests that lint has to beat, trained on the same projects as lint's model.

* length: lines of the test.
* keywords: which words of a fixed list, by causes of flakiness, are in the test.
* bag of words: logistic regression on the words of the test.
* FlakeFlagger-like: random forest on those features of FlakeFlagger that can be had without running: test smells,
  length, assertions, and packages used (not its coverage, execution time and churn).
* vocabulary: random forest on the tokens of the test's body, as in Pinto et al. (2020).

All of them weight the tests of a project as lint's model does: those of one class as the square root of their
number, and both classes equally. Chances are corrected for the share of flaky tests in the training data.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lint_rows import LabelledTest
from numpy.typing import NDArray

Floats = NDArray[np.float64]
KEYWORDS = (
    *("sleep", "wait", "timeout", "time", "now", "today", "date", "datetime", "timezone", "clock", "duration"),
    *("random", "seed", "shuffle", "sample", "choice", "uuid", "faker"),
    *("thread", "threading", "process", "async", "await", "asyncio", "lock", "queue", "concurrent", "pool"),
    *("request", "requests", "http", "https", "url", "urlopen", "socket", "port", "server", "client", "network"),
    *("file", "open", "path", "tmp", "temp", "tempfile", "directory", "remove", "exists", "database", "db"),
    *("environ", "env", "global", "cache", "config", "singleton", "patch", "mock", "set", "listdir", "glob"),
)
_SMELLS_AND_SIZES = (
    *("assertion_roulette", "conditional_test_logic", "eager_test", "fire_and_forget", "mystery_guest"),
    *("resource_optimism", "sensitive_equality", "test_lines_of_code", "assertions", "external_modules"),
)
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_TREES = 100
_SEED = 0


def words_in(body: str) -> list[str]:
    """All words of a text in lower case, also the parts of names."""
    return [word.lower() for word in _WORD.findall(body) if len(word) > 1]


def tokens_in(body: str) -> list[str]:
    """Whole names and numbers, and the words that they consist of, in lower case."""
    names = re.findall(r"\w+", body)
    return [name.lower() for name in names if len(name) > 1] + words_in(body)


# ------------------------------------------------------------------ predictors


def _length(tests: Sequence[LabelledTest]) -> Floats:
    return np.log1p([[sum(bool(line.strip()) for line in test.body.split("\n"))] for test in tests])


def _keywords(tests: Sequence[LabelledTest]) -> Floats:
    words = [frozenset(words_in(test.body)) for test in tests]
    return np.array([[float(keyword in used) for keyword in KEYWORDS] for used in words])


def _smells_and_sizes(tests: Sequence[LabelledTest]) -> Floats:
    cells = [test.analysis.row.metric_cells() for test in tests]
    return np.array([[float(row[name] or 0.0) for name in _SMELLS_AND_SIZES] for row in cells])


def _bodies(tests: Sequence[LabelledTest]) -> list[str]:
    return [test.body for test in tests]


def _regression(penalty: float) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1 / penalty, max_iter=300)


def _scaled_regression() -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), _regression(1.0))


def _forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(_TREES, min_samples_leaf=2, n_jobs=1, random_state=_SEED)


def _bag_of_words() -> Any:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(CountVectorizer(analyzer=words_in, binary=True, min_df=20), _regression(100.0))


def _vocabulary() -> Any:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(CountVectorizer(analyzer=tokens_in, min_df=10, max_features=4000), _forest())


BASELINES: Mapping[str, tuple[Callable[[Sequence[LabelledTest]], Any], Callable[[], Any]]] = {
    "length": (_length, _scaled_regression),
    "keywords": (_keywords, _scaled_regression),
    "bag of words": (_bodies, _bag_of_words),
    "FlakeFlagger-like": (_smells_and_sizes, _forest),
    "vocabulary": (_bodies, _vocabulary),
}


# ------------------------------------------------------------------ training


def baseline_chances(
    name: str, train: Sequence[LabelledTest], positive: NDArray[np.bool_], scored: Sequence[LabelledTest]
) -> Floats:
    """The chances of the tests `scored` by a baseline that was trained on `train`."""
    features_of, new_model = BASELINES[name]
    model = new_model()
    weights = row_weights([test.project for test in train], positive)
    if hasattr(model, "steps"):
        model.fit(features_of(train), positive, **{f"{model.steps[-1][0]}__sample_weight": weights})
    else:
        model.fit(features_of(train), positive, sample_weight=weights)
    return with_base_rate(model.predict_proba(features_of(scored))[:, 1], float(positive.mean()))


def row_weights(projects: Sequence[str], positive: NDArray[np.bool_]) -> Floats:
    """The weight of each test: one class of one project as the square root of its size, both classes equally."""
    _, codes = np.unique(np.array(projects), return_inverse=True)
    groups = codes * 2 + positive
    weights = 1 / np.sqrt(np.bincount(groups)[groups])
    for label in (True, False):
        weights[positive == label] *= len(positive) / 2 / weights[positive == label].sum()
    return np.asarray(weights, dtype=np.float64)


def with_base_rate(chances: Floats, base_rate: float) -> Floats:
    """Chances that were learned from equally heavy classes, for classes of this base rate."""
    clipped = np.clip(chances, 1e-6, 1 - 1e-6)
    odds = clipped / (1 - clipped) * base_rate / (1 - base_rate)
    return np.asarray(odds / (1 + odds), dtype=np.float64)


def cached_baselines(
    train: Sequence[LabelledTest], positive: NDArray[np.bool_], scored: Sequence[LabelledTest], cache: Path
) -> dict[str, Floats]:
    """The chances by all baselines; they are trained again only if tests, labels or this file changed."""
    chances: dict[str, Floats] = {}
    key = _digest(train, positive, scored)
    for name in BASELINES:
        file = cache / ".baselines" / f"{key} {name}.npy"
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            np.save(file, baseline_chances(name, train, positive, scored))
        chances[name] = np.load(file)
    return chances


def _digest(train: Sequence[LabelledTest], positive: NDArray[np.bool_], scored: Sequence[LabelledTest]) -> str:
    hasher = hashlib.sha256(Path(__file__).read_bytes() + positive.tobytes())
    for tests in (train, scored):
        for test in tests:
            hasher.update(
                f"{test.project} {test.analysis.row.test_id} {test.label}\0{test.body}\0".encode(
                    "utf-8", "replace"
                )
            )
        hasher.update(_smells_and_sizes(tests).tobytes())
    return hasher.hexdigest()[:24]
