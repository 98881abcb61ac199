"""Which commit a green run is of. Git is asked when the session starts, and heard before the first test.

It answers while pytest collects, so that nobody waits for it. Not beside the tests: one of them may wait for every
child of its process. And not after them: what they leave in the checkout is no change of the user's.
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
_PATIENCE_S = 0.5  # once everything is collected
_MADE_BY_RUNNING = ("__pycache__/", ".pyc", ".pytest_cache/", ".flakehound/")
_CHUNK = 65536


class Checkout:
    """One question to git, and what it said."""

    def __init__(self) -> None:
        self._told = ""
        self._pid = self._pipe = 0  # no process: not asked, or heard

    def ask(self, root: str, environment: Mapping[str, str]) -> None:
        """Start git; nothing happens where there is none."""
        self._pid, self._pipe = _asked(root, environment)

    def hear(self) -> None:
        """Wait for the answer, if nobody has yet; not for long."""
        if self._pid:
            told = _all_of(self._pipe)
            if self._is_well_ended(at_once=told is None) and told is not None:
                self._told = told.decode("utf-8", "replace")

    def drop(self) -> None:
        """A session without a first test does not need the answer."""
        if self._pid:
            self._is_well_ended(at_once=True)

    def _is_well_ended(self, *, at_once: bool) -> bool:
        pid, self._pid = self._pid, 0
        os.close(self._pipe)
        try:
            if at_once:
                os.kill(pid, _signal.SIGKILL)
            return os.waitpid(pid, 0)[1] == 0
        except OSError:  # what was collected has waited for every child of this process
            return False

    def facts(self) -> dict[str, Any]:
        """Commit and branch; a commit that the files differ from is marked."""
        found: dict[str, Any] = {"commit": None, "branch": ""}
        entries = self._told.split("\0")
        for entry in entries:
            if entry.startswith("# branch.oid ") and "(" not in entry:
                found["commit"] = entry.split(" ", 2)[2]
            elif entry.startswith("# branch.head "):
                found["branch"] = entry.split(" ", 2)[2]
        changed = (entry for entry in entries if entry[:2] in ("1 ", "2 ", "u ", "? "))
        if found["commit"] and any(not entry.endswith(_MADE_BY_RUNNING) for entry in changed):
            found["commit"] += "-dirty"
        return found


def _asked(root: str, environment: Mapping[str, str]) -> tuple[int, int]:
    """The process that asks and the pipe it answers through; 0 and 0 where there is no git."""
    # Not by `subprocess`: importing it would take as long as git does.
    if not hasattr(os, "posix_spawnp"):
        return 0, 0
    # Locks are left alone: the user may commit at this very moment.
    quiet = dict(environment, GIT_OPTIONAL_LOCKS="0", LC_ALL="C")
    hears, answers = os.pipe()
    nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 2)]
    through = (os.POSIX_SPAWN_DUP2, answers, 1)
    try:
        pid = os.posix_spawnp("git", ("git", "-C", root, *_STATUS), quiet, file_actions=[*nothing, through])
    except OSError:
        os.close(hears)
        return 0, 0
    finally:
        os.close(answers)
    return pid, hears


def _all_of(pipe: int) -> bytes | None:
    """All that comes through; None when it takes too long."""
    told, end_s = b"", isolated.clock() + _PATIENCE_S
    poll = select.poll()  # unlike `select`, it takes any number of open files
    poll.register(pipe, select.POLLIN)
    while poll.poll(max(0.0, end_s - isolated.clock()) * 1e3):
        more = os.read(pipe, _CHUNK)
        if not more:
            return told
        told += more
    return None
