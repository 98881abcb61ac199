"""A table of tests: named features, projects, outcome counts and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from dataclasses import fields as fields_of
from typing import TypeVar

from flakehound.core.errors import FlakehoundError
from flakehound.learn.extras import Array
from flakehound.learn.tables.problems import OutcomeCounts, Problem

Column = TypeVar("Column")
UNKNOWN = -1  # label of a test that may or may not be a polluter


class UnusableData(FlakehoundError):
    """A table that nothing can be learned from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """How many rows were left out for one reason."""

    why: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """The labels of a problem for the tests of its domain."""

    problem: Problem
    domain: Array  # rows of the data set, ascending
    positive: Array  # 0 or 1, as long as the domain


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Tests in rows, features in named columns."""

    name: str
    ids: Array  # of str
    projects: Array  # of str
    features: tuple[str, ...]
    values: Array  # tests × features, float
    counts: OutcomeCounts | None = None
    label: Array | None = None  # 0 or 1
    polluter: Array | None = None  # 0, 1, or UNKNOWN
    cost_s: Array | None = None
    words: tuple[str, ...] | None = None  # of each test's source
    exclusions: tuple[Exclusion, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    def labels(self, problem: Problem) -> Labels:
        """Domain and labels of a problem; raises UnusableData if the table lacks a column for it."""
        import numpy as np

        all_rows = np.arange(len(self))
        if problem is Problem.LABELLED:
            return Labels(problem=problem, domain=all_rows, positive=self._require(problem, "label", self.label))
        if problem is Problem.POLLUTER_VS_REST:
            polluter = self._require(problem, "polluter", self.polluter)
            known = np.flatnonzero(polluter != UNKNOWN)
            return Labels(problem=problem, domain=known, positive=polluter[known])
        counts = self._require(problem, "outcome counts", self.counts)
        if problem is Problem.VICTIM_VS_REST:
            return Labels(problem=problem, domain=all_rows, positive=counts.is_victim.astype(int))
        domain = np.flatnonzero(counts.can_be_classified) if problem is Problem.NOD_VS_VICTIM else all_rows
        return Labels(problem=problem, domain=domain, positive=counts.is_nod.astype(int)[domain])

    def _require(self, problem: Problem, name: str, column: Column | None) -> Column:
        if column is None:
            raise UnusableData(f"{self.name!r} has no {name}, which {problem.value} needs")
        return column

    def select_rows(self, rows: Array) -> Dataset:
        """The tests in these rows, in their order."""
        counts = self.counts and OutcomeCounts(
            **{field.name: getattr(self.counts, field.name)[rows] for field in fields_of(OutcomeCounts)}
        )
        return replace(
            self,
            ids=self.ids[rows],
            projects=self.projects[rows],
            values=self.values[rows],
            counts=counts,
            label=_select(self.label, rows),
            polluter=_select(self.polluter, rows),
            cost_s=_select(self.cost_s, rows),
            words=None if self.words is None else tuple(self.words[row] for row in rows),
        )

    def with_known_polluters(self) -> Dataset:
        """The tests that are known to be polluters or not."""
        import numpy as np

        return self if self.polluter is None else self.select_rows(np.flatnonzero(self.polluter != UNKNOWN))

    def with_features(self, names: Sequence[str]) -> Dataset:
        """The same tests with only these features."""
        columns = [self.features.index(name) for name in names]
        return replace(self, features=tuple(names), values=self.values[:, columns])


def _select(values: Array | None, rows: Array) -> Array | None:
    return None if values is None else values[rows]
