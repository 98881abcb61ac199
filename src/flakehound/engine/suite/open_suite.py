"""Opens a suite: collects it, makes the reference run, decides on isolation and the number of parallel runs."""

from __future__ import annotations

import contextlib
import math
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from flakehound.core.errors import same_command
from flakehound.core.plans import Isolation, RunPlan, Suite
from flakehound.core.records import RunRecord
from flakehound.engine.processes.collection_progress import CollectionProgress
from flakehound.engine.processes.forkserver import (
    COLLECTION_LIMIT_S,
    MAX_WAIT_FOR_END_S,
    ForkServer,
    collection_timeout_error,
)
from flakehound.engine.processes.handshake import CollectionFailed, CollectionTimeout, Handshake
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.processes.pool import Pool
from flakehound.engine.processes.spawn import Spawner
from flakehound.engine.suite.budget import Budget
from flakehound.engine.suite.compare_collections import common_part, self_seeded
from flakehound.engine.suite.file_writers import FileWriters
from flakehound.engine.suite.lasting_files import FileGuard, has_files, notes_in
from flakehound.engine.suite.notes import note_on_cut_run, note_on_files, notes_on_parallelism
from flakehound.engine.suite.opening_progress import OpeningProgress, OpeningReport, OpeningWatch
from flakehound.engine.suite.parallelism import Parallelism, fixed_addresses
from flakehound.engine.suite.reference_run import ReferenceRun
from flakehound.engine.temporary_folders import new_folder, remove_abandoned_folders

# A reference run that ends within this time after its collection is waited for: it decides how the suite is run,
# and most suites are that quick. Longer ones leave the other cores idle, so runs go on beside them.
GRACE_S = 5.0
# Share of the time left after collection that the reference run may take. Half: what it showed so far has to be
# followed up, and every test that it did not reach can still run elsewhere in the other half.
MAX_REFERENCE_SHARE = 0.5
_POLL_S = 0.02


