"""Learn which words are commoner in NOD tests than in other tests of their project, for lint's default model.

A logistic regression on which words are in the names and strings of a test. As in `flakehound.learn.static.fit`,
it learns within projects: each project has a constant of its own, counts as the square root of its NOD tests, and
both of its classes count the same. Rare words are left out, because they name one project.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from lint_rows import LabelledTest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from flakehound.learn.static.unseen import fold_of
from flakehound.learn.static.words import WordWeights

MIN_PROJECTS = 8  # in which a word occurs
MAX_WORDS = 1500  # the words of most projects
PENALTY = 1_000.0  # on squared weights, per 10,000 tests; weaker ones rank unseen projects worse (decision 0040)
FOLDS = 8
_DIGITS = 4
_FREE = 30.0  # columns of projects are that large, so the penalty does not hold back their constants
Floats = NDArray[np.float64]


def fit_word_weights(tests: Sequence[LabelledTest]) -> dict[str, float]:
    """The weight of each common word for NOD tests, learned within the projects of these tests."""
    judged = [test for test in tests if test.is_judged]
    words = _common_words(judged)
    names, project = np.unique([test.project for test in judged], return_inverse=True)
    positive = np.array([test.is_nod for test in judged], dtype=bool)
    weights = _row_weights(project, positive)
    kept = weights > 0
    shape = (len(judged), len(names))
    constants = sparse.csr_matrix((np.full(len(judged), _FREE), (np.arange(len(judged)), project)), shape=shape)
    columns = sparse.hstack([_presence(judged, words), constants]).tocsr()
    penalty = PENALTY * weights.sum() / 10_000
    regression = LogisticRegression(C=1 / penalty, max_iter=2000, tol=1e-6)
    regression.fit(columns[kept], positive[kept], sample_weight=weights[kept])
    return dict(zip(words, regression.coef_[0][: len(words)].round(_DIGITS).tolist(), strict=True))


def crossfitted_word_weights(tests: Sequence[LabelledTest]) -> dict[str, WordWeights]:
    """For each project, weights that were learned without it: a model must not trust words of its own labels."""
    folds = fold_of((test.project for test in tests), FOLDS)
    by_fold = [fit_word_weights([test for test in tests if folds[test.project] != fold]) for fold in range(FOLDS)]
    return {project: by_fold[fold] for project, fold in folds.items()}


def packed_weights(weights: Mapping[str, float]) -> bytes:
    """The weights as they are shipped; the same weights give the same bytes."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([("word", "nod"), *sorted((word, weight) for word, weight in weights.items() if weight)])
    return gzip.compress(text.getvalue().encode(), 9, mtime=0)


def _common_words(tests: Sequence[LabelledTest]) -> list[str]:
    projects: dict[str, set[str]] = defaultdict(set)
    for test in tests:
        for word in test.analysis.words:
            projects[word].add(test.project)
    common = [word for word, users in projects.items() if len(users) >= MIN_PROJECTS]
    return sorted(common, key=lambda word: (-len(projects[word]), word))[:MAX_WORDS]


def _presence(tests: Sequence[LabelledTest], words: Sequence[str]) -> sparse.csr_matrix:
    number = {word: position for position, word in enumerate(words)}
    rows = [sorted(number[word] for word in test.analysis.words if word in number) for test in tests]
    ends = np.cumsum([0, *map(len, rows)])
    members = np.array([position for row in rows for position in row], dtype=np.int64)
    return sparse.csr_matrix((np.ones(len(members)), members, ends), shape=(len(tests), len(words)))


def _row_weights(project: NDArray[np.int64], positive: NDArray[np.bool_]) -> Floats:
    """How much each test counts, 1 on average; 0 if its project does not have both classes."""
    nod = np.bincount(project, weights=positive)
    others = np.bincount(project, weights=~positive)
    both = (nod > 0) & (others > 0)
    importance = np.where(both, np.sqrt(nod), 0.0)
    of_class = np.where(positive, nod[project], others[project])
    weights = importance[project] / of_class
    return np.asarray(weights * len(project) / weights.sum(), dtype=np.float64)
