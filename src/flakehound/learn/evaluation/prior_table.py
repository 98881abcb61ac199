"""What is known beforehand of real tests: the table that replays of the whole prior draw from.

Made by `benchmarks/prior_parts.py`: tests that Gruber et al. labelled and we measured and traced. What models say
of a test comes from models that never saw its project.
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from importlib import resources

from flakehound.learn.evaluation.simulation import ObservedTests

FILE = "prior_parts.csv.gz"
COLUMNS = ("project", "nod", "lint", "features", "calls")


def observed_tests() -> ObservedTests:
    """All tests of the table; the NOD tests of one project are together drawn as often as those of another."""
    import numpy as np

    packed = (resources.files("flakehound.learn") / "facts" / FILE).read_bytes()
    rows = list(csv.DictReader(gzip.decompress(packed).decode("utf-8").splitlines()))
    nod = Counter(row["project"] for row in rows if row["nod"] == "1")
    return ObservedTests(
        flaky=np.array([int(row["nod"]) for row in rows]),
        score=np.array([float(row["lint"]) for row in rows]),
        features=np.array([float(row["features"]) for row in rows]),
        calls=np.array([row["calls"] == "1" for row in rows]),
        weight=np.array([1 / nod[row["project"]] if row["nod"] == "1" else 1.0 for row in rows]),
    )
