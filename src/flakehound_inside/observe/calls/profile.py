"""Trace calls by `sys.setprofile`, before Python 3.12.

A profile function slows down everything, several times over where much is called. So in characteristic mode it has
an allowance of events per stage: when that is used up it is removed, and only audit events are still received.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

from flakehound_inside.observe.calls.gates import is_suspendable
from flakehound_inside.observe.calls.names import CNames

if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Callable

    from flakehound_inside.observe.calls.gates import TraceGates
    from flakehound_inside.observe.calls.ledger import CallLedger

# Events of one stage in characteristic mode, two or more per call; fixtures of plugins use some of them.
ALLOWANCE = {"setup": 400, "call": 150, "teardown": 150}
_RESUMED_EVENTS = 30  # granted after an audit event was received without a profile function
_MAX_RESUMED_EVENTS = 300  # of one stage
_FIRST_WITH_RESUME = (3, 11)
_set, _get = sys.setprofile, sys.getprofile
# Python 3.8 ends a process that catches a RecursionError here; if raised, the test gets it and profiling ends.
_MUST_RAISE_OVERFLOW = sys.version_info < (3, 9)
# Roles of code.
_UNWANTED, _COUNTED, _RESUMABLE, _WANTED, _GATE = range(5)


class CallProfiler:
    """Adds calls of this thread and of new ones to the ledger."""

    def __init__(self, ledger: CallLedger, gates: TraceGates, mode: str) -> None:
        self._ledger = ledger
        self._wanted_only = mode == "characteristic"
        self._resumable_events = 0
        self._is_on = False
        self._before_in_threads: Any = None
        roles = _Roles(ledger, self._wanted_only)
        gates.on_new = lambda code: roles.__setitem__(code, _GATE)
        self._tracer = _Tracer(ledger, gates, roles, self._wanted_only)
        self._profile = self._tracer.profile_wanted if self._wanted_only else self._tracer.profile_all

    def set_allowance(self, stage: str) -> None:
        """A stage begins: set the number of events that the profile function may receive."""
        self._tracer.set_allowance(ALLOWANCE[stage])
        self._resumable_events = _MAX_RESUMED_EVENTS

    def begin(self) -> bool:
        """Set the profile function; False when it is set already, or cannot be."""
        if self._is_on:
            return False
        if _get() is not None:
            self._ledger.note("another profiler is at work")
            return False
        self._before_in_threads = getattr(threading, "_profile_hook", None)
        self._is_on = True
        threading.setprofile(self._profile)
        _set(self._profile)
        return True

    def end(self) -> None:
        """Remove the profile function, unless the test has replaced it."""
        now = _get()
        self._is_on = False
        if now is self._profile:
            _set(None)
        elif not self._wanted_only:
            self._ledger.note("another profiler took over")
        if getattr(threading, "_profile_hook", None) is self._profile:
            threading.setprofile(self._before_in_threads)

    def is_tracing(self) -> bool:
        """Whether this thread is traced right now."""
        return not self._is_on or _get() is self._profile

    def resume(self) -> None:
        """Set the profile function again for a few events: after one wanted call others are likely."""
        if self._is_on and self._resumable_events > 0 and _get() is None:
            self._resumable_events -= _RESUMED_EVENTS
            self._tracer.set_allowance(_RESUMED_EVENTS)
            _set(self._profile)


class _Roles(dict):  # type: ignore[type-arg]  # not subscriptable on Python 3.8
    """Code -> its role, determined once."""

    def __init__(self, ledger: CallLedger, wanted_only: bool) -> None:
        super().__init__()
        self._ledger = ledger
        self._wanted_only = wanted_only

    def of(self, code: CodeType, frame: FrameType) -> int:
        """The role of code that starts for the first time."""
        if self._ledger.is_wanted_code(code, frame):
            role = _WANTED
        elif self._wanted_only:
            role = _UNWANTED
        else:
            role = _RESUMABLE if is_suspendable(code) else _COUNTED
        self[code] = role
        return role


class _Tracer:
    """Makes the profile functions."""

    def __init__(self, ledger: CallLedger, gates: TraceGates, roles: _Roles, wanted_only: bool) -> None:
        self._ledger = ledger
        self._gates = gates
        self._roles = roles
        self._wanted_only = wanted_only
        self._name_of = CNames().of
        self.profile_all = self._new_profile_all()
        self.profile_wanted, self.set_allowance = self._new_profile_wanted()

    def _new_profile_all(self) -> Callable[[FrameType, str, Any], None]:
        # A closure, because it runs twice per call.
        ledger, role_of, called, called_c = self._ledger, self._roles.get, self._called, self._called_c
        left = self._left

        def profile(frame: FrameType, event: str, arg: Any) -> None:
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
            except RecursionError:  # the test is about to raise one itself
                if _MUST_RAISE_OVERFLOW:
                    raise
            except Exception as error:  # our failure must not fail the user's test
                ledger.note("a call could not be understood: %s" % type(error).__name__)

        return profile

    def _new_profile_wanted(self) -> tuple[Callable[[FrameType, str, Any], None], Callable[[int], None]]:
        """A profile function with an allowance of events, and the function that sets the allowance."""
        ledger, role_of, called, called_c = self._ledger, self._roles.get, self._called, self._called_c
        left, use_event = self._left, iter(range(0)).__next__

        def profile(frame: FrameType, event: str, arg: Any) -> None:
            try:
                use_event()
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
                if _MUST_RAISE_OVERFLOW:
                    raise
            except Exception as error:
                ledger.note("a call could not be understood: %s" % type(error).__name__)

        def set_allowance(events: int) -> None:
            nonlocal use_event
            use_event = iter(range(events)).__next__

        return profile, set_allowance

    def _called(self, code: CodeType, frame: FrameType, role: int | None, seen: dict[object, int] | None) -> None:
        """Handle the call of code that is new, a gate, wanted, or may continue after a yield."""
        is_resumed = is_suspendable(code) and _is_resumed(frame)
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
        if is_wanted or not self._wanted_only:
            seen[name] = seen.get(name, 0) + 1
        if is_wanted:
            self._ledger.hit(name, frame)

    def _left(self, code: CodeType) -> None:
        self._gates.leave(code, is_suspendable(code))


def _is_resumed(frame: FrameType) -> bool:
    """Whether a generator or coroutine continues, and does not start."""
    if sys.version_info < _FIRST_WITH_RESUME:
        return frame.f_lasti >= 0
    return frame.f_code.co_code[frame.f_lasti + 1] != 0  # the argument of RESUME
