"""Open a suite: start the collected session and the reference run, and decide how runs are isolated."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from flakehound.core.errors import FlakehoundError
from flakehound.core.plans import Isolation, Setting, SingleRun, Suite
from flakehound.core.records import RunRecord
from flakehound.engine.processes.forkserver import ForkServer
from flakehound.engine.processes.handshake import CollectionFailed, Handshake
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.processes.pool import Pool
from flakehound.engine.processes.spawn import Spawner
from flakehound.engine.suite.lasting_files import FileGuard
from flakehound.engine.suite.parallelism import Parallelism, fixed_addresses

FOLDER = "fh-"  # short: tests put sockets below it, whose paths may be 107 characters long


@dataclass(slots=True)
class OpenSuite:
    """A suite that is ready to run, and everything started for it."""

    target: Target
    handshake: Handshake
    pool: Pool
    folder: Path
    isolation: Isolation
    hash_seed: int
    suite_s: float  # one whole plain run: interpreter, collection, tests
    start_s: float  # interpreter and collection
    reference: tuple[RunRecord, ...] = ()
    notes: list[str] = field(default_factory=list)  # what the user should know about how we run
    guard: FileGuard | None = None
    server: ForkServer | None = None
    spawner: Spawner | None = None

    @property
    def suite(self) -> Suite:
        """The tests to hunt."""
        return self.handshake.suite

    def replace_server(self) -> None:
        """Start the collected session anew after a test took it down."""
        if self.server is not None:
            self.server.close()
            self.server = ForkServer(
                self.target,
                self.folder / f"s{time.monotonic_ns()}",
                slots=self.pool.jobs,
                hash_seed=self.hash_seed,
                force=True,
            )
            self.server.wait_until_collected()
            self.pool.use(self.server)
            if self.guard is not None:
                self.guard.remember_collected(self.server.temporary)

    def close(self) -> None:
        """End what was started, put the project's files back, remove our own."""
        self.pool.close()
        if self.server is not None:
            self.server.close()
        if self.guard is not None:
            self.guard.before_spawn()
        shutil.rmtree(self.folder, ignore_errors=True)


class _Reference(threading.Thread):
    """The suite once as plain pytest would run it, in a new interpreter."""

    def __init__(self, spawner: Spawner, hash_seed: int, limits: Limits, notes: Path) -> None:
        super().__init__(name="flakehound-reference", daemon=True)
        self.notes = notes  # what it wrote, see flakehound_inside.observe.writes
        notes.mkdir(parents=True)
        self._spawner, self._hash_seed, self._limits = spawner, hash_seed, limits
        self.records: list[RunRecord] = []
        self.handshake: Handshake | None = None
        self.error: FlakehoundError | None = None
        self.wall_s = 0.0

    def run(self) -> None:
        plan = SingleRun(
            order=(),
            why="the suite as plain pytest runs it",
            setting=Setting.ORIGINAL,
            isolation=Isolation.SPAWN,
            hash_seed=self._hash_seed,
        )
        began = time.monotonic()
        try:
            self.records, self.handshake = self._spawner.run_single(plan, self._limits, (), watch=self.notes)
        except FlakehoundError as error:
            self.error = error
        except Exception as error:  # told to the user by the thread that waits, not lost with this one
            self.error = FlakehoundError(f"the reference run failed: {error!r}", remedy="flakehound hunt --jobs 1")
        self.wall_s = time.monotonic() - began


def open_suite(
    target: Target,
    *,
    jobs: int | None,
    isolation: Isolation | None,
    hash_seed: int,
    limits: Limits,
    with_reference: bool = True,
    meanwhile: Callable[[], None] = lambda: None,
) -> OpenSuite:
    """Start everything a hunt needs; `isolation` None means: fork where a fork is faithful.

    `jobs` None means: as many runs at once as the cores bear, by what the reference run shows.
    `meanwhile` is done here while pytest collects there.
    """
    sweep_up_after_the_killed()
    parallelism = Parallelism.of(jobs)

    def opened(meanwhile: Callable[[], None], *, beside: bool) -> OpenSuite:
        folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER}{os.getpid()}-"))
        try:
            return _open(
                target, parallelism, isolation, hash_seed, limits, with_reference, folder, meanwhile, beside
            )
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    try:
        return opened(meanwhile, beside=True)
    except CollectionFailed:
        if not with_reference or isolation is Isolation.SPAWN:
            raise
        # Perhaps two collections at once were in each other's way: both may make the same folder.
        return opened(lambda: None, beside=False)


