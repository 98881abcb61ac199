"""Figures of the 30 projects of CANNIER (tables 3, 8, 9 and 10), to check our formulas."""

from __future__ import annotations

import csv
from dataclasses import dataclass, fields
from importlib import resources


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedProject:
    """One project of the tables; costs are in seconds with three digits, as printed."""

    project: str
    tests: int
    nod: int
    victims: int
    polluters: int
    pairs: int
    cost_s: float  # of one run of all tests
    rerun_original_s: float
    rerun_cannier_s: float
    classified: int  # tests of NOD-vs-Victim in table 9
    classification_original_s: float
    classification_cannier_s: float
    detected_pairs: int
    pairwise_original_s: float
    pairwise_cannier_s: float


def published_projects() -> tuple[PublishedProject, ...]:
    """All 30 projects, in the order of the tables."""
    types = {
        field.name: {"int": int, "float": float}.get(str(field.type), str) for field in fields(PublishedProject)
    }
    text = (resources.files("flakehound.learn") / "facts" / "cannier_projects.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return tuple(PublishedProject(**{name: types[name](value) for name, value in row.items()}) for row in rows)
