"""Trace calls by `sys.setprofile`, before Python 3.12.

A profile function slows down everything, and code with many calls several times over. So in characteristic mode it
has an allowance of events per stage. When the allowance is used up, it is removed, and only audit events are
received.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

from flakehound_inside.observe.calls.boundaries import is_suspendable
from flakehound_inside.observe.calls.names import CNames

if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Callable

    from flakehound_inside.observe.calls.boundaries import TraceBoundaries
    from flakehound_inside.observe.calls.ledger import CallLedger

# Events of one stage in characteristic mode, two or more per call; fixtures of plugins use some of them.
ALLOWANCE = {"setup": 400, "call": 150, "teardown": 150}
_RESUMED_EVENTS = 30  # granted after an audit event was received without a profile function
_MAX_RESUMED_EVENTS = 300  # of one stage
_FIRST_WITH_RESUME = (3, 11)
_set_profile, _get_profile = sys.setprofile, sys.getprofile
# Python 3.8 ends a process that catches a RecursionError here. If it is raised, the test gets it and profiling
# ends.
_MUST_RAISE_OVERFLOW = sys.version_info < (3, 9)
# Roles of code.
_UNWANTED, _COUNTED, _RESUMABLE, _WANTED, _BOUNDARY = range(5)


class CallProfiler:
    """Adds calls of this thread and of new ones to the ledger."""

    def __init__(self, ledger: CallLedger, boundaries: TraceBoundaries, mode: str) -> None:
        self._ledger = ledger
        self._wanted_only = mode == "characteristic"
        self._resumable_events = 0
        self._is_on = False
        self._thread_profile_before: Any = None
        roles = _Roles(ledger, self._wanted_only)
        boundaries.on_new = lambda code: roles.__setitem__(code, _BOUNDARY)
        self._tracer = _Tracer(ledger, boundaries, roles, self._wanted_only)
        self._profile = self._tracer.profile_wanted if self._wanted_only else self._tracer.profile_all

    def set_allowance(self, stage: str) -> None:
        """Set the number of events that the profile function may receive in the stage that begins."""
        self._tracer.set_allowance(ALLOWANCE[stage])
        self._resumable_events = _MAX_RESUMED_EVENTS

    def begin(self) -> bool:
        """Set the profile function; False if it is set already, or cannot be set."""
        if self._is_on:
            return False
        if _get_profile() is not None:
            self._ledger.note("another profiler is at work")
            return False
        self._thread_profile_before = getattr(threading, "_profile_hook", None)
        self._is_on = True
        threading.setprofile(self._profile)
        _set_profile(self._profile)
        return True

    def end(self) -> None:
        """Remove the profile function, unless the test has replaced it."""
        current = _get_profile()
        self._is_on = False
        if current is self._profile:
            _set_profile(None)
        elif not self._wanted_only:
            self._ledger.note("another profiler took over")
        if getattr(threading, "_profile_hook", None) is self._profile:
            threading.setprofile(self._thread_profile_before)

    def is_tracing(self) -> bool:
        """Whether this thread is traced now."""
        return not self._is_on or _get_profile() is self._profile

    def resume(self) -> None:
        """Set the profile function again for a few events, because after one wanted call others are likely."""
        if self._is_on and self._resumable_events > 0 and _get_profile() is None:
            self._resumable_events -= _RESUMED_EVENTS
            self._tracer.set_allowance(_RESUMED_EVENTS)
            _set_profile(self._profile)


class _Roles(dict):  # type: ignore[type-arg]  # not subscriptable on Python 3.8
    """Caches the role of each code object."""

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
    """Creates the profile functions."""

    def __init__(self, ledger: CallLedger, boundaries: TraceBoundaries, roles: _Roles, wanted_only: bool) -> None:
        self._ledger = ledger
        self._boundaries = boundaries
        self._roles = roles
        self._wanted_only = wanted_only
        self._name_of = CNames().of
        self.profile_all = self._new_profile_all()
        self.profile_wanted, self.set_allowance = self._new_profile_wanted()

    def _new_profile_all(self) -> Callable[[FrameType, str, Any], None]:
        # A closure, because it runs twice per call.
        ledger, role_of, on_call, on_c_call = self._ledger, self._roles.get, self._on_call, self._on_c_call
        on_return = self._on_return

        def profile(frame: FrameType, event: str, arg: Any) -> None:
            try:
                if event == "call":
                    code, current_calls = frame.f_code, ledger.current_calls
                    role = role_of(code)
                    if role == _COUNTED:
                        if current_calls is not None:
                            current_calls[code] = current_calls.get(code, 0) + 1
                    elif role != _UNWANTED:
                        on_call(code, frame, role, current_calls)
                elif event == "return":
                    if role_of(frame.f_code) == _BOUNDARY:
                        on_return(frame.f_code)
                elif event == "c_call" and ledger.current_calls is not None:
                    on_c_call(arg, frame, ledger.current_calls)
            except RecursionError:  # the test is about to raise one itself
                if _MUST_RAISE_OVERFLOW:
                    raise
            except Exception as error:  # our failure must not fail the user's test
                ledger.note("a call could not be understood: %s" % type(error).__name__)

        return profile

    def _new_profile_wanted(self) -> tuple[Callable[[FrameType, str, Any], None], Callable[[int], None]]:
        """A profile function with an allowance of events, and the function that sets the allowance."""
        ledger, role_of, on_call, on_c_call = self._ledger, self._roles.get, self._on_call, self._on_c_call
        on_return, use_event = self._on_return, iter(range(0)).__next__

        def profile(frame: FrameType, event: str, arg: Any) -> None:
            try:
                use_event()
                if event == "call":
                    role = role_of(frame.f_code)
                    if role != _UNWANTED:
                        on_call(frame.f_code, frame, role, ledger.current_calls)
                elif event == "return":
                    if role_of(frame.f_code) == _BOUNDARY:
                        on_return(frame.f_code)
                elif event == "c_call" and ledger.current_calls is not None:
                    on_c_call(arg, frame, ledger.current_calls)
            except StopIteration:
                ledger.note("traced only its first calls")
                _set_profile(None)
            except RecursionError:
                if _MUST_RAISE_OVERFLOW:
                    raise
            except Exception as error:
                ledger.note("a call could not be understood: %s" % type(error).__name__)

        def set_allowance(events: int) -> None:
            nonlocal use_event
            use_event = iter(range(events)).__next__

        return profile, set_allowance

    def _on_call(
        self, code: CodeType, frame: FrameType, role: int | None, current_calls: dict[object, int] | None
    ) -> None:
        """Handle the call of code that is new, a gate, wanted, or may continue after a yield."""
        is_resumed = is_suspendable(code) and _is_resumed(frame)
        if role == _BOUNDARY:
            self._boundaries.enter(code, is_resumed)
            return
        if role is None:
            role = self._roles.of(code, frame)
        if current_calls is None or is_resumed or role == _UNWANTED:
            return
        current_calls[code] = current_calls.get(code, 0) + 1
        if role == _WANTED:
            self._ledger.add_hit(code, frame.f_back)

    def _on_c_call(self, function: Any, frame: FrameType, current_calls: dict[object, int]) -> None:
        name = self._name_of(function)
        if name is None:
            return
        is_wanted = self._ledger.is_wanted_c(name)
        if is_wanted or not self._wanted_only:
            current_calls[name] = current_calls.get(name, 0) + 1
        if is_wanted:
            self._ledger.add_hit(name, frame)

    def _on_return(self, code: CodeType) -> None:
        self._boundaries.leave(code, is_suspendable(code))


def _is_resumed(frame: FrameType) -> bool:
    """Whether a generator or coroutine continues after a yield."""
    if sys.version_info < _FIRST_WITH_RESUME:
        return frame.f_lasti >= 0
    return frame.f_code.co_code[frame.f_lasti + 1] != 0  # the argument of RESUME
