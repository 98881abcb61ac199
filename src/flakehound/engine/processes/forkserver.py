"""A collected pytest session that forks one child per request: start it, send requests, read replies."""

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
from flakehound.engine.processes.call_lines import trace_request
from flakehound.engine.processes.collection_progress import CollectionProgress, read_collection_progress
from flakehound.engine.processes.decode import ProcessFacts, orders_left, records_from
from flakehound.engine.processes.handshake import (
    CollectionTimeout,
    Handshake,
    SuiteUnusable,
    pytest_command,
    read_handshake,
    read_item_numbers,
)
from flakehound.engine.processes.launch import Target, observation_request, start_session
from flakehound.engine.processes.limits import Limits

COLLECTION_LIMIT_S = 600.0
MAX_WAIT_FOR_END_S = 2.0  # for a collected session to end by itself
_OUTPUT_TAIL = 4000  # characters that an error message shows
_MAX_ATTEMPTS = 3  # to send a request to a slot that died
_OUTCOME_LETTERS = {"fails": "F", "passes": "P", None: ""}  # in requests


class ServerLost(FlakehoundError):
    """The collected session has ended; the engine starts another one."""


class ForkServer:
    """One collected session and its slots."""

    def __init__(
        self, target: Target, folder: Path, *, slots: int, hash_seed: int, force_fork: bool = False
    ) -> None:
        self.hash_seed = hash_seed
        self._target = target
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._output = folder / "output"
        self.temporary = folder / "t"  # see launch.start
        self._handshake_path = folder / "suite.json"
        self._collecting = folder / "collecting"
        self._control, theirs = socket.socketpair()
        pairs = [socket.socketpair() for _ in range(slots)]
        self.slots = [ForkSlot(ours, self, folder / f"{n}") for n, (ours, _theirs) in enumerate(pairs)]
        child_sockets = [theirs, *(their for _ours, their in pairs)]
        settings = {
            "mode": "serve",
            "force_fork": force_fork,
            "folder": str(folder),
            "handshake": str(self._handshake_path),
            "collecting": str(self._collecting),
            "control": theirs.fileno(),
            "slots": [their.fileno() for _ours, their in pairs],
        }
        self._process = start_session(
            target,
            settings,
            folder=folder,
            output=self._output,
            hash_seed=hash_seed,
            pass_fds=[child_socket.fileno() for child_socket in child_sockets],
        )
        for child_socket in child_sockets:
            child_socket.close()
        self.item_numbers: dict[NodeId, int] = {}  # position of each test among the collected items
        self._handshake: Handshake | None = None

    @property
    def collection_progress(self) -> CollectionProgress:
        """How far the collection is."""
        return read_collection_progress(self._collecting)

    def wait_until_collected(
        self, limit_s: float = COLLECTION_LIMIT_S, while_waiting: Callable[[], None] = lambda: None
    ) -> Handshake:
        """Wait for the handshake of the session; raises an error with pytest's own message if there is none."""
        deadline = time.monotonic() + limit_s
        while not self._handshake_path.exists():
            if self._process.poll() is not None and not self._handshake_path.exists():
                raise no_session_error(self._target, self._output, self._process.returncode)
            if time.monotonic() > deadline:
                raise collection_timeout_error(self._target, limit_s)
            while_waiting()
            time.sleep(0.005)
        self._handshake = read_handshake(self._handshake_path, self._target)
        self.item_numbers = read_item_numbers(self._handshake_path)
        return self._handshake

    @property
    def handshake(self) -> Handshake:
        """What the session has collected; only after `wait_until_collected`."""
        assert self._handshake is not None
        return self._handshake

    def close(self, max_wait_s: float = MAX_WAIT_FOR_END_S) -> None:
        """Close the sockets, and kill the session if it does not end by itself."""
        for slot in self.slots:
            slot.close()
        self._control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=max_wait_s)
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class ForkSlot:
    """Runs one request at a time, each in a child of the session."""

    def __init__(self, peer: socket.socket, server: ForkServer, path: Path) -> None:
        self._peer = peer
        self._server = server
        self._events = path.with_suffix(".events")
        self._output = path.with_suffix(".output")
        self._incoming = peer.makefile("rb")
        self._serial = 0  # of the last request; replies to earlier ones are ignored

    def run(
        self,
        plan: RunPlan,
        limits: Limits,
        self_seeded: Collection[str],
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> list[RunRecord]:
        """Run one plan and wait for it."""
        plan = replace(plan, hash_seed=self._server.hash_seed)
        started_s = time.time()
        reply, events = self._send(self._request(plan, limits, self_seeded), is_cancelled)
        facts = ProcessFacts(end=reply["ended"], output=reply.get("output", ""), started_s=started_s)
        records = records_from(plan, events, facts)
        for order in orders_left(plan, events):
            records += self.run(single_run(plan, order), limits, self_seeded, is_cancelled)
        return records

    def _request(self, plan: RunPlan, limits: Limits, self_seeded: Collection[str]) -> Mapping[str, Any]:
        return {
            **_copies_request(plan, self._server.item_numbers),
            "seed": plan.seed,
            "self_seeded": list(self_seeded),
            "events": str(self._events),
            "output": str(self._output),
            "test_limit_s": limits.test_limit_s,
            "run_limit_s": plan.timeout_s or limits.run_limit_s,
            "memory_bytes": self._server._target.memory_bytes,
            "trace": trace_request(plan.trace),
            **observation_request(plan, self._server._target),
        }

    def _send(self, request: Mapping[str, Any], is_cancelled: Callable[[], bool]) -> tuple[dict[str, Any], bytes]:
        for _attempt in range(_MAX_ATTEMPTS):
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
        """The reply to the last request; None when the slot died before it took the request."""
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
                    # The test killed the parent of its process: that is its outcome.
                    end = {"signal": reply["slot_died"] or signal.SIGKILL, "above": True}
                    return {"ended": end}, events

    def cancel(self) -> None:
        """End the child that runs now, if any; the tests that it finished are reported."""
        with contextlib.suppress(OSError):
            self._peer.sendall(b'{"cancel": true}\n')

    def close(self) -> None:
        """Close the socket, which ends the slot."""
        with contextlib.suppress(OSError):
            self._peer.shutdown(socket.SHUT_RDWR)
        self._peer.close()


def _copies_request(plan: RunPlan, item_numbers: Mapping[NodeId, int]) -> dict[str, Any]:
    """The part of a request that says which tests run in which copy of the session."""

    def numbers_of(order: Order) -> list[int | None]:
        # A later session may lack a test whose id contains random values: the runner ignores None.
        return [item_numbers.get(test) for test in order]

    if isinstance(plan, SingleRun):
        return {"order": numbers_of(plan.order), "branches": [], "at": [], "until": ""}
    return {
        "order": numbers_of(plan.trunk),
        "branches": [numbers_of(copy.tests) for copy in plan.copies],
        "at": list(plan.stops) if isinstance(plan, Walk) else [],
        "until": _OUTCOME_LETTERS[plan.until] if isinstance(plan, Walk) else "",
    }


def no_session_error(target: Target, output: Path, code: int | None) -> SuiteUnusable:
    """The error for a pytest that ended before it had collected."""
    output_end = output.read_text(errors="replace")[-_OUTPUT_TAIL:].strip() if output.exists() else ""
    if "No module named pytest" in output_end or "No module named 'pytest'" in output_end:
        return SuiteUnusable(
            f"{target.python} has no pytest",
            remedy=shlex.join([target.python, "-m", "pip", "install", "pytest"]),
        )
    return SuiteUnusable(
        f"pytest ended with code {code} before it had collected the suite",
        remedy=pytest_command(target, "--collect-only"),
        detail=output_end,
    )


def collection_timeout_error(target: Target, limit_s: float) -> CollectionTimeout:
    """The error for a pytest that collects for too long."""
    return CollectionTimeout(
        f"pytest did not finish collecting within {limit_s:g} s",
        remedy=pytest_command(target, "--collect-only"),
    )
