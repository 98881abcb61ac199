"""Talk to a collected session that forks a child per request."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from flakehound.core.errors import FlakehoundError
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order, RunPlan, SingleRun, Walk, single_run
from flakehound.core.records import RunRecord
from flakehound.engine.processes.call_lines import as_request
from flakehound.engine.processes.decode import RunFacts, orders_left, records_from
from flakehound.engine.processes.handshake import (
    Handshake,
    SuiteUnusable,
    numbers_of,
    pytest_command,
    read_handshake,
)
from flakehound.engine.processes.launch import Target, start, wishes_of
from flakehound.engine.processes.limits import Limits

COLLECTION_LIMIT_S = 600.0
_LAST_WORDS = 4000
_ATTEMPTS = 3
_LETTERS = {"fails": "F", "passes": "P", None: ""}  # of outcomes, in requests


class ServerLost(FlakehoundError):
    """The collected session is gone; the engine starts another one."""


class ForkServer:
    """One collected session and its slots."""

    def __init__(self, target: Target, folder: Path, *, slots: int, hash_seed: int, force: bool = False) -> None:
        self.hash_seed = hash_seed
        self._target = target
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._output = folder / "output"
        self.temporary = folder / "t"  # see launch.start
        self._handshake_path = folder / "suite.json"
        self._control, theirs = socket.socketpair()
        pairs = [socket.socketpair() for _ in range(slots)]
        self.slots = [ForkSlot(ours, self, folder / f"{n}") for n, (ours, _theirs) in enumerate(pairs)]
        given = [theirs, *(their for _ours, their in pairs)]
        settings = {
            "mode": "serve",
            "force_fork": force,
            "folder": str(folder),
            "handshake": str(self._handshake_path),
            "control": theirs.fileno(),
            "slots": [their.fileno() for _ours, their in pairs],
        }
        self._process = start(
            target,
            settings,
            folder=folder,
            output=self._output,
            hash_seed=hash_seed,
            pass_fds=[end.fileno() for end in given],
        )
        for end in given:
            end.close()
        self.numbers: dict[NodeId, int] = {}

    def wait_until_collected(self, limit_s: float = COLLECTION_LIMIT_S) -> Handshake:
        """The session's handshake; an error in pytest's own words when there is none."""
        deadline = time.monotonic() + limit_s
        while not self._handshake_path.exists():
            if self._process.poll() is not None and not self._handshake_path.exists():
                raise no_session(self._target, self._output, self._process.returncode)
            if time.monotonic() > deadline:
                raise collection_hangs(self._target, limit_s)
            time.sleep(0.005)
        handshake = read_handshake(self._handshake_path, self._target)
        self.numbers = numbers_of(self._handshake_path)
        return handshake

    def close(self) -> None:
        """Hang up, and end the session if it does not go by itself."""
        for slot in self.slots:
            slot.hang_up()
        self._control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2.0)
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class ForkSlot:
    """One child at a time."""

    def __init__(self, peer: socket.socket, server: ForkServer, path: Path) -> None:
        self._peer = peer
        self._server = server
        self._events = path.with_suffix(".events")
        self._output = path.with_suffix(".output")
        self._incoming = peer.makefile("rb")
        self._serial = 0  # of the request asked last; an answer to an earlier one is passed over

    def run(
        self,
        plan: RunPlan,
        limits: Limits,
        self_seeded: Collection[str],
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> list[RunRecord]:
        """Run one plan and wait for it."""
        plan = replace(plan, hash_seed=self._server.hash_seed)
        began = time.time()
        reply, events = self._ask(self._request(plan, limits, self_seeded), is_cancelled)
        facts = RunFacts(end=reply["ended"], output=reply.get("output", ""), started_s=began)
        records = records_from(plan, events, facts)
        for order in orders_left(plan, events):
            records += self.run(single_run(plan, order), limits, self_seeded, is_cancelled)
        return records

    def _request(self, plan: RunPlan, limits: Limits, self_seeded: Collection[str]) -> Mapping[str, Any]:
        return {
            **_processes_of(plan, self._server.numbers),
            "seed": plan.seed,
            "self_seeded": list(self_seeded),
            "events": str(self._events),
            "output": str(self._output),
            "test_limit_s": limits.test_limit_s,
            "run_limit_s": plan.timeout_s or limits.run_limit_s,
            "memory_bytes": self._server._target.memory_bytes,
            "trace": as_request(plan.trace),
            **wishes_of(plan, self._server._target),
        }

    def _ask(self, request: Mapping[str, Any], is_cancelled: Callable[[], bool]) -> tuple[dict[str, Any], bytes]:
        for _attempt in range(_ATTEMPTS):
            self._serial += 1
            self._events.write_bytes(b"")
            try:
                self._peer.sendall(json.dumps({**request, "id": self._serial}).encode() + b"\n")
                if is_cancelled():
                    self.cancel()  # a cancel sent before the request did not reach it
                reply, events = self._reply()
            except OSError as broken:
                raise ServerLost(f"the collected pytest session does not answer: {broken}") from broken
            if reply is not None:
                return reply, events
        raise ServerLost("the collected pytest session does not take requests")

    def _reply(self) -> tuple[dict[str, Any] | None, bytes]:
        """The answer to the request asked last; None when the slot died before it took the request."""
        while True:
            line = self._incoming.readline()
            if not line.endswith(b"\n"):
                raise ServerLost("the collected pytest session is gone")
            reply = json.loads(line)
            events = self._incoming.read(reply.get("events", 0))
            if reply.get("id") == self._serial:
                return reply, events
            if "slot_died" in reply:
                events = self._events.read_bytes() if self._events.exists() else b""
                if not events:
                    return None, b""
                if events.startswith(b"r %d\n" % reply["pid"]):
                    # The test killed the process above its own: that is its outcome.
                    end = {"signal": reply["slot_died"] or signal.SIGKILL, "above": True}
                    return {"ended": end}, events

    def cancel(self) -> None:
        """End the child that runs now, if any; what it finished is kept."""
        with contextlib.suppress(OSError):
            self._peer.sendall(b'{"cancel": true}\n')

    def hang_up(self) -> None:
        """Close our end; the slot ends."""
        with contextlib.suppress(OSError):
            self._peer.shutdown(socket.SHUT_RDWR)
        self._peer.close()


def _processes_of(plan: RunPlan, numbers: Mapping[NodeId, int]) -> dict[str, Any]:
    """The part of a request that says what runs in which copy of the session."""

    def numbered(order: Order) -> list[int | None]:
        # A session started anew may lack a test whose id is made from random values: None is passed over.
        return [numbers.get(test) for test in order]

    if isinstance(plan, SingleRun):
        return {"order": numbered(plan.order), "branches": [], "at": [], "until": ""}
    return {
        "order": numbered(plan.trunk),
        "branches": [numbered(copy.tests) for copy in plan.copies],
        "at": list(plan.stops) if isinstance(plan, Walk) else [],
        "until": _LETTERS[plan.until] if isinstance(plan, Walk) else "",
    }


def no_session(target: Target, output: Path, code: int | None) -> SuiteUnusable:
    """pytest ended before it had collected."""
    words = output.read_text(errors="replace")[-_LAST_WORDS:].strip() if output.exists() else ""
    if "No module named pytest" in words or "No module named 'pytest'" in words:
        return SuiteUnusable(
            f"{target.python} has no pytest",
            remedy=shlex.join([target.python, "-m", "pip", "install", "pytest"]),
        )
    return SuiteUnusable(
        f"pytest ended with code {code} before it had collected the suite",
        remedy=pytest_command(target, "--collect-only"),
        detail=words,
    )


def collection_hangs(target: Target, limit_s: float) -> SuiteUnusable:
    """pytest collects for too long."""
    return SuiteUnusable(
        f"pytest did not finish collecting within {limit_s:g} s",
        remedy=pytest_command(target, "--collect-only"),
    )
