"""Run plans in new interpreters, one per run."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flakehound.core.plans import Isolation, RunPlan, SingleRun, single_run
from flakehound.core.records import RunRecord
from flakehound.engine.processes.call_lines import trace_request
from flakehound.engine.processes.decode import ProcessFacts, records_from
from flakehound.engine.processes.file_open_watch import FileOpenWatch
from flakehound.engine.processes.forkserver import COLLECTION_LIMIT_S, no_session_error
from flakehound.engine.processes.handshake import Handshake, read_handshake
from flakehound.engine.processes.launch import Target, observation_request, start_session
from flakehound.engine.processes.limits import Limits

_OUTPUT_TAIL_BYTES = 16384


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingRequest:
    """Which dependencies of a test to record while it runs."""

    root: Path  # the project, or the repository that it is a part of
    files: tuple[Path, ...] | None = None  # whose executed lines are recorded; None: every file below the root
    # Other files, of which it is recorded whether any process opens them. Native code raises no audit event.
    watched: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """A run, and the dependencies of its test."""

    records: tuple[RunRecord, ...]
    handshake: Handshake
    # `flakehound/dependencies/1` as the recorder wrote it; None: the process died before it was written.
    dependencies: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The files of a run in a new interpreter."""

    folder: Path

    @property
    def handshake(self) -> Path:
        """Written when the suite is collected, see `read_handshake`."""
        return self.folder / "suite.json"

    @property
    def collecting(self) -> Path:
        """How far the collection is, see `read_collection_progress`."""
        return self.folder / "collecting"

    @property
    def events(self) -> Path:
        """One line per event, see flakehound_inside.events."""
        return self.folder / "events"


