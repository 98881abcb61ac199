"""Opens a suite: collects it, makes the reference run, decides on isolation and the number of parallel runs."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from flakehound.core.plans import Isolation, Suite
from flakehound.core.records import RunRecord
from flakehound.engine.processes.forkserver import ForkServer
from flakehound.engine.processes.handshake import CollectionFailed, Handshake
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.processes.pool import Pool
from flakehound.engine.processes.spawn import Spawner
from flakehound.engine.suite.lasting_files import FileGuard
from flakehound.engine.suite.parallelism import Parallelism, fixed_addresses
from flakehound.engine.suite.reference_run import ReferenceRun
from flakehound.engine.temporary_folders import new_folder, remove_abandoned_folders


@dataclass(slots=True)
class OpenSuite:
    """A suite that is ready to run, with everything that was started for it."""

    target: Target
    handshake: Handshake
    pool: Pool
    folder: Path
    isolation: Isolation
    hash_seed: int
    suite_s: float  # one whole plain run: interpreter, collection, tests
    start_s: float  # interpreter and collection
    reference: tuple[RunRecord, ...] = ()
    notes: list[str] = field(default_factory=list)  # for the user, about how the suite is run
    guard: FileGuard | None = None
    server: ForkServer | None = None
    spawner: Spawner | None = None

    @property
    def suite(self) -> Suite:
        """The collected tests."""
        return self.handshake.suite

    def replace_server(self) -> None:
        """Collect again in a new session, after a test has ended the old one."""
        if self.server is not None:
            self.server.close()
            self.server = ForkServer(
                self.target,
                self.folder / f"s{time.monotonic_ns()}",
                slots=self.pool.jobs,
                hash_seed=self.hash_seed,
                force_fork=True,
            )
            self.server.wait_until_collected()
            self.pool.set_server(self.server)
            if self.guard is not None:
                self.guard.save_collected_state(self.server.temporary)

    def close(self) -> None:
        """End what was started, restore the project's files, remove our own."""
        self.pool.close()
        if self.server is not None:
            self.server.close()
        if self.guard is not None:
            self.guard.restore_for_spawn()
        shutil.rmtree(self.folder, ignore_errors=True)


def open_suite(
    target: Target,
    *,
    jobs: int | None,
    isolation: Isolation | None,
    hash_seed: int,
    limits: Limits,
    with_reference: bool = True,
    during_collection: Callable[[], None] = lambda: None,
) -> OpenSuite:
    """Start everything that runs of a suite need.

    `jobs`: the number of parallel runs; None: as many as the reference run shows to be possible.
    `isolation`: None: forks, if a forked process behaves like a new one.
    `during_collection` is called while pytest collects in another process.
    """
    remove_abandoned_folders()
    opener = _SuiteOpener(
        target=target,
        parallelism=Parallelism.of(jobs),
        isolation=isolation,
        hash_seed=hash_seed,
        limits=limits,
        with_reference=with_reference,
    )
    try:
        return opener.open(during_collection, in_parallel=True)
    except CollectionFailed:
        if not with_reference or isolation is Isolation.SPAWN:
            raise
        # Two collections at the same time may have disturbed each other, for example by creating the same folder.
        return opener.open(lambda: None, in_parallel=False)


