"""A model for projects that were never seen, chosen without looking at the project it is judged by.

Candidates differ in what they read (metrics as they are and as ranks within their project, or the words of the
source), in how strongly they are held back, and in whether a test shares the score of its neighbours in one class
or file. The candidate is chosen by the other projects: each of them is predicted by models that saw neither it nor
the project left out. Both classes weigh the same, so a test counts as flaky from one half on. Decision 0021 says
which rules of choice were tried, and what that means for the figures.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import Any

from flakehound.learn.dataset import Dataset, UnusableData
from flakehound.learn.extras import Array, library, numpy
from flakehound.learn.measures import area_under_curve

METRICS, WORDS, BOTH = "metrics", "words", "both"
THRESHOLD = 0.5
_LEAST_PROJECTS = 4  # that a word must occur in, among the training projects
_LEAST_TESTS = 20
_STRENGTHS = {METRICS: (0.1, 1.0), WORDS: (0.001, 0.01, 0.1)}
_SHARES = (0.0, 0.5, 1.0)  # how much of its neighbours' mean a test's score takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
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
class Choice:
    """What was chosen for one project, by the others."""

    project: str
    candidate: Candidate
    threshold: float
    inner_auc: float  # over the other projects


def candidates(reads: Sequence[str]) -> list[Candidate]:
    """Every candidate that reads one of these."""
    found = []
    for what in reads:
        if what == BOTH:
            pairs = [(a, b) for a in _STRENGTHS[METRICS] for b in _STRENGTHS[WORDS]]
        else:
            pairs = [(one,) for one in _STRENGTHS[what]]  # type: ignore[misc]
        found += [Candidate(reads=what, strengths=pair, share=share) for pair in pairs for share in _SHARES]
    return found


@dataclass(slots=True)
class Unseen:
    """Leave one project out, with a choice inside."""

    data: Dataset
    positive: Array
    reads: tuple[str, ...] = (METRICS,)
    tell: Callable[[str], None] = lambda words: None
    _scores: dict[tuple[str, float, frozenset[str]], Array] = field(default_factory=dict)
    _homes: Array = field(init=False)
    _plain: Array = field(init=False)  # what is read of the metrics, before it is scaled
    _sheet: Any = None  # tests × words
    _uses: dict[str, Array] = field(default_factory=dict)  # by project

    def __post_init__(self) -> None:
        self._homes = homes_of(self.data)
        self._plain = numpy().hstack([_logarithms(self.data.values), ranks_within_projects(self.data)])
        self._read_words()

    def predicted(self) -> tuple[Array, Array, list[Choice]]:
        """Probabilities, predictions by each project's own threshold, and the choices."""
        np = numpy()
        names = sorted(set(self.data.projects))
        self._fit_all(names)
        probability = np.zeros(len(self.positive))
        said = np.zeros(len(self.positive), dtype=int)
        choices = []
        for left_out in names:
            choice = self._choice(left_out, [name for name in names if name != left_out])
            test = self.data.projects == left_out
            scores = self._score(choice.candidate, frozenset([left_out]))
            probability[test], said[test] = scores[test], scores[test] >= choice.threshold
            choices.append(choice)
        return probability, said, choices

    def _fit_all(self, names: Sequence[str]) -> None:
        """A model without each project and without each pair of them, for every strength of what is read."""
        kinds = {BOTH: (METRICS, WORDS)}
        wanted = sorted({part for what in self.reads for part in kinds.get(what, (what,))})
        left_out = [frozenset(pair) for pair in combinations_with_replacement(names, 2)]
        for number, without in enumerate(left_out, start=1):
            self.tell(f"models without {' and '.join(sorted(without))}: {number} of {len(left_out)}")
            for what in wanted:
                for strength, scores in self._fitted(what, without):
                    self._scores[what, strength, without] = scores

    def _fitted(self, what: str, without: frozenset[str]) -> Iterator[tuple[float, Array]]:
        np = numpy()
        test = np.isin(self.data.projects, list(without))
        values = self._metrics(~test) if what == METRICS else self._words(~test)
        for strength in _STRENGTHS[what]:
            model = library("sklearn.linear_model").LogisticRegression(
                C=strength, class_weight="balanced", max_iter=300
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(values[~test], self.positive[~test])
            scores = np.full(len(test), np.nan)
            scores[test] = model.predict_proba(values[test])[:, 1]
            yield strength, scores

    def _metrics(self, train: Array) -> Array:
        """Logarithms, and ranks within the own project, in units of the training part's spread."""
        values = self._plain
        return (values - values[train].mean(axis=0)) / (values[train].std(axis=0) + 1e-9)

    def _words(self, train: Array) -> Any:
        """Which of the words each test has that several training projects use."""
        np = numpy()
        inside = sorted(set(self.data.projects[train]))
        tests = np.vstack([self._uses[name] for name in inside])
        least = min(_LEAST_PROJECTS, max(1, len(inside) // 2))
        kept = ((tests > 0).sum(axis=0) >= least) & (tests.sum(axis=0) >= _LEAST_TESTS)
        return self._sheet[:, np.flatnonzero(kept)] if kept.any() else self._sheet

    def _read_words(self) -> None:
        """A column per word, and how many tests of each project have it."""
        np = numpy()
        if self.reads == (METRICS,):
            return
        if self.data.words is None:
            raise UnusableData(f"{self.data.name!r} has no words of the tests' source")
        counter = library("sklearn.feature_extraction.text").CountVectorizer(
            binary=True, min_df=_LEAST_TESTS, tokenizer=str.split, token_pattern=None, lowercase=False
        )
        self._sheet = counter.fit_transform(self.data.words).tocsc().astype(float)
        for name in set(self.data.projects):
            own = np.flatnonzero(self.data.projects == name)
            self._uses[name] = np.asarray(self._sheet.tocsr()[own].sum(axis=0)).ravel()

    def _choice(self, left_out: str, others: Sequence[str]) -> Choice:
        """The candidate that ranks the tests of the other projects best."""
        np = numpy()
        train = self.data.projects != left_out
        found = []
        for candidate in candidates(self.reads):
            scores = np.full(len(train), np.nan)
            for name in others:
                own = self.data.projects == name
                scores[own] = self._score(candidate, frozenset([left_out, name]))[own]
            area = area_under_curve(self.positive[train], scores[train])
            found.append(Choice(project=left_out, candidate=candidate, threshold=THRESHOLD, inner_auc=area))
        return max(found, key=lambda one: one.inner_auc)

    def _score(self, candidate: Candidate, without: frozenset[str]) -> Array:
        kinds = (METRICS, WORDS) if candidate.reads == BOTH else (candidate.reads,)
        parts = [self._scores[what, c, without] for what, c in zip(kinds, candidate.strengths, strict=True)]
        return shared(sum(parts) / len(parts), self._homes, candidate.share)


def _logarithms(values: Array) -> Array:
    np = numpy()
    return np.sign(values) * np.log1p(np.abs(values))


def ranks_within_projects(data: Dataset) -> Array:
    """For each feature the place of a test among its project's, between 0 and 1."""
    np = numpy()
    ranks = np.empty_like(data.values)
    for name in set(data.projects):
        own = data.projects == name
        ranks[own] = (library("scipy.stats").rankdata(data.values[own], axis=0) - 0.5) / own.sum()
    return ranks


def homes_of(data: Dataset) -> Array:
    """For each test the number of its class or file."""
    np = numpy()
    named = [f"{project} {home_of(test)}" for project, test in zip(data.projects, data.ids, strict=True)]
    return np.unique(named, return_inverse=True)[1]


def home_of(test: str) -> str:
    """The class or file of a test, by its id: what stands before the last `::` or dot."""
    return (test.rpartition("::")[0] or test.rpartition(".")[0]) if test else ""


def shared(scores: Array, homes: Array, share: float) -> Array:
    """Scores in which a test takes a share of its neighbours' mean."""
    np = numpy()
    means = np.bincount(homes, weights=np.nan_to_num(scores)) / np.maximum(np.bincount(homes), 1)
    return (1 - share) * scores + share * means[homes]