def sweep_up_after_the_killed() -> None:
    """Remove folders of hunts that could not: their process is gone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER}*"):
        owner = folder.name[len(FOLDER) :].partition("-")[0]
        with contextlib.suppress(OSError):
            if owner.isdigit() and folder.stat().st_uid == os.getuid() and not is_alive(int(owner)):
                shutil.rmtree(folder, ignore_errors=True)


def is_alive(pid: int) -> bool:
    """Whether there is such a process, ours or not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _open(
    target: Target,
    parallelism: Parallelism,
    isolation: Isolation | None,
    hash_seed: int,
    limits: Limits,
    with_reference: bool,
    folder: Path,
    meanwhile: Callable[[], None],
    beside: bool,
) -> OpenSuite:
    guard = FileGuard(target.cwd, folder / "files") if with_reference else None
    spawner = Spawner(target, folder / "n")
    reference = _Reference(spawner, hash_seed, limits, folder / "watch")
    server = None
    if isolation is not Isolation.SPAWN:
        server = ForkServer(
            target, folder / "s", slots=parallelism.largest, hash_seed=hash_seed, force=isolation is Isolation.FORK
        )
    try:
        wanted = reference if with_reference or server is None else None
        handshake, start_s = _collected(server, wanted, meanwhile, beside=beside)
        suite_s = start_s if wanted is None else wanted.wall_s
        server, chosen, notes = _settle_isolation(server, handshake, isolation)
    except BaseException:
        if server is not None:
            server.close()
        if reference.ident is not None:
            spawner.cancel()
            reference.join(timeout=5.0)
        raise
    addresses = fixed_addresses(reference.notes / "addresses")
    pool = Pool(jobs=parallelism.for_suite(reference.records, addresses), spawner=spawner, server=server)
    told = _agreed(handshake, reference.handshake, pool, notes)
    opened = OpenSuite(
        target=target,
        handshake=told,
        pool=pool,
        folder=folder,
        isolation=chosen,
        hash_seed=hash_seed,
        suite_s=suite_s,
        start_s=start_s,
        # The session that collects for the forks ran beside it.
        reference=tuple(replace(record, disturbed=server is not None) for record in reference.records),
        notes=notes,
        guard=guard,
        server=server,
        spawner=spawner,
    )
    if guard is not None:
        _protect_files(opened, guard, reference.notes / "writes")
    if guard is None or not guard.active:
        notes += _notes_on_parallelism(pool.jobs, parallelism, addresses)
    return opened


def _collected(
    server: ForkServer | None, reference: _Reference | None, meanwhile: Callable[[], None], *, beside: bool
) -> tuple[Handshake | None, float]:
    """What the server's session collected, and in which time; the reference runs beside it, or when it is done."""
    began = time.monotonic()
    if reference is not None and beside:
        reference.start()
    meanwhile()
    handshake = server.wait_until_collected() if server is not None else None
    start_s = time.monotonic() - began
    if reference is not None:
        if not beside:
            reference.start()
        reference.join()
        if reference.error is not None:
            raise reference.error
    return handshake, start_s


def _agreed(first: Handshake | None, second: Handshake | None, pool: Pool, notes: list[str]) -> Handshake:
    """What two collections agree on, or what the only one says."""
    told = first or second
    assert told is not None
    if first is not None and second is not None:
        pool.self_seeded = _self_seeded(first, second)
        told = _stable_part(first, second, notes)
    notes += _notes_on_plugins(told)
    return told


def _settle_isolation(
    server: ForkServer | None, handshake: Handshake | None, asked: Isolation | None
) -> tuple[ForkServer | None, Isolation, list[str]]:
    if server is None or handshake is None:
        return None, Isolation.SPAWN, []
    if not handshake.against_forking:
        return server, Isolation.FORK, []
    reason = "; ".join(handshake.against_forking)
    if asked is Isolation.FORK:
        return server, Isolation.FORK, [f"forks as asked, although they may not be faithful: {reason}"]
    server.close()
    return None, Isolation.SPAWN, [f"every run gets a new interpreter instead of a fork: {reason}"]


def _notes_on_parallelism(jobs: int, parallelism: Parallelism, addresses: Sequence[str]) -> list[str]:
    if jobs > parallelism.usual:
        return [f"the tests mostly wait: {jobs} runs at once instead of {parallelism.usual}"]
    if jobs < parallelism.usual:
        names = ", ".join(addresses[:3])
        return [f"every run binds the same addresses ({names}): runs go one at a time; --jobs N allows more"]
    return []


def _self_seeded(first: Handshake, second: Handshake) -> tuple[str, ...]:
    """Generators that two collections left in the same state: the project seeds them itself."""
    return tuple(name for name, state in first.digests.items() if second.digests.get(name) == state)


def _stable_part(first: Handshake, second: Handshake, notes: list[str]) -> Handshake:
    """The tests both collections found; ids made from random values or set order come and go."""
    again = set(second.suite.order)
    stable = tuple(test for test in first.suite.tests if test.id in again)
    lost = len(first.suite.tests) - len(stable)
    if lost:
        example = next(test.id for test in first.suite.tests if test.id not in again)
        notes.append(f"{lost} tests have another id in each collection and are left out, such as {example}")
    return replace(first, suite=Suite(tests=stable))


def _notes_on_plugins(handshake: Handshake) -> list[str]:
    return [f"switched off {name}: {why}" for name, why in sorted(handshake.switched_off.items())]


def _protect_files(opened: OpenSuite, guard: FileGuard, notes: Path) -> None:
    """Decide whether runs share files, and make them start from the same ones."""
    guard.read_notes(notes)
    guard.before_spawn()
    if opened.server is not None:
        if guard.at_collection:
            opened.replace_server()
        guard.remember_collected(opened.server.temporary)
    if not guard.active:
        return
    if not guard.written and guard.unclear:
        names = ", ".join(guard.unclear[:3])
        opened.notes.append(f"files changed while the suite ran ({names}): runs go one at a time")
        return
    if not guard.written:
        opened.notes.append("modules make temporary files when imported: runs go one at a time, files put back")
        return
    names = ", ".join(os.path.relpath(path, opened.target.cwd) for path in guard.written[:3])
    opened.notes.append(
        f"the suite writes lasting files ({names}): runs go one at a time and the files are put back before each"
    )
