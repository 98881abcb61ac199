"""Detections over time, for times that can be counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from flakehound.learn.evaluation.detection_curves import detection_curves

NEVER = np.inf


def test_a_curve_is_the_mean_over_the_suites_with_a_band():
    found = detection_curves({"quick": [np.array([1.0, 2.0]), np.array([4.0, NEVER])], "slow": [np.array([64.0])]})

    quick = found.policies["quick"]
    assert (found.seconds[0], found.seconds[-1]) == (1.0, pytest.approx(64, rel=1e-4))
    assert quick.mean[0] == 0.5
    assert quick.mean[-1] == 1.5
    assert (quick.low[-1], quick.high[-1]) == (pytest.approx(1.1), pytest.approx(1.9))
    assert found.policies["slow"].mean[-1] == 1
    assert found.policies["slow"].mean[-2] == 0


def test_a_curve_without_detections_stays_at_zero():
    found = detection_curves({"calls": [np.array([NEVER])]})

    assert found.policies["calls"].mean == [0]
