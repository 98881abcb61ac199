"""A hunt that is ready to search: the open suite, its session in the store, its budget and its seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flakehound.app.hunt.options import HuntOptions
from flakehound.app.progress import Progress
from flakehound.calls.characteristic_functions import CharacteristicFunctions
from flakehound.core.history import History
from flakehound.core.records import RunRecord
from flakehound.engine.suite.budget import Budget
from flakehound.engine.suite.open_suite import OpenSuite
from flakehound.store import SessionInfo, SourceFeatures, Store


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
        """Whether runs must not overlap, because tests change files of the project."""
        guard = self.opened.guard
        return guard is not None and guard.is_active

    def save_runs(self, records: Sequence[RunRecord]) -> None:
        """Store runs without adding them to the history; traced and measured runs are no evidence."""
        self.store.append(self.session_id, records)

    def save_source_features(self, features: SourceFeatures) -> None:
        """Store the features of the tests' source."""
        self.store.save_source_features(self.session_id, features)
