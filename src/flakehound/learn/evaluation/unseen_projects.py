"""A model for projects that were never seen, chosen without looking at the project it is judged by.

Candidates differ in what they read (metrics as they are and as ranks within their project, or the words of the
source), in how strongly they are held back, and in whether a test shares the score of its neighbours in one class
or file. The candidate is chosen by the other projects: each of them is predicted by models that saw neither it nor
the project left out. So is the rule of that choice, where several are given: then each two of the other projects
are left out together, and the rule is taken that would have served them best. Decision 0021 says which were tried.
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
_LEAST_PROJECTS = 4  # that a word must occur in, among the training projects
_LEAST_TESTS = 20
_STRENGTHS = {METRICS: (0.1, 1.0), WORDS: (0.001, 0.01, 0.1)}
_SOLVERS = {METRICS: "newton-cholesky", WORDS: "lbfgs"}  # few dense columns, and many sparse ones
_SHARES = (0.0, 0.5, 1.0)  # how much of its neighbours' mean a test's score takes


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenCandidate:
    """One model that may be chosen."""

    reads: str
    strengths: tuple[float, ...]  # of each thing it reads: small ones hold the model back
    share: float

    @property
    def name(self) -> str:
        """Its parts in words."""
        strengths = " and ".join(f"{one:g}" for one in self.strengths)
        return f"{self.reads} at {strengths}, {self.share:.0%} of the neighbours"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenModel:
    """What was chosen for one project, by the others."""

    project: str
    rule: str
    candidate: UnseenCandidate
    threshold: float


def candidates(reads: Sequence[str]) -> list[UnseenCandidate]:
    """Every candidate that reads one of these."""
    found = []
    for what in reads:
        if what == BOTH:
            pairs = [(a, b) for a in _STRENGTHS[METRICS] for b in _STRENGTHS[WORDS]]
        else:
            pairs = [(one,) for one in _STRENGTHS[what]]  # type: ignore[misc]
        found += [UnseenCandidate(reads=what, strengths=pair, share=share) for pair in pairs for share in _SHARES]
    return found


@dataclass(slots=True)
class UnseenProjects:
    """Leave one project out, with a choice inside; of several rules of choice the other projects take one."""

    data: Dataset
    positive: Array
    reads: tuple[str, ...] = (METRICS,)
    rules: tuple[ChoiceRule, ...] = (BY_AREA,)
    tell: Callable[[str], None] = lambda words: None
    _own: dict[str, Array] = field(default_factory=dict)  # by project the places of its tests
    # What a model without some projects says of the tests of one of them.
    _chances: dict[tuple[str, float, frozenset[str], str], Array] = field(default_factory=dict)
    _homes: dict[str, Array] = field(default_factory=dict)  # by project the class or file of each of its tests
    _plain: Array = field(init=False)  # what is read of the metrics, before it is scaled
    _sheet: Any = None  # tests × words
    _uses: dict[str, Array] = field(default_factory=dict)  # by project

    def __post_init__(self) -> None:
        import numpy as np

        self._own = {
            str(name): np.flatnonzero(self.data.projects == name) for name in sorted(set(self.data.projects))
        }
        homes = class_numbers(self.data)
        self._homes = {name: np.unique(homes[own], return_inverse=True)[1] for name, own in self._own.items()}
        self._plain = np.hstack([_logarithms(self.data.values), ranks_within_projects(self.data)])
        self._read_words()

    def predicted(self) -> tuple[Array, Array, list[ChosenModel]]:
        """Probabilities, predictions by each project's own threshold, and the choices."""
        import numpy as np

        self._fit_all()
        probability = np.zeros(len(self.positive))
        said = np.zeros(len(self.positive), dtype=int)
        choices = []
        for left_out, own in self._own.items():
            self.tell(f"choosing for {left_out}")
            (choice,) = self._choices(left_out, [self._rule_for(left_out)])
            probability[own] = self._score(choice.candidate, frozenset([left_out]), left_out)
            said[own] = probability[own] >= choice.threshold
            choices.append(choice)
        return probability, said, choices

    def _fit_all(self) -> None:
        """A model without each project and each pair of them, and where rules compete each three."""
        kinds = {BOTH: (METRICS, WORDS)}
        wanted = sorted({part for what in self.reads for part in kinds.get(what, (what,))})
        most = min(2 if len(self.rules) == 1 else 3, len(self._own) - 1)
        left_out = [frozenset(some) for size in range(1, most + 1) for some in combinations(self._own, size)]
        for number, without in enumerate(left_out, start=1):
            self.tell(f"models without {' and '.join(sorted(without))}: {number} of {len(left_out)}")
            for what in wanted:
                self._fit(what, without)

    def _rule_for(self, left_out: str) -> ChoiceRule:
        """The rule that serves the other projects best, each of them left out as well."""
        if len(self.rules) == 1:
            return self.rules[0]
        told: dict[str, list[Array]] = {rule.name: [] for rule in self.rules}
        others = [name for name in self._own if name != left_out]
        for name in others:
            for choice in self._choices(name, self.rules, left_out):
                chances = self._score(choice.candidate, frozenset([left_out, name]), name)
                told[choice.rule].append((chances >= choice.threshold).astype(int))
        return best_rule(self.rules, told, [self.positive[self._own[name]] for name in others])

    def _fit(self, what: str, without: frozenset[str]) -> None:
        import numpy as np
        from sklearn.linear_model import LogisticRegression

        test = np.isin(self.data.projects, list(without))
        values = self._metrics(~test) if what == METRICS else self._words(~test)
        for strength in _STRENGTHS[what]:
            model = LogisticRegression(C=strength, class_weight="balanced", max_iter=300, solver=_SOLVERS[what])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(values[~test], self.positive[~test])
            for name in without:
                chances = model.predict_proba(values[self._own[name]])[:, 1]
                self._chances[what, strength, without, name] = chances

    def _metrics(self, train: Array) -> Array:
        """Logarithms, and ranks within the own project, in units of the training part's spread."""
        values = self._plain
        scaled: Array = (values - values[train].mean(axis=0)) / (values[train].std(axis=0) + 1e-9)
        return scaled

    def _words(self, train: Array) -> Any:
        """Which of the words each test has that several training projects use."""
        import numpy as np

        inside = sorted(set(self.data.projects[train]))
        tests = np.vstack([self._uses[name] for name in inside])
        least = min(_LEAST_PROJECTS, max(1, len(inside) // 2))
        kept = ((tests > 0).sum(axis=0) >= least) & (tests.sum(axis=0) >= _LEAST_TESTS)
        return self._sheet[:, np.flatnonzero(kept)] if kept.any() else self._sheet

    def _read_words(self) -> None:
        """A column per word, and how many tests of each project have it."""
        import numpy as np
        from sklearn.feature_extraction.text import CountVectorizer

        if self.reads == (METRICS,):
            return
        if self.data.words is None:
            raise UnusableData(f"{self.data.name!r} has no words of the tests' source")
        counter = CountVectorizer(
            binary=True, min_df=_LEAST_TESTS, tokenizer=str.split, token_pattern=None, lowercase=False
        )
        self._sheet = counter.fit_transform(self.data.words).tocsc().astype(float)
        for name in set(self.data.projects):
            own = np.flatnonzero(self.data.projects == name)
            self._uses[name] = np.asarray(self._sheet.tocsr()[own].sum(axis=0)).ravel()

    def _choices(self, left_out: str, rules: Sequence[ChoiceRule], *also: str) -> Iterator[ChosenModel]:
        """What each rule takes for a project, by the others; `also` are left out as well."""
        without = frozenset([left_out, *also])
        others = [name for name in self._own if name not in without]
        positive = [self.positive[self._own[name]] for name in others]
        said = {
            candidate: [self._score(candidate, without | {name}, name) for name in others]
            for candidate in candidates(self.reads)
        }
        for rule in rules:
            candidate, threshold = rule.of(said, positive)
            yield ChosenModel(project=left_out, rule=rule.name, candidate=candidate, threshold=threshold)

    def _score(self, candidate: UnseenCandidate, without: frozenset[str], project: str) -> Array:
        import numpy as np

        kinds = (METRICS, WORDS) if candidate.reads == BOTH else (candidate.reads,)
        parts = [
            self._chances[what, c, without, project] for what, c in zip(kinds, candidate.strengths, strict=True)
        ]
        return shared_scores(np.mean(parts, axis=0), self._homes[project], candidate.share)


def _logarithms(values: Array) -> Array:
    import numpy as np

    return np.sign(values) * np.log1p(np.abs(values))


def class_numbers(data: Dataset) -> Array:
    """For each test the number of its class or file."""
    import numpy as np

    named = [f"{project} {class_or_file(test)}" for project, test in zip(data.projects, data.ids, strict=True)]
    return np.unique(named, return_inverse=True)[1]


def class_or_file(test: str) -> str:
    """The class or file of a test, by its id: what stands before the last `::` or dot."""
    return (test.rpartition("::")[0] or test.rpartition(".")[0]) if test else ""


def shared_scores(scores: Array, homes: Array, share: float) -> Array:
    """Scores in which a test takes a share of its neighbours' mean."""
    import numpy as np

    means = np.bincount(homes, weights=np.nan_to_num(scores)) / np.maximum(np.bincount(homes), 1)
    return (1 - share) * scores + share * means[homes]