@dataclass(slots=True)
class OpenSuite:
    """A suite that is ready to run, with everything that was started for it."""

    target: Target
    handshake: Handshake
    pool: Pool
    folder: Path
    isolation: Isolation
    hash_seed: int
    start_s: float  # interpreter and collection
    suite_s: float  # one whole plain run: interpreter, collection, tests; `start_s` until it is known
    parallelism: Parallelism
    first_limits: Limits  # of runs while no test has a time
    reference: tuple[RunRecord, ...] = ()  # empty until it has ended
    reference_run: ReferenceRun | None = None  # None when it has ended
    notes: list[str] = field(default_factory=list)  # for the user, about how the suite is run
    guard: FileGuard | None = None
    writers: FileWriters | None = None  # None until the reference run has ended
    server: ForkServer | None = None
    spawner: Spawner | None = None

    @property
    def suite(self) -> Suite:
        """The collected tests."""
        return self.handshake.suite

    def expected_suite_s(self) -> float | None:
        """The time of one whole plain run: extrapolated while the first one goes on; None: nothing is known."""
        return self.suite_s if self.reference_run is None else self.reference_run.expected_wall_s()

    @property
    def writes_files_so_far(self) -> bool:
        """Whether the reference run, which still goes on, has written files that runs share."""
        return self.reference_run is not None and self.reference_run.may_share_files

    @property
    def must_run_alone(self) -> bool:
        """Whether what is known of the reference run, which still goes on, makes runs beside it useless."""
        run = self.reference_run
        if run is None:
            return False
        imports_leave_files = self.server is not None and has_files(self.server.temporary)
        binds = run.binds_addresses and not self.parallelism.is_set_by_user
        return imports_leave_files or binds

    @property
    def runs_one_at_a_time(self) -> bool:
        """Whether no two runs may go on at once, because any test may write files that runs share."""
        return self.writers is not None and self.writers.are_among(())

    def goes_alone(self, plan: RunPlan) -> bool:
        """Whether no other run may go on beside this one: it was asked for, or the run writes shared files."""
        return plan.undisturbed or (self.writers is not None and self.writers.are_in(plan))

    @property
    def shares_state(self) -> bool:
        """Whether runs at the same time would disturb each other, as the reference run has shown."""
        is_guarded = self.guard is not None and self.guard.is_active
        return is_guarded or self.pool.jobs < self.parallelism.default_jobs

    def finish_reference(self, limit_s: float = math.inf) -> None:
        """End the reference run if it still goes on, and decide by what it showed how the suite is run.

        `limit_s` is the time for collecting again, which is needed if the collection writes files.
        """
        run, self.reference_run = self.reference_run, None
        if run is None:
            return
        run.stop()
        if run.error is not None and not run.was_cut:
            raise run.error
        self.suite_s = run.expected_wall_s() or run.wall_s
        # The session that collected for the forks ran at the same time.
        disturbed = self.server is not None or run.went_beside_others
        self.reference = tuple(replace(record, disturbed=disturbed) for record in run.records)
        if run.was_cut:
            self.notes.append(note_on_cut_run(run))
        addresses = fixed_addresses(run.addresses)
        self.pool.set_jobs(self.parallelism.for_suite(self.reference, addresses))
        if self.guard is not None:
            self._protect_files(self.guard, run.writes, limit_s)
        if self.guard is None or not self.guard.is_active:
            self.notes += notes_on_parallelism(self.pool.jobs, self.parallelism, addresses)

    def _protect_files(self, guard: FileGuard, writes: Path, limit_s: float) -> None:
        """Find out whether runs share files, and make each run start with the same content."""
        guard.read_notes(writes)
        guard.restore_for_spawn()
        if self.server is not None:
            if guard.written_at_collection:
                # Too late for another collection: then it is too late for any run.
                with contextlib.suppress(CollectionTimeout):
                    self.replace_server(limit_s)
            guard.save_collected_state(self.server.temporary)
        self.writers = FileWriters(guard)
        self.writers.read(list(notes_in(writes)), len(self.suite.tests))
        if guard.is_active:
            self.notes.append(note_on_files(self.writers, self.target.cwd))

    def replace_server(self, limit_s: float = math.inf) -> None:
        """Collect again in a new session, after a test has ended the old one."""
        if self.server is not None:
            self.server.close()
            self.server = ForkServer(
                self.target,
                self.folder / f"s{time.monotonic_ns()}",
                slots=self.parallelism.max_jobs,
                hash_seed=self.hash_seed,
                force_fork=True,
            )
            self.server.wait_until_collected(min(limit_s, COLLECTION_LIMIT_S))
            self.pool.set_server(self.server)
            if self.guard is not None:
                self.guard.save_collected_state(self.server.temporary)

    def close(self) -> None:
        """End what was started, restore the project's files, remove our own."""
        self.pool.close()
        if self.reference_run is not None:
            self.reference_run.stop()
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
    budget: Budget | None = None,
    during_collection: Callable[[], None] = lambda: None,
    report: OpeningReport = lambda _progress: None,
) -> OpenSuite:
    """Start everything that runs of a suite need.

    `jobs`: the number of parallel runs; None: as many as the reference run shows to be possible.
    `isolation`: None: forks, if a forked process behaves like a new one.
    `budget`: the time in which the suite has to be collected. A long reference run goes on when this returns; the
    caller has to call `finish_reference`. Without a budget, the end of the reference run is waited for.
    `during_collection` is called while pytest collects in another process, `report` while we wait for it.
    """
    remove_abandoned_folders()
    opener = _SuiteOpener(
        target=target,
        parallelism=Parallelism.of(jobs),
        isolation=isolation,
        hash_seed=hash_seed,
        limits=limits,
        with_reference=with_reference,
        budget=budget,
        report=report,
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
    reference: ReferenceRun | None
    server: ForkServer | None
    notes: list[str] = field(default_factory=list)

    @property
    def progress(self) -> OpeningProgress:
        """How far the slower one of the collections is, then the reference run."""
        sessions = [session for session in (self.server, self.reference) if session is not None]
        collections = [session.collection_progress for session in sessions]
        return OpeningProgress(
            collection=min(collections, key=lambda collection: (collection.files, collection.tests)),
            run=None if self.reference is None else self.reference.progress,
        )

    def stop(self, *, at_once: bool) -> None:
        """End everything; `at_once`: without waiting for the session to end by itself."""
        if self.server is not None:
            self.server.close(max_wait_s=0.0 if at_once else MAX_WAIT_FOR_END_S)
        if self.reference is not None:
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
    budget: Budget | None
    report: OpeningReport

    def open(self, during_collection: Callable[[], None], *, in_parallel: bool) -> OpenSuite:
        """Open the suite; `in_parallel`: the reference run starts while pytest collects for the forks."""
        folder = new_folder()
        try:
            started = self._start(folder)
            try:
                start_s = self._collect(started, during_collection, in_parallel=in_parallel)
                self._wait_for_short_run(started)
                return self._finish_opening(started, self._choose_isolation(started), start_s)
            except BaseException as error:
                started.stop(at_once=isinstance(error, CollectionTimeout))
                raise
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def _start(self, folder: Path) -> _StartedParts:
        # First, before anything runs: it copies the files of the project.
        guard = None
        if self.with_reference:
            nothing_yet = OpeningProgress(collection=CollectionProgress(), run=None)
            watch = OpeningWatch(lambda: nothing_yet, self.report)
            guard = FileGuard(self.target.cwd, folder / "files", watch.report_now_and_then)
        reference = None
        if self.with_reference or self.isolation is Isolation.SPAWN:
            reference = ReferenceRun(self.target, self.hash_seed, self.limits, folder)
        server = None
        if self.isolation is not Isolation.SPAWN:
            server = ForkServer(
                self.target,
                folder / "s",
                slots=self.parallelism.max_jobs,
                hash_seed=self.hash_seed,
                force_fork=self.isolation is Isolation.FORK,
            )
        spawner = Spawner(self.target, folder / "n")
        return _StartedParts(folder=folder, guard=guard, spawner=spawner, reference=reference, server=server)

    def _collect(
        self, started: _StartedParts, during_collection: Callable[[], None], *, in_parallel: bool
    ) -> float:
        """Wait for the collections; returns the time of the first one."""
        reference, watch = started.reference, OpeningWatch(lambda: started.progress, self.report)
        began = time.monotonic()
        if reference is not None and in_parallel:
            reference.start()
        during_collection()
        try:
            if started.server is not None:
                started.server.wait_until_collected(self._collection_limit_s(), watch.report_now_and_then)
            start_s = time.monotonic() - began
            if reference is not None:
                if not in_parallel:
                    reference.start()
                self._wait_for_reference(reference, watch)
        except CollectionTimeout as error:
            raise self._with_larger_budget(error, started.progress.collection) from None
        return start_s

    def _collection_limit_s(self) -> float:
        return COLLECTION_LIMIT_S if self.budget is None else min(COLLECTION_LIMIT_S, self.budget.left_s)

    def _wait_for_reference(self, reference: ReferenceRun, watch: OpeningWatch) -> None:
        """Wait until its interpreter has collected, too."""
        limit_s = self._collection_limit_s()
        deadline = time.monotonic() + limit_s
        while reference.collected() is None:
            if time.monotonic() > deadline:
                raise collection_timeout_error(self.target, limit_s)
            watch.report_now_and_then()
            reference.join(_POLL_S)

    def _with_larger_budget(self, error: CollectionTimeout, reached: CollectionProgress) -> CollectionTimeout:
        """The error for a collection that takes longer than the user's budget."""
        limit_s = None if self.budget is None else self.budget.limit_s
        if limit_s is None:
            return error
        place = f", in {reached.current_file}" if reached.current_file else ""
        return CollectionTimeout(
            f"pytest was still collecting after {limit_s:g} s, the whole budget: "
            f"{reached.tests} tests in {reached.files} files so far{place}",
            remedy=same_command(budget=f"{max(10, math.ceil(3 * limit_s / 60))}m"),
        )

    def _wait_for_short_run(self, started: _StartedParts) -> None:
        """Wait for a reference run that takes only a few seconds, or for any without a budget."""
        reference, watch = started.reference, OpeningWatch(lambda: started.progress, self.report)
        if reference is None:
            return
        grace_s = math.inf
        if self.budget is not None:
            reference.limit(MAX_REFERENCE_SHARE * self.budget.left_s)
            grace_s = GRACE_S
        deadline = time.monotonic() + grace_s
        while not reference.is_over and time.monotonic() < deadline:
            watch.report_now_and_then()
            reference.join(_POLL_S)

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
        collected = None if reference is None else reference.collected()
        handshakes += [collected] if collected is not None else []
        usable_server = server if isolation is Isolation.FORK else None
        pool = Pool(jobs=self.parallelism.default_jobs, spawner=started.spawner, server=usable_server)
        pool.self_seeded = self_seeded(handshakes)
        handshake = common_part(handshakes, notes)
        notes += [f"switched off {name}: {why}" for name, why in sorted(handshake.switched_off.items())]
        opened = OpenSuite(
            target=self.target,
            handshake=handshake,
            pool=pool,
            folder=started.folder,
            isolation=isolation,
            hash_seed=self.hash_seed,
            start_s=start_s,
            suite_s=start_s,
            parallelism=self.parallelism,
            first_limits=self.limits,
            reference_run=reference,
            notes=notes,
            guard=started.guard,
            server=usable_server,
            spawner=started.spawner,
        )
        if reference is not None and not reference.is_alive():
            opened.finish_reference(math.inf if self.budget is None else self.budget.left_s)
        return opened
