"""Trace calls by `sys.monitoring`, Python 3.12 and newer, in all threads.

A place that has told what it calls is switched off, and runs at full speed from then on. Two tools: one hears of
the gates and is never switched off, the other of all else. Debuggers, coverage and profilers have their own.
What is heard runs once per call: hence functions with their variables around them, and no attributes of objects.
"""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING

from flakehound_inside.observe.calls.names import CNames

if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Callable

    from flakehound_inside.observe.calls.gates import Gates
    from flakehound_inside.observe.calls.ledger import Ledger

    Callbacks = tuple[Callable[..., Any], Callable[..., Any]]

_FREE_TOOLS = (3, 4, 5)  # the others are reserved for debuggers, coverage and profilers
_MOST_HITS = 500  # at one place in one test, before it is switched off until the next test
_MOST_VARIANTS = 50  # looks at one place in a function that passes on whatever it is given
_PASSES_ON = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_frame = sys._getframe


class NoFreeTool(Exception):
    """Somebody else uses them all."""


class Monitoring:
    """Hears of calls and writes them into the ledger."""

    def __init__(self, ledger: Ledger, gates: Gates, mode: str, counts: bool) -> None:
        self._ledger = ledger
        self._gates = gates
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        self._mode, self._counts = mode, counts
        self._places = Places(self._monitoring.DISABLE, counts)

    def start(self) -> None:
        """Listen from now on."""
        monitoring = self._monitoring
        free = [number for number in _FREE_TOOLS if monitoring.get_tool(number) is None]
        if len(free) < 2:
            raise NoFreeTool("every tool of sys.monitoring is in use")
        # Tools hear of an event in the order of their numbers: the ledger has to be open first.
        self._gate, self._tool = free[0], free[1]
        monitoring.use_tool_id(self._gate, "flakehound-gates")
        monitoring.use_tool_id(self._tool, "flakehound-calls")
        self._listen_at_gates(monitoring.events)
        events = monitoring.events
        started, called = self._callbacks()
        monitoring.register_callback(self._tool, events.PY_START, started)
        monitoring.register_callback(self._tool, events.CALL, called)
        if self._mode == "characteristic":
            monitoring.set_events(self._tool, events.PY_START | events.CALL)
        else:
            self._listen_while_open(events.PY_START | events.CALL)

    def _listen_at_gates(self, events: Any) -> None:
        gates, monitoring = self._gates, self._monitoring
        roles = gates.roles
        at_gate = {
            events.PY_START: lambda code, _offset: gates.enter(code),
            events.PY_RESUME: lambda code, _offset: gates.enter(code, True),
            events.PY_RETURN: lambda code, _offset, _value: gates.leave(code),
            events.PY_YIELD: lambda code, _offset, _value: gates.leave(code, True),
            # Not told per function, so heard of all; only exceptions pay for it.
            events.PY_UNWIND: lambda code, _offset, _error: gates.leave(code) if code in roles else None,
        }
        for event, callback in at_gate.items():
            monitoring.register_callback(self._gate, event, callback)
        monitoring.set_events(self._gate, events.PY_UNWIND)
        local = events.PY_START | events.PY_RESUME | events.PY_RETURN | events.PY_YIELD
        gates.on_new = lambda code: monitoring.set_local_events(self._gate, code, local)
        for code in roles:
            gates.on_new(code)

    def _listen_while_open(self, events: int) -> None:
        """Switch everything on when the ledger opens, and off when it closes: pytest itself is not asked."""
        set_events, restart, tool = self._monitoring.set_events, self._monitoring.restart_events, self._tool

        def opened() -> None:
            set_events(tool, events)
            restart()

        self._ledger.on_open = opened
        self._ledger.on_close = lambda: set_events(tool, 0)

    def _callbacks(self) -> Callbacks:
        roles, disable = self._gates.roles, self._monitoring.DISABLE
        if self._mode == "characteristic":
            return _characteristic(self._ledger, self._places, disable)
        return _counted(self._ledger, roles) if self._counts else _once(self._ledger, roles, disable)

    def next_test(self) -> None:
        """Forget what holds for one test only."""
        if self._places.next_test():
            self._monitoring.restart_events()

    def stop(self) -> None:
        """Listen no longer."""
        for tool in (self._tool, self._gate):
            self._monitoring.set_events(tool, 0)
            self._monitoring.free_tool_id(tool)


