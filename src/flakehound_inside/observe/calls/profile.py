"""Trace calls by `sys.setprofile`, before Python 3.12.

A profiler slows everything down, several times over where much is called. So in characteristic mode it has an
allowance per stage: when that is spent it stands down, and only what Python tells for free is still heard.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

from flakehound_inside.observe.calls.gates import SUSPENDABLE
from flakehound_inside.observe.calls.names import CNames

if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Callable

    from flakehound_inside.observe.calls.gates import Gates
    from flakehound_inside.observe.calls.ledger import Ledger

# Events of one stage in characteristic mode, two or more per call; plugins have fixtures that come first.
ALLOWANCE = {"setup": 400, "call": 150, "teardown": 150}
_AWAKE = 30  # events after something was heard of while standing down
_MOST_AWAKE = 300  # of one stage
_FIRST_CALL_EVENT = (3, 11)
_set, _get = sys.setprofile, sys.getprofile
# Python 3.8 ends a process that goes on after one; raised here, it is the test's, and the profiler is gone.
_ENDS_AT_OVERFLOW = sys.version_info < (3, 9)
# What a piece of code is to us.
_UNWANTED, _COUNTED, _RESUMABLE, _WANTED, _GATE = range(5)


class Profiling:
    """Hears of calls, in this thread and in new ones, and writes them into the ledger."""

    def __init__(self, ledger: Ledger, gates: Gates, mode: str) -> None:
        self._ledger = ledger
        self._is_choosy = mode == "characteristic"
        self._reserve = 0
        self._is_on = False
        self._before_in_threads: Any = None
        roles = _Roles(ledger, self._is_choosy)
        gates.on_new = lambda code: roles.__setitem__(code, _GATE)
        self._tracer = _Tracer(ledger, gates, roles, self._is_choosy)
        self._hear = self._tracer.hear_choosily if self._is_choosy else self._tracer.hear

    def grant(self, stage: str) -> None:
        """A stage begins: give the tracer what it may spend in it."""
        self._tracer.may_hear(ALLOWANCE[stage])
        self._reserve = _MOST_AWAKE

    def begin(self) -> bool:
        """Listen from now on; False when we do already, or cannot."""
        if self._is_on:
            return False
        if _get() is not None:
            self._ledger.note("another profiler is at work")
            return False
        self._before_in_threads = getattr(threading, "_profile_hook", None)
        self._is_on = True
        threading.setprofile(self._hear)
        _set(self._hear)
        return True

    def end(self) -> None:
        """Listen no longer, and leave a profiler alone that the test left behind."""
        now = _get()
        self._is_on = False
        if now is self._hear:
            _set(None)
        elif not self._is_choosy:
            self._ledger.note("another profiler took over")
        if getattr(threading, "_profile_hook", None) is self._hear:
            threading.setprofile(self._before_in_threads)

    def is_listening(self) -> bool:
        """Whether this thread is traced right now."""
        return not self._is_on or _get() is self._hear

    def wake(self) -> None:
        """Listen for a moment more: where something happens, more may."""
        if self._is_on and self._reserve > 0 and _get() is None:
            self._reserve -= _AWAKE
            self._tracer.may_hear(_AWAKE)
            _set(self._hear)


class _Roles(dict):  # type: ignore[type-arg]  # not subscriptable on Python 3.8
    """What a piece of code is to us, found out once."""

    def __init__(self, ledger: Ledger, is_choosy: bool) -> None:
        super().__init__()
        self._ledger = ledger
        self._is_choosy = is_choosy

    def of(self, code: CodeType, frame: FrameType) -> int:
        """The role of code that starts for the first time."""
        if self._ledger.is_wanted_code(code, frame):
            role = _WANTED
        elif self._is_choosy:
            role = _UNWANTED
        else:
            role = _RESUMABLE if code.co_flags & SUSPENDABLE else _COUNTED
        self[code] = role
        return role


class _Tracer:
    """The profiler itself."""

    def __init__(self, ledger: Ledger, gates: Gates, roles: _Roles, is_choosy: bool) -> None:
        self._ledger = ledger
        self._gates = gates
        self._roles = roles
        self._is_choosy = is_choosy
        self._name_of = CNames().of
        self.hear = self._hearing()
        self.hear_choosily, self.may_hear = self._hearing_choosily()

    def _hearing(self) -> Callable[[FrameType, str, Any], None]:
        # One function with its variables around it: it runs twice per call.
        ledger, role_of, called, called_c = self._ledger, self._roles.get, self._called, self._called_c
        left = self._left

        def hear(frame: FrameType, event: str, arg: Any) -> None:
            try:
                if event == "call":
                    code, seen = frame.f_code, ledger.seen
                    role = role_of(code)
                    if role == _COUNTED:
                        if seen is not None:
                            seen[code] = seen.get(code, 0) + 1
                    elif role != _UNWANTED:
                        called(code, frame, role, seen)
                elif event == "return":
                    if role_of(frame.f_code) == _GATE:
                        left(frame.f_code)
                elif event == "c_call" and ledger.seen is not None:
                    called_c(arg, frame, ledger.seen)
            except RecursionError:  # the test is about to get one of its own
                if _ENDS_AT_OVERFLOW:
                    raise
            except Exception as error:  # whatever it is, the test must not notice
                ledger.note("a call could not be understood: %s" % type(error).__name__)

        return hear

    def _hearing_choosily(self) -> tuple[Callable[[FrameType, str, Any], None], Callable[[int], None]]:
        """The same with an allowance of events, and how to grant one."""
        ledger, role_of, called, called_c = self._ledger, self._roles.get, self._called, self._called_c
        left, spend = self._left, iter(range(0)).__next__

        def hear(frame: FrameType, event: str, arg: Any) -> None:
            try:
                spend()
                if event == "call":
                    role = role_of(frame.f_code)
                    if role != _UNWANTED:
                        called(frame.f_code, frame, role, ledger.seen)
                elif event == "return":
                    if role_of(frame.f_code) == _GATE:
                        left(frame.f_code)
                elif event == "c_call" and ledger.seen is not None:
                    called_c(arg, frame, ledger.seen)
            except StopIteration:
                ledger.note("traced only its first calls")
                _set(None)
            except RecursionError:
                if _ENDS_AT_OVERFLOW:
                    raise
            except Exception as error:
                ledger.note("a call could not be understood: %s" % type(error).__name__)

        def may_hear(events: int) -> None:
            nonlocal spend
            spend = iter(range(events)).__next__

        return hear, may_hear

    def _called(self, code: CodeType, frame: FrameType, role: int | None, seen: dict[object, int] | None) -> None:
        """Code that is new, a gate, asked for, or can go on after a yield."""
        is_resumed = bool(code.co_flags & SUSPENDABLE) and _is_resumed(frame)
        if role == _GATE:
            self._gates.enter(code, is_resumed)
            return
        if role is None:
            role = self._roles.of(code, frame)
        if seen is None or is_resumed or role == _UNWANTED:
            return
        seen[code] = seen.get(code, 0) + 1
        if role == _WANTED:
            self._ledger.hit(code, frame.f_back)

    def _called_c(self, function: Any, frame: FrameType, seen: dict[object, int]) -> None:
        name = self._name_of(function)
        if name is None:
            return
        is_wanted = self._ledger.is_wanted_c(name)
        if is_wanted or not self._is_choosy:
            seen[name] = seen.get(name, 0) + 1
        if is_wanted:
            self._ledger.hit(name, frame)

    def _left(self, code: CodeType) -> None:
        self._gates.leave(code, bool(code.co_flags & SUSPENDABLE))


def _is_resumed(frame: FrameType) -> bool:
    """Whether a generator or coroutine goes on, and does not start."""
    if sys.version_info < _FIRST_CALL_EVENT:
        return frame.f_lasti >= 0
    return frame.f_code.co_code[frame.f_lasti + 1] != 0  # the argument of RESUME
