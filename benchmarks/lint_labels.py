"""Labels of flaky tests from four published tables, and the split of their projects.

A project is known by its normalised PyPI name. A project of python_idoft or python_order_dependent with the
repository of a python_flaky project is that project, whatever its name there. The splits:

* report: projects that nothing was ever tuned on. Only scripts look at them, and each use is logged.
* choice: models and settings are chosen by their scores on it; nobody looks at its tests.
* design: rules, signals and thresholds may be looked at and changed in view of it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flaky_sources import Key, key_of, read_table

DESIGN, CHOICE, REPORT = "design", "choice", "report"
SPLITS = (DESIGN, CHOICE, REPORT)
NOD, VICTIM, BRITTLE, OD = "nod", "victim", "brittle", "od"
NIO, INFRASTRUCTURE, UNKNOWN = "nio", "infrastructure", "unknown"
ORDER_DEPENDENT = (VICTIM, BRITTLE, OD)
LABELS = (NOD, *ORDER_DEPENDENT, NIO, INFRASTRUCTURE, UNKNOWN)
"""All labels; where the tables or the parameters of a test disagree, the first of these counts."""
NOT_JUDGED = (NIO, INFRASTRUCTURE, UNKNOWN)
"""Flaky in a way that lint does not rank: such tests count neither as flaky nor as steady."""

_IDOFT_CATEGORIES = {"OD-Vic": VICTIM, "OD-Brit": BRITTLE, "OD": OD, "NIO": NIO, "NOD": NOD}
_ORDER_TYPES = {"victim": VICTIM, "brittle": BRITTLE, "OD": OD}


@dataclass(slots=True, kw_only=True)
class LabelledProject:
    """A project with the labels of its flaky tests."""

    name: str  # normalised
    index_name: str  # as the table spells it
    split: str
    before: str  # the date before which an sdist probably has the labelled tests
    labels: dict[Key, str] = field(default_factory=dict)

    def add(self, key: Key, label: str) -> None:
        """Add a label; of two labels of one test the more important one counts."""
        known = self.labels.get(key, label)
        self.labels[key] = min(known, label, key=LABELS.index)


@dataclass(frozen=True, slots=True, kw_only=True)
class _LabelRow:
    project: str
    repository: str
    key: Key
    label: str


def normalised(name: str) -> str:
    """A project's name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def labelled_projects(data: Path) -> dict[str, LabelledProject]:
    """All projects of the four tables by normalised name."""
    projects: dict[str, LabelledProject] = {}
    name_of_repository: dict[str, str] = {}
    for table, is_report in (("python_flaky", False), ("python_flaky_report", True)):
        for row in _study_rows(data, table):
            name = normalised(row.project)
            name_of_repository.setdefault(row.repository, name)
            split = REPORT if is_report else tuning_split(name)
            _project(projects, row, name, split, "2021").add(row.key, row.label)
    for rows, is_report in ((_idoft_rows(data), True), (_order_dependent_rows(data), False)):
        for row in rows:
            name = normalised(row.project)
            if name not in projects:
                name = name_of_repository.get(row.repository, name)
            split = REPORT if is_report else tuning_split(name)
            _project(projects, row, name, split, "2022").add(row.key, row.label)
    return projects


def tuning_split(name: str) -> str:
    """Design or choice, for a project that is not in report; by a hash of the normalised name."""
    return (DESIGN, CHOICE)[hashlib.sha256(name.encode()).digest()[0] % 2]


def located(labels: Mapping[Key, str], files: frozenset[str]) -> dict[Key, str]:
    """The labels whose file is among these files; an sdist of a part of a repository has shorter paths."""
    found: dict[Key, str] = {}
    for (file, class_name, function), label in labels.items():
        if not function:
            continue  # the row names a file only
        path = next((path for path in _paths_in_sdist(file) if path in files), None)
        if path is not None:
            found[path, class_name, function] = label
    return found


def _paths_in_sdist(file: str) -> Iterator[str]:
    """The path itself, then without its first folders; a bare file name could be any file."""
    parts = file.split("/")
    yield file
    for first in range(1, len(parts) - 1):
        yield "/".join(parts[first:])


def _project(
    projects: dict[str, LabelledProject], row: _LabelRow, name: str, split: str, before: str
) -> LabelledProject:
    new = LabelledProject(name=name, index_name=row.project, split=split, before=before)
    return projects.setdefault(name, new)


def _study_rows(data: Path, table: str) -> Iterator[_LabelRow]:
    for row in read_table(data, table):
        order, infrastructure = row["Order-dependent"] == "True", row["Flaky_Infrastructure"] == "True"
        label = OD if order else INFRASTRUCTURE if infrastructure else NOD
        yield _LabelRow(
            project=row["Project_Name"], repository=_repository(row["Project_URL"]), key=key_of(row), label=label
        )


def _idoft_rows(data: Path) -> Iterator[_LabelRow]:
    for row in read_table(data, "python_idoft"):
        label = _IDOFT_CATEGORIES.get(row["category"], UNKNOWN)
        yield _LabelRow(
            project=row["project"], repository=_repository(row["url"]), key=_key_of_id(row["test"]), label=label
        )


def _order_dependent_rows(data: Path) -> Iterator[_LabelRow]:
    for row in read_table(data, "python_order_dependent"):
        label = _ORDER_TYPES[row["od_type"]]
        yield _LabelRow(
            project=row["project"], repository=_repository(row["url"]), key=_key_of_id(row["test_id"]), label=label
        )


def _key_of_id(test_id: str) -> Key:
    path, *inner = test_id.partition("[")[0].split("::")
    return path, inner[-2] if len(inner) > 1 else "", inner[-1] if inner else ""


def _repository(url: str) -> str:
    return re.sub(r"(\.git)?/*$", "", url.lower())
