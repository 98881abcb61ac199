"""Trace calls by `sys.setprofile`, before Python 3.12.

A profiler slows everything down, several times over where much is called. So in characteristic mode it has an
allowance per phase: when that is spent it stands down, and only what Python tells for free is still heard.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

from flakehound_inside.calls_names import c_name

if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any

    from flakehound_inside.calls_gates import Gates
    from flakehound_inside.calls_ledger import Ledger

ALLOWANCE = 3000  # events of one stage in characteristic mode: about half a millisecond
_AWAKE = 150  # events after something was heard of while standing down
_MOST_AWAKE = 3000  # of one stage
_FIRST_CALL_EVENT = (3, 11)
_set, _get = sys.setprofile, sys.getprofile


class Profiling:
    """Hears of calls, in this thread and in new ones, and writes them into the ledger."""

    def __init__(self, ledger: Ledger, gates: Gates, mode: str) -> None:
        self._ledger = ledger
        self._gates = gates
        self._only_wanted = mode == "characteristic"
        self._wanted: dict[CodeType, bool] = {}
        self._left = self._reserve = 0
        self._before: Any = None
        self._before_in_threads: Any = None
        self._is_on = False

    def grant(self) -> None:
        """A stage begins: give the tracer what it may spend in it."""
        self._left = ALLOWANCE if self._only_wanted else sys.maxsize
        self._reserve = _MOST_AWAKE

    def begin(self) -> bool:
        """Listen from now on; False when we do already, or cannot."""
        if self._is_on:
            return False
        self._before, self._before_in_threads = _get(), getattr(threading, "_profile_hook", None)
        if self._before is not None:
            self._ledger.note("another profiler is at work")
            return False
        self._is_on = True
        threading.setprofile(self._hear)
        _set(self._hear)
        return True

    def end(self) -> None:
        """Listen no longer, and leave a profiler alone that the test left behind."""
        left, now = self._left, _get()
        self._is_on = False
        if now == self._hear:
            _set(None)
        elif left > 0:
            self._ledger.note("another profiler took over")
        if getattr(threading, "_profile_hook", None) == self._hear:
            threading.setprofile(self._before_in_threads)

    def is_listening(self) -> bool:
        """Whether this thread is traced right now."""
        return not self._is_on or _get() == self._hear

    def wake(self) -> None:
        """Listen for a moment more: where something happens, more may."""
        if self._is_on and self._reserve > 0 and _get() is None:
            self._reserve -= _AWAKE
            self._left = _AWAKE
            _set(self._hear)

    def _hear(self, frame: FrameType, event: str, arg: Any) -> None:
        try:
            if event == "c_call":
                if self._ledger.seen is not None:
                    self._hear_c(frame, arg)
            elif event == "call":
                self._hear_python(frame)
            elif event == "return":
                code = frame.f_code
                if code in self._gates.roles:
                    self._gates.leave(code, self._gates.is_suspendable(code))
        except RecursionError:  # the test is about to get one of its own
            pass
        except Exception as error:  # whatever it is, the test must not notice
            self._ledger.note("a call could not be understood: %s" % type(error).__name__)
        if self._only_wanted or not self._is_on:
            self._spend()

    def _spend(self) -> None:
        if self._ledger.seen is not None:
            self._left -= 1
        if self._left <= 0 or not self._is_on:
            if self._is_on:
                self._ledger.note("traced only the first %d events" % ALLOWANCE)
            _set(None)

    def _hear_c(self, frame: FrameType, called: Any) -> None:
        seen, name = self._ledger.seen, c_name(called)
        if seen is None or name is None:
            return
        is_wanted = self._ledger.is_wanted_c(name)
        if is_wanted or not self._only_wanted:
            seen[name] = seen.get(name, 0) + 1
        if is_wanted:
            self._ledger.hit(name, frame)

    def _hear_python(self, frame: FrameType) -> None:
        code = frame.f_code
        is_resumed = self._gates.is_suspendable(code) and _is_resumed(frame)
        if code in self._gates.roles:
            self._gates.enter(code, is_resumed)
            return
        seen = self._ledger.seen
        if seen is None or is_resumed:
            return
        is_wanted = self._wanted.get(code)
        if is_wanted is None:
            is_wanted = self._wanted[code] = self._ledger.is_wanted_code(code, frame)
        if is_wanted or not self._only_wanted:
            seen[code] = seen.get(code, 0) + 1
        if is_wanted:
            self._ledger.hit(code, frame.f_back)


def _is_resumed(frame: FrameType) -> bool:
    """Whether a generator or coroutine goes on, and does not start."""
    if sys.version_info < _FIRST_CALL_EVENT:
        return frame.f_lasti >= 0
    return frame.f_code.co_code[frame.f_lasti + 1] != 0  # the argument of RESUME
