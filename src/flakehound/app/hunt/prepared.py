"""A hunt that is ready to search: the open suite, its session in the store, its budget and its seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flakehound.app.hunt.causes_by_calls import reserved_for_causes_s
from flakehound.app.hunt.earlier_hunts import EarlierHunts
from flakehound.app.hunt.options import HuntOptions
from flakehound.app.progress import Progress
from flakehound.calls.characteristic_functions import CharacteristicFunctions
from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.records import RunRecord
from flakehound.engine.suite.budget import Budget
from flakehound.engine.suite.loop import WorkDone
from flakehound.engine.suite.open_suite import OpenSuite
from flakehound.store import SessionInfo, SourceFeatures, Store


def set_default_budget(budget: Budget, opened: OpenSuite) -> None:
    """Set the default time by that of the suite, as far as it is known, and reserve a part for causes."""
    # While the first run goes on, the suite takes at least as long as it has taken so far.
    known_s = opened.expected_suite_s()
    budget.set_default(budget.spent_s if known_s is None else known_s)
    budget.reserve(reserved_for_causes_s(budget.limit_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedHunt:
    """What every step of a hunt works with. The budget shrinks and the history grows during the search."""

    options: HuntOptions
    opened: OpenSuite
    store: Store
    session: SessionInfo
    history: History  # the runs that are evidence for verdicts
    budget: Budget
    characteristic_functions: CharacteristicFunctions
    progress: Progress
    seed: int  # of the random choices since this start; another one after a resume
    earlier: EarlierHunts  # the hunts of the same suite before this one
    work_done: WorkDone = field(default_factory=WorkDone)  # by all runs of the search so far

    @property
    def session_id(self) -> int:
        """The number of the hunt's session in its store."""
        assert self.session.id is not None
        return self.session.id

    @property
    def rootdir(self) -> Path:
        """The suite's root folder, as pytest determined it."""
        return Path(self.opened.handshake.rootdir)

    @property
    def jobs(self) -> int:
        """How many runs may go on at once, as far as the suite's files allow."""
        return 1 if self.runs_serially else self.opened.pool.jobs

    @property
    def runs_serially(self) -> bool:
        """Whether runs must not overlap, because any test may change files that runs share."""
        return self.opened.runs_one_at_a_time

    @property
    def tests_that_write(self) -> frozenset[NodeId]:
        """The tests that write files that runs share, where these are known: no other run goes on beside them."""
        writers = self.opened.writers
        return frozenset() if writers is None or not writers.guard.is_active else writers.tests or frozenset()

    def save_runs(self, records: Sequence[RunRecord]) -> None:
        """Store runs without adding them to the history; traced and measured runs are no evidence."""
        self.store.append(self.session_id, records)

    def save_source_features(self, features: SourceFeatures) -> None:
        """Store the features of the tests' source."""
        self.store.save_source_features(self.session_id, features)
