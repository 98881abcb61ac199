"""Run a plan in a new interpreter: the reference that forks are checked against."""

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
from flakehound.engine.processes.call_lines import as_request
from flakehound.engine.processes.decode import RunFacts, records_from
from flakehound.engine.processes.file_open_watch import FileOpenWatch
from flakehound.engine.processes.forkserver import COLLECTION_LIMIT_S, no_session
from flakehound.engine.processes.handshake import Handshake, read_handshake
from flakehound.engine.processes.launch import Target, start, wishes_of
from flakehound.engine.processes.limits import Limits

_OUTPUT_KEPT = 16384


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordWish:
    """What to record while a test runs."""

    root: Path  # the project, or the repository that it is a part of
    files: tuple[Path, ...] | None = None  # whose executed lines are wanted; None: of every file below the root
    # Files that are no Python: noticed when anybody opens them, native code too, of which Python hears nothing.
    watched: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """A run, and what it depends on."""

    records: tuple[RunRecord, ...]
    handshake: Handshake
    # `flakehound/dependencies/1` as the recorder wrote it; None: it could not, the process died.
    dependencies: Mapping[str, Any] | None


class Spawner:
    """Starts new interpreters, one per run; safe to use from several threads."""

    def __init__(self, target: Target, folder: Path) -> None:
        self._target = target
        self._folder = folder
        self._serial = itertools.count()
        self._bells: dict[int, socket.socket] = {}  # thread -> rings to call its run off

    def run(
        self,
        plan: RunPlan,
        limits: Limits,
        self_seeded: Collection[str],
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> list[RunRecord]:
        """Run one plan; each of its orders in an interpreter of its own."""
        seeds = [plan.seed] if isinstance(plan, SingleRun) else [copy.seed for copy in plan.copies]
        records = []
        for order, seed in zip(plan.orders, seeds, strict=True):
            if is_cancelled():
                break
            single = replace(single_run(plan, order), isolation=Isolation.SPAWN, seed=seed)
            records += self.run_single(single, limits, self_seeded)[0]
        return records

    def run_single(
        self, plan: SingleRun, limits: Limits, self_seeded: Collection[str], watch: Path | None = None
    ) -> tuple[list[RunRecord], Handshake]:
        """Run one order; an empty order means the whole suite as collected.

        With `watch`, the lasting files it writes are noted and saved in that folder.
        """
        with self._own_folder() as folder:
            return self._run_in(folder, plan, limits, self_seeded, watch=str(watch) if watch else None)

    def run_recorded(
        self, plan: SingleRun, limits: Limits, self_seeded: Collection[str], wish: RecordWish
    ) -> RecordedRun:
        """Run one order and record what it depends on: imports and collection included."""
        with self._own_folder() as folder:
            written = folder / "dependencies.json"
            files = None if wish.files is None else [str(file) for file in wish.files]
            record = {"path": str(written), "files": files, "root": str(wish.root)}
            with contextlib.closing(FileOpenWatch(wish.watched)) as watch:
                records, handshake = self._run_in(folder, plan, limits, self_seeded, record=record)
                opened = [os.path.realpath(path) for path in watch.opened()]
            dependencies = json.loads(written.read_text()) if written.exists() else None
            if dependencies is not None:
                dependencies["opened"] = sorted({*dependencies.get("opened", ()), *opened})
        return RecordedRun(records=tuple(records), handshake=handshake, dependencies=dependencies)

    @contextlib.contextmanager
    def _own_folder(self) -> Iterator[Path]:
        folder = self._folder / f"n{next(self._serial)}"
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _run_in(
        self, folder: Path, plan: SingleRun, limits: Limits, self_seeded: Collection[str], **wishes: object
    ) -> tuple[list[RunRecord], Handshake]:
        request = self._request(folder, plan, limits, self_seeded)
        settings = {
            "mode": "once",
            "handshake": str(folder / "suite.json"),
            "request": request,
            "ours": str(self._folder.parent),
            **wishes,
        }
        began = time.time()
        end = self._run_interpreter(folder, settings, plan.hash_seed)
        if not (folder / "suite.json").exists():
            raise no_session(self._target, folder / "output", end["code"])
        handshake = read_handshake(folder / "suite.json", self._target)
        output = tail_of(folder / "output") if end_is_bad(end) else ""
        events = (folder / "events").read_bytes() if (folder / "events").exists() else b""
        whole = replace(plan, order=plan.order or handshake.suite.order)
        return records_from(whole, events, RunFacts(end=end, output=output, started_s=began)), handshake

    def _run_interpreter(self, folder: Path, settings: Mapping[str, Any], hash_seed: int | None) -> dict[str, Any]:
        ours, theirs = socket.socketpair()
        with ours:
            self._bells[threading.get_ident()] = ours
            try:
                with theirs:
                    process = start(
                        self._target,
                        {**settings, "peer": theirs.fileno()},
                        folder=folder,
                        output=folder / "output",
                        hash_seed=hash_seed,
                        pass_fds=[theirs.fileno()],
                    )
                return _wait(process, ours, folder)
            finally:
                del self._bells[threading.get_ident()]

    def _request(
        self, folder: Path, plan: SingleRun, limits: Limits, self_seeded: Collection[str]
    ) -> dict[str, Any]:
        return {
            "ids": list(plan.order),
            "seed": plan.seed,
            "self_seeded": list(self_seeded),
            "events": str(folder / "events"),
            "output": str(folder / "output"),
            "tmp": str(folder / "t"),
            "collection_limit_s": COLLECTION_LIMIT_S,
            "test_limit_s": limits.test_limit_s,
            "run_limit_s": plan.timeout_s or limits.run_limit_s,
            "memory_bytes": self._target.memory_bytes,
            "trace": as_request(plan.trace),
            "random_state": str(self._target.random_state) if self._target.random_state else None,
            **wishes_of(plan, self._target),
        }

    def cancel(self) -> None:
        """End every interpreter that runs now."""
        for bell in list(self._bells.values()):
            with contextlib.suppress(OSError):
                bell.send(b"!")


def _wait(process: subprocess.Popen[bytes], guardian: socket.socket, folder: Path) -> dict[str, Any]:
    """How the interpreter ended, told by the guardian between it and us."""
    told = b""
    with guardian.makefile("rb") as incoming, contextlib.suppress(ConnectionResetError):
        told = incoming.readline()
    code = process.wait()
    if told:
        end: dict[str, Any] = json.loads(told)
        return end
    _end_strays(folder)
    return {"code": code if code >= 0 else None, "signal": -code if code < 0 else None, "cut": "", "above": True}


def _end_strays(folder: Path) -> None:
    """End what a killed guardian no longer can: every process whose environment names the run's own folder."""
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if bytes(folder / "t") in environment.read_bytes():
                os.kill(int(environment.parent.name), signal.SIGKILL)


def tail_of(path: Path) -> str:
    """The last words of a process; the whole may be huge."""
    with open(path, "rb") as output:
        output.seek(max(0, output.seek(0, os.SEEK_END) - _OUTPUT_KEPT))
        return output.read().decode(errors="replace")


def end_is_bad(end: Mapping[str, Any]) -> bool:
    """Whether the process did not end by itself with code 0."""
    return bool(end["signal"] or end["code"] or end["cut"])
