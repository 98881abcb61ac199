"""What lint's model says of tests in projects that it has not seen: five folds, no project in two of them."""

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
    """Chances of being NOD, of tests that are and of the others."""

    nod: tuple[float, ...]
    others: tuple[float, ...]


def fold_of(projects: Iterable[str], folds: int = FOLDS) -> dict[str, int]:
    """Which fold each project is in."""
    return {name: number % folds for number, name in enumerate(sorted(set(projects)))}


def unseen_chances(samples: Sequence[Sample], kind: str = NOD) -> list[float]:
    """Every test by a model that was fitted without its project.

    All folds have the constant for one base rate: a fold's own tells how many tests flake in the *other* folds.
    """
    place = fold_of(sample.project for sample in samples)
    files = [f"{sample.project} {sample.file}" for sample in samples]
    signals = signals_of([sample.values for sample in samples], files, HEAD_SETTINGS[kind].names)
    flaky = sum(sample.is_of(kind) for sample in samples if sample.learned)
    found = [0.0] * len(samples)
    for fold in range(FOLDS):
        model = fit_head([one for one in samples if place[one.project] != fold], kind, HEAD_SETTINGS[kind])
        odds = list(map(model.evidence, signals))
        counted = [one for one, sample in zip(odds, samples, strict=True) if sample.learned]
        constant = constant_for(counted, [1.0] * len(counted), flaky)
        for number, sample in enumerate(samples):
            if place[sample.project] == fold:
                found[number] = logistic(constant + odds[number])
    return found


def unseen_nod_chances(samples: Sequence[Sample]) -> UnseenChances:
    """Those of being NOD, of the tests that a model learns from."""
    found: dict[bool, list[float]] = {True: [], False: []}
    for sample, chance in zip(samples, unseen_chances(samples), strict=True):
        if sample.learned:
            found[sample.nod].append(chance)
    return UnseenChances(nod=tuple(found[True]), others=tuple(found[False]))
