"""How well predictions agree with labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flakehound.learn.extras import Array

BINS = 10  # of the calibration


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """The four counts; numbers or arrays of equal shape."""

    tp: Any
    fp: Any
    fn: Any
    tn: Any

    def __add__(self, other: Confusion) -> Confusion:
        return Confusion(
            tp=self.tp + other.tp, fp=self.fp + other.fp, fn=self.fn + other.fn, tn=self.tn + other.tn
        )

    @property
    def mcc(self) -> Any:
        """Matthews' correlation with its sign (eq. 5); nan where a sum is zero."""
        import numpy as np

        product = (self.tp + self.fp) * (self.tp + self.fn) * (self.tn + self.fp) * (self.tn + self.fn)
        return _over(self.tp * self.tn - self.fp * self.fn, np.sqrt(product))

    @property
    def precision(self) -> Any:
        """Share of the predicted that are positive; nan where none is predicted."""
        return _over(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> Any:
        """Share of the positive that are predicted; nan where none is positive."""
        return _over(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> Any:
        """Harmonic mean of both; nan where there is nothing to find and nothing was predicted."""
        return _over(2 * self.tp, 2 * self.tp + self.fp + self.fn)


def _over(numerator: Any, denominator: Any) -> Any:
    import numpy as np

    top, bottom = np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float)
    found = np.divide(top, bottom, out=np.full(np.broadcast(top, bottom).shape, np.nan), where=bottom != 0)
    return found if found.shape else float(found)


def confusion(positive: Array, predicted: Array) -> Confusion:
    """Counts of labels against predictions, both 0 or 1."""
    both = int((positive & predicted).sum())
    return Confusion(
        tp=both,
        fp=int(predicted.sum()) - both,
        fn=int(positive.sum()) - both,
        tn=int(len(positive) - positive.sum() - predicted.sum()) + both,
    )


def area_under_curve(positive: Array, score: Array) -> float:
    """How likely a positive test scores above a negative one; nan with one class only."""
    from scipy.stats import rankdata

    n_positive = int(positive.sum())
    n_negative = len(positive) - n_positive
    if not n_positive or not n_negative:
        return float("nan")
    ranks = rankdata(score)
    return float((ranks[positive == 1].sum() - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))


def calibration(positive: Array, probability: Array) -> dict[str, Any]:
    """Brier score, and how far predicted and observed shares lie apart, by tenths of the probability."""
    import numpy as np

    place = np.minimum((np.asarray(probability) * BINS).astype(int), BINS - 1)
    tests = np.bincount(place, minlength=BINS)
    said = _over(np.bincount(place, weights=probability, minlength=BINS), tests)
    seen = _over(np.bincount(place, weights=positive, minlength=BINS), tests)
    gap = np.nansum(np.abs(said - seen) * tests) / len(positive)
    return {
        "brier": float(np.mean((np.asarray(probability) - positive) ** 2)),
        "error": float(gap),
        "tests": tests.tolist(),
        "predicted": _plain(said),
        "observed": _plain(seen),
    }


def _plain(values: Array) -> list[float | None]:
    return [None if value != value else round(float(value), 4) for value in values]