@dataclass(slots=True, kw_only=True)
class _StartedParts:
    """What has been started in a folder while a suite is being opened."""

    folder: Path
    guard: FileGuard | None
    spawner: Spawner
    reference: ReferenceRun
    server: ForkServer | None
    notes: list[str] = field(default_factory=list)

    def stop(self) -> None:
        """End everything."""
        if self.server is not None:
            self.server.close()
        self.reference.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class _SuiteOpener:
    """The options of `open_suite`, and the steps that need them."""

    target: Target
    parallelism: Parallelism
    isolation: Isolation | None
    hash_seed: int
    limits: Limits
    with_reference: bool

    def open(self, during_collection: Callable[[], None], *, in_parallel: bool) -> OpenSuite:
        """Open the suite; `in_parallel`: the reference run starts while pytest collects for the forks."""
        folder = new_folder()
        try:
            started = self._start(folder)
            try:
                start_s = self._collect(started, during_collection, in_parallel=in_parallel)
                isolation = self._choose_isolation(started)
            except BaseException:
                started.stop()
                raise
            return self._finish_opening(started, isolation, start_s)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def _start(self, folder: Path) -> _StartedParts:
        # First, before anything runs: it copies the files of the project.
        guard = FileGuard(self.target.cwd, folder / "files") if self.with_reference else None
        spawner = Spawner(self.target, folder / "n")
        reference = ReferenceRun(spawner, self.hash_seed, self.limits, folder / "watch")
        server = None
        if self.isolation is not Isolation.SPAWN:
            server = ForkServer(
                self.target,
                folder / "s",
                slots=self.parallelism.max_jobs,
                hash_seed=self.hash_seed,
                force_fork=self.isolation is Isolation.FORK,
            )
        return _StartedParts(folder=folder, guard=guard, spawner=spawner, reference=reference, server=server)

    def _collect(
        self, started: _StartedParts, during_collection: Callable[[], None], *, in_parallel: bool
    ) -> float:
        """Wait for the collection and the reference run; returns the time of the collection."""
        reference = started.reference if self.with_reference or started.server is None else None
        began = time.monotonic()
        if reference is not None and in_parallel:
            reference.start()
        during_collection()
        if started.server is not None:
            started.server.wait_until_collected()
        start_s = time.monotonic() - began
        if reference is not None:
            if not in_parallel:
                reference.start()
            reference.join()
            if reference.error is not None:
                raise reference.error
        return start_s

    def _choose_isolation(self, started: _StartedParts) -> Isolation:
        """Choose forks if they are faithful or the user asked for them; else close the session that forks."""
        if started.server is None:
            return Isolation.SPAWN
        reason = "; ".join(started.server.handshake.against_forking)
        if reason and self.isolation is not Isolation.FORK:
            started.notes.append(f"every run gets a new interpreter instead of a fork: {reason}")
            started.server.close()
            return Isolation.SPAWN
        if reason:
            started.notes.append(f"forks as asked, although they may not be faithful: {reason}")
        return Isolation.FORK

    def _finish_opening(self, started: _StartedParts, isolation: Isolation, start_s: float) -> OpenSuite:
        reference, server, notes = started.reference, started.server, started.notes
        handshakes = [server.handshake] if server is not None else []
        handshakes += [reference.handshake] if reference.handshake is not None else []
        usable_server = server if isolation is Isolation.FORK else None
        addresses = fixed_addresses(reference.addresses)
        jobs = self.parallelism.for_suite(reference.records, addresses)
        pool = Pool(jobs=jobs, spawner=started.spawner, server=usable_server)
        pool.self_seeded = _self_seeded(handshakes)
        handshake = _common_part(handshakes, notes)
        notes += [f"switched off {name}: {why}" for name, why in sorted(handshake.switched_off.items())]
        opened = OpenSuite(
            target=self.target,
            handshake=handshake,
            pool=pool,
            folder=started.folder,
            isolation=isolation,
            hash_seed=self.hash_seed,
            suite_s=reference.wall_s if reference.handshake is not None else start_s,
            start_s=start_s,
            # The session that collected for the forks ran at the same time.
            reference=tuple(replace(record, disturbed=usable_server is not None) for record in reference.records),
            notes=notes,
            guard=started.guard,
            server=usable_server,
            spawner=started.spawner,
        )
        if started.guard is not None:
            _protect_files(opened, started.guard, reference.writes)
        if started.guard is None or not started.guard.is_active:
            notes += _notes_on_parallelism(jobs, self.parallelism, addresses)
        return opened


def _self_seeded(handshakes: Sequence[Handshake]) -> tuple[str, ...]:
    """Random generators that two collections left in the same state: the project seeds them itself."""
    if len(handshakes) < 2:
        return ()
    first, second = handshakes
    return tuple(name for name, state in first.digests.items() if second.digests.get(name) == state)


def _common_part(handshakes: Sequence[Handshake], notes: list[str]) -> Handshake:
    """The first collection, with only the tests that every collection found.

    Ids made from random values or the order of a set differ between collections.
    """
    first, *others = handshakes
    common = set(first.suite.order).intersection(*(other.suite.order for other in others))
    tests = tuple(test for test in first.suite.tests if test.id in common)
    missing = len(first.suite.tests) - len(tests)
    if missing:
        example = next(test.id for test in first.suite.tests if test.id not in common)
        notes.append(f"{missing} tests have another id in each collection and are left out, such as {example}")
    return replace(first, suite=Suite(tests=tests))


def _notes_on_parallelism(jobs: int, parallelism: Parallelism, addresses: Sequence[str]) -> list[str]:
    if jobs > parallelism.default_jobs:
        return [f"the tests mostly wait: {jobs} runs at once instead of {parallelism.default_jobs}"]
    if jobs < parallelism.default_jobs:
        names = ", ".join(addresses[:3])
        return [f"every run binds the same addresses ({names}): runs go one at a time; --jobs N allows more"]
    return []


def _protect_files(opened: OpenSuite, guard: FileGuard, writes: Path) -> None:
    """Find out whether runs share files, and make each run start with the same content."""
    guard.read_notes(writes)
    guard.restore_for_spawn()
    if opened.server is not None:
        if guard.written_at_collection:
            opened.replace_server()
        guard.save_collected_state(opened.server.temporary)
    if guard.is_active:
        opened.notes.append(_note_on_files(guard, opened.target.cwd))


def _note_on_files(guard: FileGuard, folder: Path) -> str:
    if guard.written:
        names = ", ".join(os.path.relpath(path, folder) for path in guard.written[:3])
        return (
            f"the suite writes lasting files ({names}): "
            "runs go one at a time and the files are put back before each"
        )
    if guard.changed_by_unknown:
        names = ", ".join(guard.changed_by_unknown[:3])
        return f"files changed while the suite ran ({names}): runs go one at a time"
    return "modules make temporary files when imported: runs go one at a time, files put back"
