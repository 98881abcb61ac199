"""Runs several plans in parallel, one per worker thread, and marks runs that were disturbed by others."""

from __future__ import annotations

import queue
import threading
import traceback
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from flakehound.core.errors import FlakehoundError
from flakehound.core.plans import Isolation, RunPlan
from flakehound.core.records import RunRecord
from flakehound.engine.processes.forkserver import ForkServer
from flakehound.engine.processes.limits import Limits
from flakehound.engine.processes.spawn import Spawner

_POLL_S = 0.2  # between two calls of `while_waiting`


@dataclass(slots=True, eq=False)
class Job:
    """A plan that waits for a worker, runs, or has finished."""

    plan: RunPlan
    limits: Limits
    disturbed: bool = False
    started_s: float = 0.0  # by the monotonic clock, as the next one; the pool uses neither
    expected_end_s: float = 0.0
    is_cancelled: bool = False
    is_done: bool = False
    records: tuple[RunRecord, ...] = ()
    error: FlakehoundError | None = None


class Pool:
    """Worker threads, each running one plan at a time."""

    def __init__(self, *, jobs: int, spawner: Spawner, server: ForkServer | None) -> None:
        self.jobs = jobs
        self.self_seeded: Collection[str] = ()  # random generators that the project seeds itself
        self._spawner = spawner
        self._server = server
        self._waiting: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self.running: list[Job] = []
        self.is_disturbed = False  # by a run that is not one of the jobs
        self._threads: list[threading.Thread] = []
        self._start_threads()

    def set_jobs(self, jobs: int) -> None:
        """Change the number of parallel runs."""
        self.jobs = jobs
        self._start_threads()

    def _start_threads(self) -> None:
        for number in range(len(self._threads), self.jobs):
            thread = threading.Thread(target=self._work, args=(number,), name=f"flakehound-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def submit(self, plan: RunPlan, limits: Limits) -> Job:
        """Queue a plan for the next free worker."""
        job = Job(plan=plan, limits=limits, disturbed=self.is_disturbed)
        # Queue it first: if the user interrupts us in between, `running` must not contain a job that no worker
        # gets.
        self._waiting.put(job)
        self.running.append(job)
        if len(self.running) > 1:
            for other in self.running:
                other.disturbed = True
        return job

    def run_now(
        self, plan: RunPlan, limits: Limits, while_waiting: Callable[[], None] = lambda: None
    ) -> tuple[RunRecord, ...]:
        """Run one plan and wait for it; others that finish meanwhile are returned by `next_finished` later."""
        job = self.submit(plan, limits)
        while not job.is_done:
            self._from_queue(_POLL_S)
            while_waiting()
        self._take(job)
        if job.error is not None:
            raise job.error
        return job.records

    def next_finished(self, timeout_s: float) -> Job | None:
        """A finished job; None if none finished in time."""
        job = self._from_queue(timeout_s) or next((running for running in self.running if running.is_done), None)
        if job is None:
            return None
        self._take(job)
        return job

    def _take(self, job: Job) -> None:
        self.running.remove(job)
        job.records = tuple(replace(record, disturbed=job.disturbed) for record in job.records)

    def _from_queue(self, timeout_s: float) -> Job | None:
        """The next finished job; None if there is none, or an interrupt lost it (then its `is_done` is set)."""
        try:
            job = self._done.get(timeout=max(0.0, timeout_s))
        except queue.Empty:
            return None
        return job if job in self.running else None

    def set_server(self, server: ForkServer) -> None:
        """Use another collected session from now on."""
        self._server = server

    def cancel(self) -> None:
        """End every run; the tests that each has finished are returned as usual."""
        for job in self.running:
            job.is_cancelled = True
        if self._server is not None:
            for slot in self._server.slots:
                slot.cancel()
        self._spawner.cancel()

    def close(self) -> None:
        """End the worker threads."""
        for _thread in self._threads:
            self._waiting.put(None)

    def _work(self, number: int) -> None:
        while True:
            job = self._waiting.get()
            if job is None:
                return
            try:
                job.records = tuple(self._run(job, number))
            except FlakehoundError as error:
                job.error = error
            except Exception as error:  # otherwise the hunt would wait forever for a dead worker
                message = f"the engine could not run a plan ({job.plan.why}): {error!r}"
                job.error = FlakehoundError(message, detail=traceback.format_exc())
            job.is_done = True
            self._done.put(job)

    def _run(self, job: Job, number: int) -> list[RunRecord]:
        if job.plan.isolation is Isolation.SPAWN or self._server is None:
            return self._spawner.run(job.plan, job.limits, self.self_seeded, lambda: job.is_cancelled)
        return self._server.slots[number].run(job.plan, job.limits, self.self_seeded, lambda: job.is_cancelled)
