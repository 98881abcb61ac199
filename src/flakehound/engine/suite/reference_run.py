"""The reference run: the suite once as plain pytest runs it, in a new interpreter."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from flakehound.core.errors import FlakehoundError
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Setting, SingleRun
from flakehound.core.records import RunRecord
from flakehound.engine.processes.collection_progress import CollectionProgress, read_collection_progress
from flakehound.engine.processes.handshake import Handshake, read_handshake
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.processes.spawn import RunFiles, Spawner
from flakehound.engine.suite.lasting_files import noted_writes
from flakehound.engine.suite.parallelism import fixed_addresses

_MAX_WAIT_FOR_CANCELLED_S = 3.0  # its guardian kills it within a tenth of a second
_FAILURE_LETTERS = (b"F", b"E")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """How far a run of the suite is that has collected."""

    tests: int
    ended: int
    failed: int
    tests_s: float  # since the collection


class ReferenceRun(threading.Thread):
    """A thread that runs the suite; its results are valid once it has ended without an error."""

    def __init__(self, target: Target, hash_seed: int, limits: Limits, folder: Path) -> None:
        """`folder` is for the files of the run, and for notes on what it writes and binds."""
        super().__init__(name="flakehound-reference", daemon=True)
        self._notes = folder / "watch"
        self._notes.mkdir(parents=True)
        self._files = RunFiles(folder / "r")
        self._target, self._hash_seed, self._limits = target, hash_seed, limits
        # Its own: the others of the suite can be cancelled without this one.
        self._spawner = Spawner(target, self._files.folder)
        self._events = _CountedEvents(self._files.events)
        self._collected: Handshake | None = None
        self._collected_at_s = math.inf
        self._deadline_s = math.inf
        self._started_at_s = 0.0
        self._expected_when_cut_s: float | None = None
        self.records: list[RunRecord] = []
        self.handshake: Handshake | None = None
        self.error: FlakehoundError | None = None
        self.wall_s = 0.0
        self.was_cut = False  # it ran into the limit of its time, so it is not complete
        self.went_beside_others = False  # other runs went on at the same time

    @property
    def writes(self) -> Path:
        """The file with notes on the lasting files that the run wrote."""
        return self._notes / "writes"

    @property
    def addresses(self) -> Path:
        """The file with notes on the network addresses that the run bound."""
        return self._notes / "addresses"

    @property
    def may_share_files(self) -> bool:
        """Whether it has written a file so far that other runs may write, too."""
        return any(noted_writes(self.writes))

    @property
    def file_writers(self) -> frozenset[NodeId] | None:
        """The tests that have written such files so far; None: they are not known."""
        notes = list(noted_writes(self.writes))
        is_known = all(note.test and note.phase != "collection" for note in notes)
        return frozenset(NodeId(note.test) for note in notes) if is_known else None

    @property
    def binds_addresses(self) -> bool:
        """Whether it has bound an address so far that every run binds."""
        return bool(fixed_addresses(self.addresses))

    @property
    def collection_progress(self) -> CollectionProgress:
        """How far its collection is."""
        return read_collection_progress(self._files.collecting)

    def collected(self) -> Handshake | None:
        """What it has collected; None while it collects. Raises the error that prevented the collection."""
        if self._collected is None and self._files.handshake.exists():
            self._collected = read_handshake(self._files.handshake, self._target)
            written_s = self._files.handshake.stat().st_mtime  # we may look later
            self._collected_at_s = time.monotonic() - max(0.0, time.time() - written_s)
        if self._collected is None and not self.is_alive() and self.error is not None:
            raise self.error
        return self._collected

    def limit(self, seconds: float) -> None:
        """Give the run this much time from now on."""
        self._deadline_s = time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        """Whether it has ended, or has used up its time."""
        return not self.is_alive() or time.monotonic() >= self._deadline_s

    @property
    def progress(self) -> RunProgress | None:
        """How far the run is; None while it collects."""
        if self._collected is None:
            return None
        self._events.read_new()
        return RunProgress(
            tests=len(self._collected.suite.tests),
            ended=self._events.ended,
            failed=self._events.failed,
            tests_s=max(0.0, time.monotonic() - self._collected_at_s),
        )

    def expected_wall_s(self) -> float | None:
        """How long a whole run takes: extrapolated from the tests so far, None if none has ended yet."""
        if self.was_cut:
            return self._expected_when_cut_s
        if not self.is_alive():
            return self.wall_s
        done = self.progress
        if done is None or not done.ended:
            return None
        return self._collected_at_s - self._started_at_s + done.tests_s * done.tests / done.ended

    def run(self) -> None:
        """Called in the thread."""
        plan = SingleRun(
            order=(),
            why="the suite as plain pytest runs it",
            setting=Setting.ORIGINAL,
            isolation=Isolation.SPAWN,
            hash_seed=self._hash_seed,
        )
        began = self._started_at_s = time.monotonic()
        try:
            self.records, self.handshake = self._spawner.run_watched(plan, self._limits, self._files, self._notes)
        except FlakehoundError as error:
            self.error = error
        except Exception as error:  # raised again by the thread that waits for this one
            self.error = FlakehoundError(f"the reference run failed: {error!r}", remedy="flakehound hunt --jobs 1")
        self.wall_s = time.monotonic() - began

    def stop(self) -> None:
        """Cancel the run if it is going on; what it has finished is in its records."""
        if self.is_alive():
            self._expected_when_cut_s = self.expected_wall_s()
            self.was_cut = True
            self._spawner.cancel()
            self.join(timeout=_MAX_WAIT_FOR_CANCELLED_S)


class _CountedEvents:
    """Counts the tests that have ended, while the event log grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self.ended = 0
        self.failed = 0

    def read_new(self) -> None:
        """Count what was written since the last call."""
        try:
            with open(self._path, "rb") as file:
                file.seek(self._offset)
                lines = file.read()
        except OSError:  # not written yet
            return
        complete = lines[: lines.rfind(b"\n") + 1]
        self._offset += len(complete)
        for line in complete.splitlines():
            if line.startswith(b"e "):
                self.ended += 1
                self.failed += line.split()[2:3] in ([letter] for letter in _FAILURE_LETTERS)
