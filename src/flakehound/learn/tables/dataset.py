"""A table of tests: named features, projects, outcome counts and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from dataclasses import fields as fields_of
from typing import TypeVar

from flakehound.core.errors import FlakehoundError
from flakehound.learn.extras import Array
from flakehound.learn.tables.problems import OutcomeCounts, Problem

Found = TypeVar("Found")
UNKNOWN = -1  # nobody looked whether the test is a polluter


class UnusableData(FlakehoundError):
    """A table that nothing can be learned from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """Rows that were left out, and why."""

    why: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """A problem's labels, for the tests of its domain."""

    problem: Problem
    domain: Array  # places in the data set, ascending
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
        """Domain and labels of a problem; an error where the table cannot tell them."""
        import numpy as np

        everything = np.arange(len(self))
        if problem is Problem.LABELLED:
            return Labels(problem=problem, domain=everything, positive=self._needed(problem, "label", self.label))
        if problem is Problem.POLLUTER_VS_REST:
            found = self._needed(problem, "polluter", self.polluter)
            told = np.flatnonzero(found != UNKNOWN)
            return Labels(problem=problem, domain=told, positive=found[told])
        counts = self._needed(problem, "outcome counts", self.counts)
        if problem is Problem.VICTIM_VS_REST:
            return Labels(problem=problem, domain=everything, positive=counts.is_victim.astype(int))
        domain = np.flatnonzero(counts.can_be_classified) if problem is Problem.NOD_VS_VICTIM else everything
        return Labels(problem=problem, domain=domain, positive=counts.is_nod.astype(int)[domain])

    def _needed(self, problem: Problem, what: str, found: Found | None) -> Found:
        if found is None:
            raise UnusableData(f"{self.name!r} has no {what}, which {problem.value} needs")
        return found

    def rows(self, places: Array) -> Dataset:
        """The tests at these places, in their order."""
        counts = self.counts and OutcomeCounts(
            **{field.name: getattr(self.counts, field.name)[places] for field in fields_of(OutcomeCounts)}
        )
        return replace(
            self,
            ids=self.ids[places],
            projects=self.projects[places],
            values=self.values[places],
            counts=counts,
            label=_at(self.label, places),
            polluter=_at(self.polluter, places),
            cost_s=_at(self.cost_s, places),
            words=None if self.words is None else tuple(self.words[place] for place in places),
        )

    def of_known_polluters(self) -> Dataset:
        """The tests of which somebody looked whether they are polluters."""
        import numpy as np

        return self if self.polluter is None else self.rows(np.flatnonzero(self.polluter != UNKNOWN))

    def with_features(self, names: Sequence[str]) -> Dataset:
        """The same tests with these features only."""
        places = [self.features.index(name) for name in names]
        return replace(self, features=tuple(names), values=self.values[:, places])


def _at(values: Array | None, places: Array) -> Array | None:
    return None if values is None else values[places]
