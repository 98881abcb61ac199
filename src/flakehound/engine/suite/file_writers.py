"""Which tests write files that runs share: only runs with one of them have to go alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import RunPlan, SingleRun, tests_of
from flakehound.engine.suite.lasting_files import FileGuard, WriteNote

# Share of the tests that may write shared files for other runs to go on at once. With more of them, most runs
# contain one, and one run at a time is simpler and loses little.
MAX_WRITERS_SHARE = 0.05


def left_out_beside(writers: frozenset[NodeId] | None, suite_size: int) -> frozenset[NodeId] | None:
    """The tests that must not run beside a run in which these wrote shared files so far; None: no test may."""
    return None if writers is None or len(writers) > MAX_WRITERS_SHARE * suite_size else writers


@dataclass(slots=True)
class FileWriters:
    """The tests that write the files of a guard."""

    guard: FileGuard
    tests: frozenset[NodeId] | None = None  # None: not all of them are known, or they are many

    def read(self, notes: Sequence[WriteNote], suite_size: int) -> None:
        """Determine the writers by what an observed run wrote."""
        shared = set(self.guard.restored_paths)
        relevant = [note for note in notes if note.path in shared]
        is_known = all(note.test and note.phase != "collection" for note in relevant)
        tests = frozenset(NodeId(note.test) for note in relevant)
        is_few = len(tests) <= MAX_WRITERS_SHARE * suite_size
        is_usable = is_known and is_few and not self.guard.has_unknown_changes
        self.tests = tests if is_usable else None

    def forget(self) -> None:
        """Make one run at a time from now on, because a run wrote shared files that should not."""
        self.tests = None

    @property
    def have_left_changes(self) -> bool:
        """Whether the shared files differ from their state after collection."""
        state = self.guard.collected_state
        return self.guard.is_active and state is not None and not state.is_unchanged

    def are_among(self, tests: Iterable[NodeId]) -> bool:
        """Whether a process with these tests writes shared files, or may."""
        return self.guard.is_active and (self.tests is None or not self.tests.isdisjoint(tests))

    def are_in(self, plan: RunPlan) -> bool:
        """Whether a run of the plan writes shared files, or may: then no other run may go on beside it."""
        return self.are_among(tests_of(plan))

    def are_in_copies_of(self, plan: RunPlan) -> bool:
        """Whether copies of one process would share the files that they write."""
        if isinstance(plan, SingleRun):
            return False
        return self.are_among(test for copy in plan.copies for test in copy.tests)
