"""Chances of tests by models that were not trained on their project: five folds of whole projects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from flakehound.core.statistics.rates import logistic
from flakehound.learn.models.logistic import constant_for
from flakehound.learn.static.fit import HEAD_SETTINGS, Sample, fit_head
from flakehound.learn.static.model import NOD, signals_of

FOLDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenChances:
    """The chances of being NOD, for NOD tests and for the others."""

    nod: tuple[float, ...]
    others: tuple[float, ...]


def fold_of(projects: Iterable[str], folds: int = FOLDS) -> dict[str, int]:
    """The fold of each project."""
    return {name: number % folds for number, name in enumerate(sorted(set(projects)))}


def unseen_chances(samples: Sequence[Sample], kind: str = NOD) -> list[float]:
    """The chance of each test, by a model that was fitted without its project.

    All folds use a constant for the same base rate: the constant of a fold's own model depends on how many tests
    are flaky in the *other* folds.
    """
    folds = fold_of(sample.project for sample in samples)
    files = [f"{sample.project} {sample.file}" for sample in samples]
    signals = signals_of([sample.values for sample in samples], files, HEAD_SETTINGS[kind].all_signals)
    flaky = sum(sample.is_of(kind) for sample in samples if sample.learned)
    chances = [0.0] * len(samples)
    for fold in range(FOLDS):
        training = [sample for sample in samples if folds[sample.project] != fold]
        model = fit_head(training, kind, HEAD_SETTINGS[kind])
        odds = list(map(model.evidence, signals))
        learned_odds = [own for own, sample in zip(odds, samples, strict=True) if sample.learned]
        constant = constant_for(learned_odds, [1.0] * len(learned_odds), flaky)
        for number, sample in enumerate(samples):
            if folds[sample.project] == fold:
                chances[number] = logistic(constant + odds[number])
    return chances


def unseen_nod_chances(samples: Sequence[Sample]) -> UnseenChances:
    """The chances of being NOD, for the tests that a model learns from."""
    by_label: dict[bool, list[float]] = {True: [], False: []}
    for sample, chance in zip(samples, unseen_chances(samples), strict=True):
        if sample.learned:
            by_label[sample.nod].append(chance)
    return UnseenChances(nod=tuple(by_label[True]), others=tuple(by_label[False]))