class Spawner:
    """Starts new interpreters, one per run; safe to use from several threads."""

    def __init__(self, target: Target, folder: Path) -> None:
        self._target = target
        self._folder = folder
        self._serial = itertools.count()
        self._cancel_sockets: dict[int, socket.socket] = {}  # thread -> the socket by which its run is cancelled

    def run(
        self,
        plan: RunPlan,
        limits: Limits,
        self_seeded: Collection[str],
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> list[RunRecord]:
        """Run a plan, each of its orders in an interpreter of its own."""
        seeds = [plan.seed] if isinstance(plan, SingleRun) else [copy.seed for copy in plan.copies]
        records = []
        for order, seed in zip(plan.orders, seeds, strict=True):
            if is_cancelled():
                break
            single = replace(single_run(plan, order), isolation=Isolation.SPAWN, seed=seed)
            records += self.run_single(single, limits, self_seeded)[0]
        return records

    def run_single(
        self, plan: SingleRun, limits: Limits, self_seeded: Collection[str]
    ) -> tuple[list[RunRecord], Handshake]:
        """Run one order; an empty order means the whole suite as collected."""
        with self._temporary_folder() as folder:
            return self._run_in(folder, plan, limits, self_seeded)

    def run_watched(
        self, plan: SingleRun, limits: Limits, files: RunFiles, notes: Path
    ) -> tuple[list[RunRecord], Handshake]:
        """Run one order with files that the caller reads meanwhile.

        The run notes and saves in the folder `notes` the lasting files that it writes.
        """
        files.folder.mkdir(parents=True)
        try:
            return self._run_in(files.folder, plan, limits, (), watch=str(notes), collecting=str(files.collecting))
        finally:
            shutil.rmtree(files.folder / "t", ignore_errors=True)

    def run_recorded(
        self, plan: SingleRun, limits: Limits, self_seeded: Collection[str], request: RecordingRequest
    ) -> RecordedRun:
        """Run one order and record what it depends on, imports and collection included."""
        with self._temporary_folder() as folder:
            dependencies_path = folder / "dependencies.json"
            files = None if request.files is None else [str(file) for file in request.files]
            recording = {"path": str(dependencies_path), "files": files, "root": str(request.root)}
            with contextlib.closing(FileOpenWatch(request.watched)) as watch:
                records, handshake = self._run_in(folder, plan, limits, self_seeded, record=recording)
                opened_paths = [os.path.realpath(path) for path in watch.opened_files()]
            dependencies = json.loads(dependencies_path.read_text()) if dependencies_path.exists() else None
            if dependencies is not None:
                dependencies["opened"] = sorted({*dependencies.get("opened", ()), *opened_paths})
        return RecordedRun(records=tuple(records), handshake=handshake, dependencies=dependencies)

    @contextlib.contextmanager
    def _temporary_folder(self) -> Iterator[Path]:
        folder = self._folder / f"n{next(self._serial)}"
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _run_in(
        self, folder: Path, plan: SingleRun, limits: Limits, self_seeded: Collection[str], **observations: object
    ) -> tuple[list[RunRecord], Handshake]:
        request = self._request(folder, plan, limits, self_seeded)
        files = RunFiles(folder)
        settings = {
            "mode": "once",
            "handshake": str(files.handshake),
            "request": request,
            "ours": str(self._folder.parent),
            **observations,
        }
        started_s = time.time()
        end = self._run_interpreter(folder, settings, plan.hash_seed)
        if not files.handshake.exists():
            raise no_session_error(self._target, folder / "output", end["code"])
        handshake = read_handshake(files.handshake, self._target)
        output = _output_tail(folder / "output") if _is_error(end) else ""
        events = files.events.read_bytes() if files.events.exists() else b""
        full_plan = replace(plan, order=plan.order or handshake.suite.order)
        facts = ProcessFacts(end=end, output=output, started_s=started_s)
        return records_from(full_plan, events, facts), handshake

    def _run_interpreter(self, folder: Path, settings: Mapping[str, Any], hash_seed: int | None) -> dict[str, Any]:
        ours, theirs = socket.socketpair()
        with ours:
            self._cancel_sockets[threading.get_ident()] = ours
            try:
                with theirs:
                    process = start_session(
                        self._target,
                        {**settings, "peer": theirs.fileno()},
                        folder=folder,
                        output=folder / "output",
                        hash_seed=hash_seed,
                        pass_fds=[theirs.fileno()],
                    )
                return _wait(process, ours, folder)
            finally:
                del self._cancel_sockets[threading.get_ident()]

    def _request(
        self, folder: Path, plan: SingleRun, limits: Limits, self_seeded: Collection[str]
    ) -> dict[str, Any]:
        return {
            "ids": list(plan.order),
            "seed": plan.seed,
            "self_seeded": list(self_seeded),
            "events": str(RunFiles(folder).events),
            "output": str(folder / "output"),
            "tmp": str(folder / "t"),
            "collection_limit_s": COLLECTION_LIMIT_S,
            "test_limit_s": limits.test_limit_s,
            "run_limit_s": plan.timeout_s or limits.run_limit_s,
            "memory_bytes": self._target.memory_bytes,
            "trace": trace_request(plan.trace),
            "random_state": str(self._target.random_state) if self._target.random_state else None,
            **observation_request(plan, self._target),
        }

    def cancel(self) -> None:
        """End every interpreter that runs now."""
        for peer in list(self._cancel_sockets.values()):
            with contextlib.suppress(OSError):
                peer.send(b"!")


def _wait(process: subprocess.Popen[bytes], guardian: socket.socket, folder: Path) -> dict[str, Any]:
    """How the interpreter ended, as reported by its parent, see flakehound_inside.worker.guardian."""
    report = b""
    with guardian.makefile("rb") as incoming, contextlib.suppress(ConnectionResetError):
        report = incoming.readline()
    code = process.wait()
    if report:
        end: dict[str, Any] = json.loads(report)
        return end
    _kill_remaining(folder)
    return {"code": code if code >= 0 else None, "signal": -code if code < 0 else None, "cut": "", "above": True}


def _kill_remaining(folder: Path) -> None:
    """Kill the processes of a run whose guardian was killed: their environment contains the run's folder."""
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if bytes(folder / "t") in environment.read_bytes():
                os.kill(int(environment.parent.name), signal.SIGKILL)


def _output_tail(path: Path) -> str:
    """The end of what a process printed; the whole output may be huge."""
    with open(path, "rb") as output:
        output.seek(max(0, output.seek(0, os.SEEK_END) - _OUTPUT_TAIL_BYTES))
        return output.read().decode(errors="replace")


def _is_error(end: Mapping[str, Any]) -> bool:
    """Whether a process did not end by itself with code 0."""
    return bool(end["signal"] or end["code"] or end["cut"])
