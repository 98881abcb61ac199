"""Trace calls by `sys.setprofile`, before Python 3.12.

A profiler slows everything down, several times over where much is called. So in characteristic mode it has an
allowance per stage: when that is spent it stands down, and only what Python tells for free is still heard.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

from flakehound_inside.calls_gates import SUSPENDABLE
from flakehound_inside.calls_names import CNames

if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Callable

    from flakehound_inside.calls_gates import Gates
    from flakehound_inside.calls_ledger import Ledger

ALLOWANCE = 1500  # calls of one stage in characteristic mode: less than a millisecond
_AWAKE = 50  # calls after something was heard of while standing down
_MOST_AWAKE = 1000  # of one stage
_FIRST_CALL_EVENT = (3, 11)
_set, _get = sys.setprofile, sys.getprofile
# What a piece of code is to us.
_UNWANTED, _COUNTED, _WANTED, _GATE = range(4)


class Profiling:
    """Hears of calls, in this thread and in new ones, and writes them into the ledger."""

    def __init__(self, ledger: Ledger, gates: Gates, mode: str) -> None:
        self._ledger = ledger
        self._is_choosy = mode == "characteristic"
        self.left = self._reserve = 0
        self.is_on = False
        self._before_in_threads: Any = None
        self._roles: dict[CodeType, int] = {}
        gates.on_new = lambda code: self._roles.__setitem__(code, _GATE)
        self._hear = _hearing(self, ledger, gates, self._roles, self._is_choosy)

    def grant(self) -> None:
        """A stage begins: give the tracer what it may spend in it."""
        self.left = ALLOWANCE if self._is_choosy else sys.maxsize
        self._reserve = _MOST_AWAKE

    def begin(self) -> bool:
        """Listen from now on; False when we do already, or cannot."""
        if self.is_on:
            return False
        if _get() is not None:
            self._ledger.note("another profiler is at work")
            return False
        self._before_in_threads = getattr(threading, "_profile_hook", None)
        self.is_on = True
        threading.setprofile(self._hear)
        _set(self._hear)
        return True

    def end(self) -> None:
        """Listen no longer, and leave a profiler alone that the test left behind."""
        left, now = self.left, _get()
        self.is_on = False
        if now is self._hear:
            _set(None)
        elif left > 0:
            self._ledger.note("another profiler took over")
        if getattr(threading, "_profile_hook", None) is self._hear:
            threading.setprofile(self._before_in_threads)

    def is_listening(self) -> bool:
        """Whether this thread is traced right now."""
        return not self.is_on or _get() is self._hear

    def wake(self) -> None:
        """Listen for a moment more: where something happens, more may."""
        if self.is_on and self._reserve > 0 and _get() is None:
            self._reserve -= _AWAKE
            self.left = _AWAKE
            _set(self._hear)

    def stand_down(self) -> None:
        """The allowance is spent, or a thread outlived its test."""
        if self.is_on:
            self._ledger.note("traced only the first %d calls of a stage" % ALLOWANCE)
        _set(None)


def _hearing(
    profiling: Profiling, ledger: Ledger, gates: Gates, roles: dict[CodeType, int], is_choosy: bool
) -> Callable[[FrameType, str, Any], None]:
    """The profiler: a function with its variables around it, because it runs twice per call."""
    names = CNames().of
    wanted_names: dict[object, bool] = {}

    def role_of(code: CodeType, frame: FrameType) -> int:
        wanted = ledger.is_wanted_code(code, frame)
        role = roles[code] = _WANTED if wanted else _UNWANTED if is_choosy else _COUNTED
        return role

    def called(frame: FrameType) -> None:
        code = frame.f_code
        role = roles.get(code)
        seen = ledger.seen
        if role == _GATE:
            gates.enter(code, gates.is_suspendable(code) and _is_resumed(frame))
            return
        if seen is None:
            return
        if role is None:
            role = role_of(code, frame)
        if role and not (code.co_flags & SUSPENDABLE and _is_resumed(frame)):
            seen[code] = seen.get(code, 0) + 1
            if role == _WANTED:
                ledger.hit(code, frame.f_back)

    def called_c(frame: FrameType, function: Any) -> None:
        seen, name = ledger.seen, names(function)
        if seen is None or name is None:
            return
        wanted = wanted_names.get(name)
        if wanted is None:
            wanted = wanted_names[name] = ledger.is_wanted_c(name)
        if wanted or not is_choosy:
            seen[name] = seen.get(name, 0) + 1
        if wanted:
            ledger.hit(name, frame)

    def hear(frame: FrameType, event: str, arg: Any) -> None:
        if event == "c_return" or event == "c_exception":
            return
        try:
            if event == "c_call":
                called_c(frame, arg)
            elif event == "call":
                called(frame)
            else:
                code = frame.f_code
                if roles.get(code) == _GATE:
                    gates.leave(code, gates.is_suspendable(code))
                return
        except RecursionError:  # the test is about to get one of its own
            return
        except Exception as error:  # whatever it is, the test must not notice
            ledger.note("a call could not be understood: %s" % type(error).__name__)
        if ledger.seen is not None:
            profiling.left -= 1
        if profiling.left <= 0 or not profiling.is_on:
            profiling.stand_down()

    return hear


def _is_resumed(frame: FrameType) -> bool:
    """Whether a generator or coroutine goes on, and does not start."""
    if sys.version_info < _FIRST_CALL_EVENT:
        return frame.f_lasti >= 0
    return frame.f_code.co_code[frame.f_lasti + 1] != 0  # the argument of RESUME
