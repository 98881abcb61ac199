"""A model for projects that it was not trained on, chosen without looking at the project it is judged by.

Candidates differ in their inputs (metrics as values and as ranks within their project, or the words of the
source), in the strength of the regularisation, and in whether the score of a test includes the mean of its class
or file. Other projects choose the candidate: each of them is predicted by models that were trained without it and
without the project left out. If there are several rules for this choice, the other projects choose the rule, too:
then each pair of the other projects is left out together, and the rule with the best predictions for them is used.
Decision 0021 says which alternatives were tried.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from flakehound.learn.evaluation.model_choice import BY_AREA, ChoiceRule, best_rule
from flakehound.learn.extras import Array
from flakehound.learn.tables.dataset import Dataset, UnusableData
from flakehound.learn.tables.ranks import ranks_within_projects

METRICS, WORDS, BOTH = "metrics", "words", "both"
_MIN_PROJECTS_OF_WORD = 4  # among the training projects
_MIN_TESTS_OF_WORD = 20
_STRENGTHS = {METRICS: (0.1, 1.0), WORDS: (0.001, 0.01, 0.1)}  # C of scikit-learn
_SOLVERS = {METRICS: "newton-cholesky", WORDS: "lbfgs"}  # for few dense columns, and for many sparse ones
_NEIGHBOUR_SHARES = (0.0, 0.5, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenCandidate:
    """One model that may be chosen."""

    inputs: str  # METRICS, WORDS or BOTH
    strengths: tuple[float, ...]  # one per input; a small one regularises strongly
    neighbour_share: float  # how much of its score a test takes from the mean of its class or file

    @property
    def name(self) -> str:
        """A description for reports."""
        strengths = " and ".join(f"{strength:g}" for strength in self.strengths)
        return f"{self.inputs} at {strengths}, {self.neighbour_share:.0%} of the neighbours"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenModel:
    """What the other projects chose for one project."""

    project: str
    rule: str
    candidate: UnseenCandidate
    threshold: float


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenPredictions:
    """Predictions of each test by models that were not trained on its project."""

    probability: Array
    predicted: Array  # 0 or 1, by the threshold chosen for the project
    choices: list[ChosenModel]  # one per project


def all_candidates(inputs: Sequence[str]) -> list[UnseenCandidate]:
    """All candidates with one of these inputs."""
    candidates = []
    for name in inputs:
        if name == BOTH:
            strengths = [(a, b) for a in _STRENGTHS[METRICS] for b in _STRENGTHS[WORDS]]
        else:
            strengths = [(strength,) for strength in _STRENGTHS[name]]  # type: ignore[misc]
        candidates += [
            UnseenCandidate(inputs=name, strengths=own, neighbour_share=share)
            for own in strengths
            for share in _NEIGHBOUR_SHARES
        ]
    return candidates


@dataclass(slots=True)
class UnseenProjects:
    """Leave-one-project-out validation in which the other projects choose the model and the rule of choice."""

    data: Dataset
    positive: Array
    inputs: tuple[str, ...] = (METRICS,)
    rules: tuple[ChoiceRule, ...] = (BY_AREA,)
    show_progress: Callable[[str], None] = lambda message: None
    _rows: dict[str, Array] = field(default_factory=dict)  # by project, the rows of its tests
    # By input, strength, projects left out of the training, and one of these projects: the chances of its tests.
    _chances: dict[tuple[str, float, frozenset[str], str], Array] = field(default_factory=dict)
    _groups: dict[str, Array] = field(default_factory=dict)  # by project, the class or file of each of its tests
    _unscaled_metrics: Array = field(init=False)
    _word_matrix: Any = None  # tests × words, sparse
    _tests_with_word: dict[str, Array] = field(default_factory=dict)  # by project, for each word

    def __post_init__(self) -> None:
        import numpy as np

        self._rows = {
            str(name): np.flatnonzero(self.data.projects == name) for name in sorted(set(self.data.projects))
        }
        groups = group_numbers(self.data)
        self._groups = {name: np.unique(groups[rows], return_inverse=True)[1] for name, rows in self._rows.items()}
        self._unscaled_metrics = np.hstack([_signed_log(self.data.values), ranks_within_projects(self.data)])
        self._count_words()

    def predict(self) -> UnseenPredictions:
        """Predict every test by the model that the other projects choose for its project."""
        import numpy as np

        self._fit_all()
        probability = np.zeros(len(self.positive))
        predicted = np.zeros(len(self.positive), dtype=int)
        choices = []
        for left_out, rows in self._rows.items():
            self.show_progress(f"choosing for {left_out}")
            (choice,) = self._choices(left_out, [self._rule_for(left_out)])
            probability[rows] = self._score(choice.candidate, frozenset([left_out]), left_out)
            predicted[rows] = probability[rows] >= choice.threshold
            choices.append(choice)
        return UnseenPredictions(probability=probability, predicted=predicted, choices=choices)

    def _fit_all(self) -> None:
        """Fit models without each project and each pair of projects; if there are several rules, each three."""
        parts = {BOTH: (METRICS, WORDS)}
        inputs = sorted({part for name in self.inputs for part in parts.get(name, (name,))})
        max_left_out = min(2 if len(self.rules) == 1 else 3, len(self._rows) - 1)
        left_out = [frozenset(some) for n in range(1, max_left_out + 1) for some in combinations(self._rows, n)]
        for number, without in enumerate(left_out, start=1):
            self.show_progress(f"models without {' and '.join(sorted(without))}: {number} of {len(left_out)}")
            for name in inputs:
                self._fit(name, without)

    def _rule_for(self, left_out: str) -> ChoiceRule:
        """The rule that predicts the other projects best if each of them is left out as well."""
        if len(self.rules) == 1:
            return self.rules[0]
        predicted: dict[str, list[Array]] = {rule.name: [] for rule in self.rules}
        others = [name for name in self._rows if name != left_out]
        for name in others:
            for choice in self._choices(name, self.rules, left_out):
                chances = self._score(choice.candidate, frozenset([left_out, name]), name)
                predicted[choice.rule].append((chances >= choice.threshold).astype(int))
        return best_rule(self.rules, predicted, [self.positive[self._rows[name]] for name in others])

    def _fit(self, inputs: str, without: frozenset[str]) -> None:
        import numpy as np
        from sklearn.linear_model import LogisticRegression

        is_test = np.isin(self.data.projects, list(without))
        values = self._scaled_metrics(~is_test) if inputs == METRICS else self._common_words(~is_test)
        for strength in _STRENGTHS[inputs]:
            model = LogisticRegression(C=strength, class_weight="balanced", max_iter=300, solver=_SOLVERS[inputs])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(values[~is_test], self.positive[~is_test])
            for name in without:
                chances = model.predict_proba(values[self._rows[name]])[:, 1]
                self._chances[inputs, strength, without, name] = chances

    def _scaled_metrics(self, is_training: Array) -> Array:
        """Logarithms, and ranks within the project, in units of the standard deviation in the training part."""
        values = self._unscaled_metrics
        training = values[is_training]
        scaled: Array = (values - training.mean(axis=0)) / (training.std(axis=0) + 1e-9)
        return scaled

    def _common_words(self, is_training: Array) -> Any:
        """Which words each test has, for the words that enough training projects use."""
        import numpy as np

        projects = sorted(set(self.data.projects[is_training]))
        tests = np.vstack([self._tests_with_word[name] for name in projects])
        min_projects = min(_MIN_PROJECTS_OF_WORD, max(1, len(projects) // 2))
        is_common = ((tests > 0).sum(axis=0) >= min_projects) & (tests.sum(axis=0) >= _MIN_TESTS_OF_WORD)
        return self._word_matrix[:, np.flatnonzero(is_common)] if is_common.any() else self._word_matrix

    def _count_words(self) -> None:
        """Make a column per word, and count the tests of each project that have it."""
        import numpy as np
        from sklearn.feature_extraction.text import CountVectorizer

        if self.inputs == (METRICS,):
            return
        if self.data.words is None:
            raise UnusableData(f"{self.data.name!r} has no words of the tests' source")
        counter = CountVectorizer(
            binary=True, min_df=_MIN_TESTS_OF_WORD, tokenizer=str.split, token_pattern=None, lowercase=False
        )
        self._word_matrix = counter.fit_transform(self.data.words).tocsc().astype(float)
        for name, rows in self._rows.items():
            self._tests_with_word[name] = np.asarray(self._word_matrix.tocsr()[rows].sum(axis=0)).ravel()

    def _choices(self, left_out: str, rules: Sequence[ChoiceRule], *also_left_out: str) -> Iterator[ChosenModel]:
        """What each rule chooses for a project by the projects that are not left out."""
        without = frozenset([left_out, *also_left_out])
        others = [name for name in self._rows if name not in without]
        positive = [self.positive[self._rows[name]] for name in others]
        chances = {
            candidate: [self._score(candidate, without | {name}, name) for name in others]
            for candidate in all_candidates(self.inputs)
        }
        for rule in rules:
            candidate, threshold = rule.choose(chances, positive)
            yield ChosenModel(project=left_out, rule=rule.name, candidate=candidate, threshold=threshold)

    def _score(self, candidate: UnseenCandidate, without: frozenset[str], project: str) -> Array:
        import numpy as np

        inputs = (METRICS, WORDS) if candidate.inputs == BOTH else (candidate.inputs,)
        chances = [
            self._chances[name, strength, without, project]
            for name, strength in zip(inputs, candidate.strengths, strict=True)
        ]
        return with_group_means(np.mean(chances, axis=0), self._groups[project], candidate.neighbour_share)


def _signed_log(values: Array) -> Array:
    import numpy as np

    return np.sign(values) * np.log1p(np.abs(values))


def group_numbers(data: Dataset) -> Array:
    """For each test, the number of its class or file."""
    import numpy as np

    names = [f"{project} {class_or_file(test)}" for project, test in zip(data.projects, data.ids, strict=True)]
    return np.unique(names, return_inverse=True)[1]


def class_or_file(test: str) -> str:
    """The class or file of a test, by its id: the part before the last `::` or dot."""
    return (test.rpartition("::")[0] or test.rpartition(".")[0]) if test else ""


def with_group_means(scores: Array, groups: Array, share: float) -> Array:
    """Replace this share of each score by the mean score of the test's group."""
    import numpy as np

    means = np.bincount(groups, weights=np.nan_to_num(scores)) / np.maximum(np.bincount(groups), 1)
    return (1 - share) * scores + share * means[groups]
