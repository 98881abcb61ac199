"""The commit and branch of a passing run, by a git that starts with the session.

Git runs while pytest collects, and its output is read before the first test. It must not run during the tests,
because a test may wait for every child of its process, and not after them, because files that they leave are no
changes of the user.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` without its enums
import os
import select
from typing import TYPE_CHECKING

from flakehound_inside.isolated import isolated

if TYPE_CHECKING:
    from typing import Any, Mapping

_STATUS = ("status", "--porcelain=v2", "--branch", "--no-ahead-behind", "-z")
_MAX_WAIT_S = 0.5  # once everything is collected
_WRITTEN_BY_RUNS = ("__pycache__/", ".pyc", ".pytest_cache/", ".flakehound/")
_CHUNK_BYTES = 65536


class GitState:
    """One `git status` and its output."""

    def __init__(self) -> None:
        self._output = ""
        self._pid = self._pipe = 0  # no process: not started, or its output has been read

    def start(self, root: str, environment: Mapping[str, str]) -> None:
        """Start git; does nothing if there is no git."""
        self._pid, self._pipe = _start_git(root, environment)

    def read(self) -> None:
        """Wait a short time for the output, if it has not been read yet."""
        if self._pid:
            output = _read_all(self._pipe)
            if self._end_process(kill=output is None) and output is not None:
                self._output = output.decode("utf-8", "replace")

    def discard(self) -> None:
        """End git if no test ran and its output is not needed."""
        if self._pid:
            self._end_process(kill=True)

    def _end_process(self, *, kill: bool) -> bool:
        """Whether git ended without an error."""
        pid, self._pid = self._pid, 0
        os.close(self._pipe)
        try:
            if kill:
                os.kill(pid, _signal.SIGKILL)
            return os.waitpid(pid, 0)[1] == 0
        except OSError:  # a collected module has waited for every child of this process
            return False

    def facts(self) -> dict[str, Any]:
        """Commit and branch; `-dirty` is appended to the commit if files differ from it."""
        facts: dict[str, Any] = {"commit": None, "branch": ""}
        entries = self._output.split("\0")
        for entry in entries:
            if entry.startswith("# branch.oid ") and "(" not in entry:
                facts["commit"] = entry.split(" ", 2)[2]
            elif entry.startswith("# branch.head "):
                facts["branch"] = entry.split(" ", 2)[2]
        changed = (entry for entry in entries if entry[:2] in ("1 ", "2 ", "u ", "? "))
        if facts["commit"] and any(not entry.endswith(_WRITTEN_BY_RUNS) for entry in changed):
            facts["commit"] += "-dirty"
        return facts


def _start_git(root: str, environment: Mapping[str, str]) -> tuple[int, int]:
    """The id of the process and the pipe that it writes to; 0 and 0 if there is no git."""
    # Not with `subprocess`, because importing it would take as long as git.
    if not hasattr(os, "posix_spawnp"):
        return 0, 0
    # Without locks, because the user may commit at the same time.
    variables = dict(environment, GIT_OPTIONAL_LOCKS="0", LC_ALL="C")
    read_end, write_end = os.pipe()
    to_null = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 2)]
    to_pipe = (os.POSIX_SPAWN_DUP2, write_end, 1)
    try:
        command = ("git", "-C", root, *_repository_of_another_user(root), *_STATUS)
        pid = os.posix_spawnp("git", command, variables, file_actions=[*to_null, to_pipe])
    except OSError:
        os.close(read_end)
        return 0, 0
    finally:
        os.close(write_end)
    return pid, read_end


def _repository_of_another_user(root: str) -> tuple[str, ...]:
    """Options for a repository that git refuses ("dubious ownership"), but that has the owner of the project.

    The same rule as in `engine/git/ownership.py`.
    """
    try:
        top = os.path.realpath(root)
        user, project_owner = os.geteuid(), os.stat(top).st_uid
        while not os.path.exists(top + "/.git"):
            if top == os.path.dirname(top):
                return ()
            top = os.path.dirname(top)
        owners = {os.stat(top).st_uid, os.stat(top + "/.git").st_uid}
    except OSError:
        return ()
    if owners == {user} or not owners <= {user, 0, project_owner}:
        return ()
    return "--git-dir=" + top + "/.git", "--work-tree=" + top


def _read_all(pipe: int) -> bytes | None:
    """All output from the pipe; None if it takes too long."""
    output, end_s = b"", isolated.clock() + _MAX_WAIT_S
    poll = select.poll()  # unlike `select`, it supports any number of open files
    poll.register(pipe, select.POLLIN)
    while poll.poll(max(0.0, end_s - isolated.clock()) * 1e3):
        chunk = os.read(pipe, _CHUNK_BYTES)
        if not chunk:
            return output
        output += chunk
    return None
