"""The shipped table of what is known about real tests before a search; replays of policies draw from it.

Written by `benchmarks/prior_parts.py` from tests that Gruber et al. labelled and we measured and traced. Scores
and features of a test come from models that were not trained on its project.
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from importlib import resources

from flakehound.learn.evaluation.simulation import ObservedTests

TABLE_FILE = "prior_parts.csv.gz"
COLUMNS = ("project", "nod", "lint", "features", "calls")


def observed_tests() -> ObservedTests:
    """All tests of the table; the NOD tests of each project are together drawn equally often."""
    import numpy as np

    packed = (resources.files("flakehound.learn") / "facts" / TABLE_FILE).read_bytes()
    rows = list(csv.DictReader(gzip.decompress(packed).decode("utf-8").splitlines()))
    nod_tests = Counter(row["project"] for row in rows if row["nod"] == "1")
    return ObservedTests(
        is_flaky=np.array([int(row["nod"]) for row in rows]),
        score_odds_ratio=np.array([float(row["lint"]) for row in rows]),
        feature_odds_ratio=np.array([float(row["features"]) for row in rows]),
        calls=np.array([row["calls"] == "1" for row in rows]),
        draw_weight=np.array([1 / nod_tests[row["project"]] if row["nod"] == "1" else 1.0 for row in rows]),
    )
