"""How well predictions agree with labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flakehound.learn.extras import Array

CALIBRATION_BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """The four counts of a confusion matrix; numbers, or arrays of equal shape."""

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
        """Matthews' correlation coefficient (eq. 5 of CANNIER); nan if a sum is zero."""
        import numpy as np

        product = (self.tp + self.fp) * (self.tp + self.fn) * (self.tn + self.fp) * (self.tn + self.fn)
        return _ratio(self.tp * self.tn - self.fp * self.fn, np.sqrt(product))

    @property
    def precision(self) -> Any:
        """Share of the predicted tests that are positive; nan if none is predicted."""
        return _ratio(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> Any:
        """Share of the positive tests that are predicted; nan if none is positive."""
        return _ratio(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> Any:
        """Harmonic mean of precision and recall; nan if no test is positive and none is predicted."""
        return _ratio(2 * self.tp, 2 * self.tp + self.fp + self.fn)


def _ratio(numerator: Any, denominator: Any) -> Any:
    """The quotient of numbers or arrays; nan where the denominator is zero."""
    import numpy as np

    top, bottom = np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float)
    nan = np.full(np.broadcast(top, bottom).shape, np.nan)
    quotient = np.divide(top, bottom, out=nan, where=bottom != 0)
    return quotient if quotient.shape else float(quotient)


def confusion(positive: Array, predicted: Array) -> Confusion:
    """The confusion matrix of labels and predictions, both 0 or 1."""
    tp = int((positive & predicted).sum())
    return Confusion(
        tp=tp,
        fp=int(predicted.sum()) - tp,
        fn=int(positive.sum()) - tp,
        tn=int(len(positive) - positive.sum() - predicted.sum()) + tp,
    )


def area_under_curve(positive: Array, score: Array) -> float:
    """How likely a positive test has a higher score than a negative one; nan with one class only."""
    from scipy.stats import rankdata

    n_positive = int(positive.sum())
    n_negative = len(positive) - n_positive
    if not n_positive or not n_negative:
        return float("nan")
    ranks = rankdata(score)
    return float((ranks[positive == 1].sum() - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))


def calibration(positive: Array, probability: Array) -> dict[str, Any]:
    """Brier score, and the difference between predicted and observed shares in each tenth of the probability.

    Plain values for JSON.
    """
    import numpy as np

    bins = np.minimum((np.asarray(probability) * CALIBRATION_BINS).astype(int), CALIBRATION_BINS - 1)
    tests = np.bincount(bins, minlength=CALIBRATION_BINS)
    predicted = _ratio(np.bincount(bins, weights=probability, minlength=CALIBRATION_BINS), tests)
    observed = _ratio(np.bincount(bins, weights=positive, minlength=CALIBRATION_BINS), tests)
    error = np.nansum(np.abs(predicted - observed) * tests) / len(positive)
    return {
        "brier": float(np.mean((np.asarray(probability) - positive) ** 2)),
        "error": float(error),
        "tests": tests.tolist(),
        "predicted": _rounded(predicted),
        "observed": _rounded(observed),
    }


def _rounded(values: Array) -> list[float | None]:
    """Plain numbers; None for nan."""
    return [None if value != value else round(float(value), 4) for value in values]
