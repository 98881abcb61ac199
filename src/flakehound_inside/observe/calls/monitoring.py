"""Trace calls by `sys.monitoring`, Python 3.12 and newer, in all threads.

A location whose calls are known is disabled, and then runs at full speed. Two tools are used: one for the events
of trace boundaries, which is never disabled, and one for all other events. Debuggers, coverage and profilers have
tools of their own. The callbacks run once per call, so they are closures and avoid attribute access on objects.
"""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING

from flakehound_inside.observe.calls.names import CNames

if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Callable

    from flakehound_inside.observe.calls.boundaries import TraceBoundaries
    from flakehound_inside.observe.calls.ledger import CallLedger

    Callbacks = tuple[Callable[..., Any], Callable[..., Any]]

_UNRESERVED_TOOLS = (3, 4, 5)  # the others are reserved for debuggers, coverage and profilers
_MAX_HITS = 500  # at one location in one test, before it is disabled until the next test
_MAX_UNWANTED_CALLS = 50  # at one location in a function that calls its arguments, before it is disabled
_FORWARDS_ARGUMENTS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_frame = sys._getframe


class NoFreeTool(Exception):
    """Other programs use every tool of sys.monitoring."""


class CallMonitor:
    """Adds calls to the ledger."""

    def __init__(self, ledger: CallLedger, boundaries: TraceBoundaries, mode: str, counts: bool) -> None:
        self._ledger = ledger
        self._boundaries = boundaries
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        self._mode, self._counts = mode, counts
        self._locations = DisabledLocations(self._monitoring.DISABLE, counts)

    def start(self) -> None:
        """Receive events from now on."""
        monitoring = self._monitoring
        free_tools = [number for number in _UNRESERVED_TOOLS if monitoring.get_tool(number) is None]
        if len(free_tools) < 2:
            raise NoFreeTool("every tool of sys.monitoring is in use")
        # Tools receive an event in the order of their numbers, and the ledger has to be open first.
        self._boundary_tool, self._call_tool = free_tools[0], free_tools[1]
        monitoring.use_tool_id(self._boundary_tool, "flakehound-boundaries")
        monitoring.use_tool_id(self._call_tool, "flakehound-calls")
        self._register_boundaries(monitoring.events)
        events = monitoring.events
        on_start, on_call = self._callbacks()
        monitoring.register_callback(self._call_tool, events.PY_START, on_start)
        monitoring.register_callback(self._call_tool, events.CALL, on_call)
        if self._mode == "characteristic":
            monitoring.set_events(self._call_tool, events.PY_START | events.CALL)
        else:
            self._enable_while_open(events.PY_START | events.CALL)

    def _register_boundaries(self, events: Any) -> None:
        boundaries, monitoring = self._boundaries, self._monitoring
        roles = boundaries.roles
        callbacks = {
            events.PY_START: lambda code, _offset: boundaries.enter(code),
            events.PY_RESUME: lambda code, _offset: boundaries.enter(code, True),
            events.PY_RETURN: lambda code, _offset, _value: boundaries.leave(code),
            events.PY_YIELD: lambda code, _offset, _value: boundaries.leave(code, True),
            # Cannot be enabled per function, so received for all; only exceptions pay for it.
            events.PY_UNWIND: lambda code, _offset, _error: boundaries.leave(code) if code in roles else None,
        }
        for event, callback in callbacks.items():
            monitoring.register_callback(self._boundary_tool, event, callback)
        monitoring.set_events(self._boundary_tool, events.PY_UNWIND)
        boundary_events = events.PY_START | events.PY_RESUME | events.PY_RETURN | events.PY_YIELD
        boundaries.on_new = lambda code: monitoring.set_local_events(self._boundary_tool, code, boundary_events)
        for code in roles:
            boundaries.on_new(code)

    def _enable_while_open(self, events: int) -> None:
        """Enable events when the ledger opens and disable them when it closes, so that pytest is not traced."""
        set_events, restart, tool = self._monitoring.set_events, self._monitoring.restart_events, self._call_tool

        def enable() -> None:
            set_events(tool, events)
            restart()

        self._ledger.on_open = enable
        self._ledger.on_close = lambda: set_events(tool, 0)

    def _callbacks(self) -> Callbacks:
        roles, disable = self._boundaries.roles, self._monitoring.DISABLE
        if self._mode == "characteristic":
            return _wanted_only_callbacks(self._ledger, self._locations, disable)
        if self._counts:
            return _every_call_callbacks(self._ledger, roles)
        return _first_call_callbacks(self._ledger, roles, disable)

    def next_test(self) -> None:
        """Enable the locations again that were disabled for one test only."""
        if self._locations.next_test():
            self._monitoring.restart_events()

    def stop(self) -> None:
        """Stop receiving events."""
        for tool in (self._call_tool, self._boundary_tool):
            self._monitoring.set_events(tool, 0)
            self._monitoring.free_tool_id(tool)