class Places:
    """Which places of the code are to be switched off."""

    def __init__(self, disable: object, counts: bool) -> None:
        self._disable = disable
        self._counts = counts
        self._hits: dict[tuple[CodeType, int], int] = {}  # of this test
        self._looks: dict[tuple[CodeType, int], int] = {}
        self._is_stale = False

    def next_test(self) -> bool:
        """Begin another test; True when places are switched off that it needs."""
        self._hits.clear()
        is_stale, self._is_stale = self._is_stale, False
        return is_stale

    def after_hit(self, code: CodeType, offset: int) -> Any:
        """Switch a place off that tells the same again and again, unless each time counts."""
        if self._counts:
            return None
        place = (code, offset)
        hits = self._hits[place] = self._hits.get(place, 0) + 1
        if hits < _MOST_HITS:
            return None
        self._is_stale = True
        return self._disable

    def after_look(self, code: CodeType, offset: int) -> Any:
        """Switch a place off in a function that passes on what it is given, once it has given us enough looks."""
        place = (code, offset)
        looks = self._looks[place] = self._looks.get(place, 0) + 1
        return None if looks < _MOST_VARIANTS else self._disable


def _once(ledger: Ledger, roles: dict[CodeType, str], disable: object) -> Callbacks:
    """Each function is told once per phase."""
    name_of, is_wanted_c, wanted = CNames().of, ledger.is_wanted_c, _WantedCode(ledger)

    def started(code: CodeType, _offset: int) -> Any:
        seen = ledger.seen
        if seen is not None and code not in seen and code not in roles:
            seen[code] = 0
            if wanted[code]:
                ledger.hit(code, _frame(1).f_back)
        return disable

    def called(_code: CodeType, _offset: int, function: Any, _first: object) -> Any:
        seen = ledger.seen
        name = name_of(function)
        if seen is not None and name is not None:
            seen.setdefault(name, 0)
            if is_wanted_c(name):
                ledger.hit(name, _frame(1))
        return disable

    return started, called


def _counted(ledger: Ledger, roles: dict[CodeType, str]) -> Callbacks:
    """Each call is told."""
    name_of, is_wanted_c, wanted = CNames().of, ledger.is_wanted_c, _WantedCode(ledger)

    def started(code: CodeType, _offset: int) -> None:
        seen = ledger.seen
        if seen is not None and code not in roles:
            seen[code] = seen.get(code, 0) + 1
            if wanted[code]:
                ledger.hit(code, _frame(1).f_back)

    def called(_code: CodeType, _offset: int, function: Any, _first: object) -> None:
        seen = ledger.seen
        name = name_of(function)
        if seen is not None and name is not None:
            seen[name] = seen.get(name, 0) + 1
            if is_wanted_c(name):
                ledger.hit(name, _frame(1))

    return started, called


def _characteristic(ledger: Ledger, places: Places, disable: object) -> Callbacks:
    """Only what is wanted is told; all other places are switched off for good."""
    name_of, is_wanted_c, wanted = CNames().of, ledger.is_wanted_c, _WantedCode(ledger)

    def started(code: CodeType, offset: int) -> Any:
        if not wanted[code]:
            return disable
        seen = ledger.seen
        if seen is None:
            return None
        seen[code] = seen.get(code, 0) + 1
        ledger.hit(code, _frame(1).f_back)
        return places.after_hit(code, offset)

    def called(code: CodeType, offset: int, function: Any, _first: object) -> Any:
        name = name_of(function)
        if name is None or not is_wanted_c(name):
            return places.after_look(code, offset) if code.co_flags & _PASSES_ON else disable
        seen = ledger.seen
        if seen is None:
            return None
        seen[name] = seen.get(name, 0) + 1
        ledger.hit(name, _frame(1))
        return places.after_hit(code, offset)

    return started, called


class _WantedCode(dict):  # type: ignore[type-arg]  # not subscriptable on Python 3.8
    """Whether a Python function is one of those asked for, found out once."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self._ledger = ledger

    def __missing__(self, code: CodeType) -> bool:
        answer = self[code] = self._ledger.is_wanted_code(code)
        return answer
