"""The reference run: the suite once as plain pytest runs it, in a new interpreter."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from flakehound.core.errors import FlakehoundError
from flakehound.core.plans import Isolation, Setting, SingleRun
from flakehound.core.records import RunRecord
from flakehound.engine.processes.handshake import Handshake
from flakehound.engine.processes.limits import Limits
from flakehound.engine.processes.spawn import Spawner


class ReferenceRun(threading.Thread):
    """A thread that runs the suite; its results are valid once it has ended without an error."""

    def __init__(self, spawner: Spawner, hash_seed: int, limits: Limits, notes: Path) -> None:
        """`notes` is the folder for what the run writes and binds, see flakehound_inside.observe."""
        super().__init__(name="flakehound-reference", daemon=True)
        notes.mkdir(parents=True)
        self._notes = notes
        self._spawner, self._hash_seed, self._limits = spawner, hash_seed, limits
        self.records: list[RunRecord] = []
        self.handshake: Handshake | None = None
        self.error: FlakehoundError | None = None
        self.wall_s = 0.0

    @property
    def writes(self) -> Path:
        """The file with notes on the lasting files that the run wrote."""
        return self._notes / "writes"

    @property
    def addresses(self) -> Path:
        """The file with notes on the network addresses that the run bound."""
        return self._notes / "addresses"

    def run(self) -> None:
        """Called in the thread."""
        plan = SingleRun(
            order=(),
            why="the suite as plain pytest runs it",
            setting=Setting.ORIGINAL,
            isolation=Isolation.SPAWN,
            hash_seed=self._hash_seed,
        )
        began = time.monotonic()
        try:
            self.records, self.handshake = self._spawner.run_single(plan, self._limits, (), watch=self._notes)
        except FlakehoundError as error:
            self.error = error
        except Exception as error:  # raised again by the thread that waits for this one
            self.error = FlakehoundError(f"the reference run failed: {error!r}", remedy="flakehound hunt --jobs 1")
        self.wall_s = time.monotonic() - began

    def stop(self) -> None:
        """Cancel the run if it has been started."""
        if self.ident is not None:
            self._spawner.cancel()
            self.join(timeout=5.0)