class DisabledLocations:
    """Decides which locations in the code are to be disabled."""

    def __init__(self, disable: object, counts: bool) -> None:
        self._disable = disable
        self._counts = counts
        self._hits: dict[tuple[CodeType, int], int] = {}  # in this test
        self._unwanted_calls: dict[tuple[CodeType, int], int] = {}
        self._has_disabled = False

    def next_test(self) -> bool:
        """Begin another test; True if locations are disabled that it needs."""
        self._hits.clear()
        has_disabled, self._has_disabled = self._has_disabled, False
        return has_disabled

    def after_hit(self, code: CodeType, offset: int) -> Any:
        """Disable a location that reports the same call very often, unless every call is counted."""
        if self._counts:
            return None
        location = (code, offset)
        hits = self._hits[location] = self._hits.get(location, 0) + 1
        if hits < _MAX_HITS:
            return None
        self._has_disabled = True
        return self._disable

    def after_unwanted_call(self, code: CodeType, offset: int) -> Any:
        """Disable a location in a function that calls its arguments, once it has made enough unwanted calls."""
        location = (code, offset)
        count = self._unwanted_calls[location] = self._unwanted_calls.get(location, 0) + 1
        return None if count < _MAX_UNWANTED_CALLS else self._disable


def _first_call_callbacks(ledger: CallLedger, roles: dict[CodeType, str], disable: object) -> Callbacks:
    """Callbacks that report each function once per phase."""
    name_of, is_wanted_c, wanted = CNames().of, ledger.is_wanted_c, _WantedCode(ledger)

    def on_start(code: CodeType, _offset: int) -> Any:
        calls = ledger.current_calls
        if calls is not None and code not in calls and code not in roles:
            calls[code] = 0
            if wanted[code]:
                ledger.add_hit(code, _frame(1).f_back)
        return disable

    def on_call(_code: CodeType, _offset: int, function: Any, _first: object) -> Any:
        calls = ledger.current_calls
        name = name_of(function)
        if calls is not None and name is not None:
            calls.setdefault(name, 0)
            if is_wanted_c(name):
                ledger.add_hit(name, _frame(1))
        return disable

    return on_start, on_call


def _every_call_callbacks(ledger: CallLedger, roles: dict[CodeType, str]) -> Callbacks:
    """Callbacks that report every call."""
    name_of, is_wanted_c, wanted = CNames().of, ledger.is_wanted_c, _WantedCode(ledger)

    def on_start(code: CodeType, _offset: int) -> None:
        calls = ledger.current_calls
        if calls is not None and code not in roles:
            calls[code] = calls.get(code, 0) + 1
            if wanted[code]:
                ledger.add_hit(code, _frame(1).f_back)

    def on_call(_code: CodeType, _offset: int, function: Any, _first: object) -> None:
        calls = ledger.current_calls
        name = name_of(function)
        if calls is not None and name is not None:
            calls[name] = calls.get(name, 0) + 1
            if is_wanted_c(name):
                ledger.add_hit(name, _frame(1))

    return on_start, on_call


def _wanted_only_callbacks(ledger: CallLedger, locations: DisabledLocations, disable: object) -> Callbacks:
    """Callbacks that report only wanted functions; all other locations are disabled permanently."""
    name_of, is_wanted_c, wanted = CNames().of, ledger.is_wanted_c, _WantedCode(ledger)

    def on_start(code: CodeType, offset: int) -> Any:
        if not wanted[code]:
            return disable
        calls = ledger.current_calls
        if calls is None:
            return None
        calls[code] = calls.get(code, 0) + 1
        ledger.add_hit(code, _frame(1).f_back)
        return locations.after_hit(code, offset)

    def on_call(code: CodeType, offset: int, function: Any, _first: object) -> Any:
        name = name_of(function)
        if name is None or not is_wanted_c(name):
            return locations.after_unwanted_call(code, offset) if code.co_flags & _FORWARDS_ARGUMENTS else disable
        calls = ledger.current_calls
        if calls is None:
            return None
        calls[name] = calls.get(name, 0) + 1
        ledger.add_hit(name, _frame(1))
        return locations.after_hit(code, offset)

    return on_start, on_call


class _WantedCode(dict):  # type: ignore[type-arg]  # not subscriptable on Python 3.8
    """Caches for each code object whether it is a wanted function."""

    def __init__(self, ledger: CallLedger) -> None:
        super().__init__()
        self._ledger = ledger

    def __missing__(self, code: CodeType) -> bool:
        answer = self[code] = self._ledger.is_wanted_code(code)
        return answer
