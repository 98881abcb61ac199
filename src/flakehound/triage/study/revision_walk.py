"""Walk from the newest revision to older ones and count, per test, the changes that do not affect it.

For each change the walk asks what a triage asks: if the test failed after it, could the change be the cause? A
test that a change does not affect has the same dependencies before it, so only the other tests are recorded again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from flakehound.core.outcomes import NodeId
from flakehound.triage.changes import ChangedEntity, FileChange, Reach
from flakehound.triage.dependencies import RecordedDependencies
from flakehound.triage.intersection import Intersection, intersect
from flakehound.triage.study.carried_lines import carried_back
from flakehound.triage.study.figures import DisjointShare


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionStep:
    """One change, compared with all tests."""

    older: str
    newer: str
    changed: int  # entities
    compared: int  # tests that exist before and after the change
    disjoint: int  # tests that the change does not affect


@dataclass(slots=True)
class RevisionWalk:
    """The current revision of the walk: what each test depends on there, and what was counted so far."""

    # By test of the current revision; None: it could not be recorded.
    known: dict[NodeId, RecordedDependencies | None] = field(default_factory=dict)
    disjoint: Counter[NodeId] = field(default_factory=Counter)
    compared: Counter[NodeId] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)  # why a test was not disjoint from a change
    steps: list[RevisionStep] = field(default_factory=list)

    def missing(self, tests: Iterable[NodeId]) -> list[NodeId]:
        """The tests of this revision that have to be recorded here."""
        return [test for test in tests if test not in self.known]

    def add_recorded(self, recorded: Mapping[NodeId, RecordedDependencies | None]) -> None:
        """Add what was recorded at this revision."""
        self.known.update(recorded)

    def go_back(self, change: RevisionChange, tests: Collection[NodeId]) -> RevisionStep:
        """Go to the revision before a change, which has these tests."""
        remaining = [test for test in self.known if test in tests]
        found = {test: change.intersection_with(test, self.known[test]) for test in remaining}
        self.known = {
            test: dependencies
            for test, intersection in found.items()
            if intersection.is_disjoint and (dependencies := change.before(self.known[test])) is not None
        }
        self._count(found)
        step = RevisionStep(
            older=change.older,
            newer=change.newer,
            changed=len(change.entities),
            compared=len(found),
            disjoint=sum(intersection.is_disjoint for intersection in found.values()),
        )
        self.steps.append(step)
        return step

    def _count(self, found: Mapping[NodeId, Intersection]) -> None:
        for test, intersection in found.items():
            self.compared[test] += 1
            if intersection.is_disjoint:
                self.disjoint[test] += 1
            else:
                self.reasons[_reason(intersection)] += 1

    def shares(self) -> dict[NodeId, DisjointShare]:
        """Per test, how many of its changes were disjoint."""
        return {
            test: DisjointShare(disjoint=self.disjoint[test], compared=compared)
            for test, compared in self.compared.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionChange:
    """The difference between two revisions, which are checked out to the same folder one after the other."""

    older: str
    newer: str
    files: Sequence[FileChange]
    entities: Sequence[ChangedEntity]
    root: str  # of the repository
    rootdir: str  # pytest's

    def intersection_with(self, test: NodeId, dependencies: RecordedDependencies | None) -> Intersection:
        """Whether a test depends on the change."""
        return intersect(self.entities, dependencies, test=test, root=self.root, rootdir=self.rootdir)

    def before(self, dependencies: RecordedDependencies | None) -> RecordedDependencies | None:
        """The dependencies before the change of a test that it does not affect; None: to be recorded again."""
        return carried_back(dependencies, self.files, root=self.root) if dependencies is not None else None


# Of several reasons the first in this order is counted.
_REASONS = {
    Reach.BODY: "it executes a changed function",
    Reach.TEST: "the test itself changed",
    Reach.CONTENT: "it reads a changed file",
    Reach.IMPORT: "it imports a module whose definitions or statements changed",
    Reach.NAME: "it imports a module that came or went",
    Reach.EVERY: "configuration, native code or the like changed",
}
DOUBT = "only a doubt: what it depends on is not fully known"


def _reason(intersection: Intersection) -> str:
    reaches = {touch.entity.reach for touch in intersection.touches}
    return next((reason for reach, reason in _REASONS.items() if reach in reaches), DOUBT)
