"""Fetch commits that a clone lacks and the base needs: only on a build server, or if `FLAKEHOUND_FETCH=1`.

Branches, index, working tree and the branches of remotes stay as they are: what is fetched gets references below
`refs/flakehound/`. Git never asks for a password, and all of it together takes at most `LIMIT_S`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from flakehound.engine.git.branches import FETCHED
from flakehound.engine.git.repository import GIT_SETTINGS, SLOW_S, Repository, git_environment
from flakehound.engine.git.server_bases import is_build_server

SWITCH = "FLAKEHOUND_FETCH"
LIMIT_S = 20.0
_MIN_DEPTH = 100
_PATIENCE_S = 2.0  # between a polite end and a hard one
_SYMBOLIC = "ref: refs/heads/"
_FETCH = (
    *("-c", "gc.auto=0", "-c", "maintenance.auto=false", "fetch", "--quiet", "--no-tags", "--no-prune"),
    *("--no-write-fetch-head", "--no-recurse-submodules", "--refmap="),
)


@dataclass(kw_only=True)
class MissingHistory:
    """Fetches from one remote of a clone, in at most two rounds."""

    repository: Repository
    remote: str  # empty: there is none, so nothing is fetched
    env: Mapping[str, str]
    _rounds: int = 0
    _end_s: float = field(default_factory=lambda: time.monotonic() + LIMIT_S)

    @property
    def may_fetch(self) -> bool:
        """Whether a fetch is allowed and may help."""
        switch = self.env.get(SWITCH, "").lower()
        allowed = is_build_server(self.env) if not switch else switch not in ("0", "false", "no", "off")
        return bool(self.remote) and allowed and self._rounds < 2 and time.monotonic() < self._end_s

    def default_branch(self) -> str:
        """The default branch of the remote; empty if it does not answer."""
        answer = self._run("ls-remote", "--symref", self.remote, "HEAD")
        lines = [line for line in (answer or "").split("\n") if line.startswith(_SYMBOLIC)]
        return lines[0].removeprefix(_SYMBOLIC).split("\t")[0] if lines else ""

    def fetch(self, branches: Sequence[str], commits: Sequence[str] = ()) -> bool:
        """Fetch branches and commits, and more history of a shallow clone; whether something was fetched."""
        self._rounds += 1
        specs = [f"+refs/heads/{name}:{FETCHED}{self.remote}/{name}" for name in dict.fromkeys(branches) if name]
        if not self.repository.is_shallow:
            # Once more with less: a commit that was replaced by a forced push may be gone.
            tries: list[list[str]] = [[*specs, *commits], specs]
            return any(self._fetch(wanted) for wanted in tries if wanted)
        if self._rounds > 1:
            return self._fetch(specs, "--unshallow")
        # The checked-out commit must be named, or its own history stays as short as it is.
        head = self.repository.head
        return any(self._fetch(wanted, self._depth()) for wanted in ([*specs, *commits, head], [*specs, head]))

    def _depth(self) -> str:
        # More than the clone has: a smaller depth would cut off history that it has.
        counted = self.repository.git("rev-list", "--all", "--count", timeout_s=SLOW_S)
        return f"--depth={max(_MIN_DEPTH, 2 * int(counted.text or 0))}"

    def _fetch(self, specs: Sequence[str], *options: str) -> bool:
        return self._run(*_FETCH, *options, self.remote, *specs) is not None

    def _run(self, *arguments: str) -> str | None:
        """The output of git; None if it failed, or the time is over."""
        command = ["git", *GIT_SETTINGS, *self.repository.options, *arguments]
        try:
            process = subprocess.Popen(
                command,
                cwd=self.repository.top,
                env={**git_environment(), **self._without_questions()},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # so that ssh and other helpers end with it
            )
        except OSError:
            return None
        with process:
            try:
                out, _errors = process.communicate(timeout=max(0.0, self._end_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                _end(process)
                return None
        return os.fsdecode(out) if process.returncode == 0 else None

    def _without_questions(self) -> dict[str, str]:
        configured = self.repository.git("config", "core.sshCommand")
        ssh = os.environ.get("GIT_SSH_COMMAND") or configured.text or os.environ.get("GIT_SSH") or "ssh"
        return {"GIT_SSH_COMMAND": f"{ssh} -o BatchMode=yes", "GCM_INTERACTIVE": "never"}


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git and its helpers; politely first, because a killed git leaves its lock files."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.communicate(timeout=_PATIENCE_S)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue
        return
