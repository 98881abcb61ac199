"""Trace calls by `sys.monitoring`, Python 3.12 and newer, in all threads.

A place that has told what it calls is switched off, and runs at full speed from then on. Two tools: one hears of
the gates and is never switched off, the other of all else. Debuggers, coverage and profilers have their own.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from flakehound_inside.calls_names import c_name

if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Callable

    from flakehound_inside.calls_gates import Gates
    from flakehound_inside.calls_ledger import Ledger

_FREE_TOOLS = (3, 4, 5)  # the others are reserved for debuggers, coverage and profilers
_MOST_HITS = 500  # at one place in one test, before it is switched off until the next test
_MOST_VARIANTS = 50  # looks at one place that calls with `*arguments`, where the function often differs
_CALL_EX = "CALL_FUNCTION_EX"


class NoFreeTool(Exception):
    """Somebody else uses them all."""


class Monitoring:
    """Hears of calls and writes them into the ledger."""

    def __init__(self, ledger: Ledger, gates: Gates, mode: str, counts: bool) -> None:
        self._ledger = ledger
        self._gates = gates
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        self._mode, self._counts = mode, counts
        self._is_wanted: dict[CodeType, bool] = {}
        self._times: dict[tuple[CodeType, int], int] = {}  # hits of this test, by place
        self._variants: dict[tuple[CodeType, int], int] = {}
        self._is_stale = False  # places were switched off that another test needs

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
        started, called = self._callbacks()
        events = monitoring.events
        monitoring.register_callback(self._tool, events.PY_START, started)
        monitoring.register_callback(self._tool, events.CALL, called)
        monitoring.set_events(self._tool, events.PY_START | events.CALL)

    def _listen_at_gates(self, events: Any) -> None:
        gates, monitoring = self._gates, self._monitoring
        at_gate = {
            events.PY_START: lambda code, _offset: gates.enter(code),
            events.PY_RESUME: lambda code, _offset: gates.enter(code, True),
            events.PY_RETURN: lambda code, _offset, _value: gates.leave(code),
            events.PY_YIELD: lambda code, _offset, _value: gates.leave(code, True),
            # Not told per function, so heard of all; only exceptions pay for it.
            events.PY_UNWIND: lambda code, _offset, _error: gates.leave(code) if code in gates.roles else None,
        }
        for event, callback in at_gate.items():
            monitoring.register_callback(self._gate, event, callback)
        monitoring.set_events(self._gate, events.PY_UNWIND)
        local = events.PY_START | events.PY_RESUME | events.PY_RETURN | events.PY_YIELD
        gates.on_new = lambda code: monitoring.set_local_events(self._gate, code, local)
        for code in gates.roles:
            gates.on_new(code)

    def _callbacks(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        if self._mode == "characteristic":
            return self._started_characteristic, self._called_characteristic
        if self._counts:
            return self._started_counted, self._called_counted
        self._ledger.on_open = self._monitoring.restart_events
        return self._started_once, self._called_once

    def next_test(self) -> None:
        """Forget what holds for one test only."""
        self._times.clear()
        if self._is_stale:
            self._is_stale = False
            self._monitoring.restart_events()

    def stop(self) -> None:
        """Listen no longer."""
        for tool in (self._tool, self._gate):
            self._monitoring.set_events(tool, 0)
            self._monitoring.free_tool_id(tool)

    def _started_once(self, code: CodeType, _offset: int) -> Any:
        seen = self._ledger.seen
        if seen is not None and code not in seen and code not in self._gates.roles:
            seen[code] = 0
            if self._wants(code):
                self._ledger.hit(code, sys._getframe(1).f_back)
        return self._monitoring.DISABLE

    def _called_once(self, _code: CodeType, _offset: int, called: Any, _first: object) -> Any:
        seen = self._ledger.seen
        if seen is not None:
            name = c_name(called)
            if name is not None:
                seen.setdefault(name, 0)
                if self._ledger.is_wanted_c(name):
                    self._ledger.hit(name, sys._getframe(1))
        return self._monitoring.DISABLE

    def _started_counted(self, code: CodeType, _offset: int) -> None:
        seen = self._ledger.seen
        if seen is None or code in self._gates.roles:
            return
        seen[code] = seen.get(code, 0) + 1
        if self._wants(code):
            self._ledger.hit(code, sys._getframe(1).f_back)

    def _called_counted(self, _code: CodeType, _offset: int, called: Any, _first: object) -> None:
        seen = self._ledger.seen
        name = c_name(called) if seen is not None else None
        if seen is None or name is None:
            return
        seen[name] = seen.get(name, 0) + 1
        if self._ledger.is_wanted_c(name):
            self._ledger.hit(name, sys._getframe(1))

    def _started_characteristic(self, code: CodeType, offset: int) -> Any:
        if not self._wants(code):
            return self._monitoring.DISABLE
        seen = self._ledger.seen
        if seen is None:
            return None
        seen[code] = seen.get(code, 0) + 1
        self._ledger.hit(code, sys._getframe(1).f_back)
        return self._enough(code, offset)

    def _called_characteristic(self, code: CodeType, offset: int, called: Any, _first: object) -> Any:
        name = c_name(called)
        if name is None or not self._ledger.is_wanted_c(name):
            return self._given_up(code, offset)
        seen = self._ledger.seen
        if seen is None:
            return None
        seen[name] = seen.get(name, 0) + 1
        self._ledger.hit(name, sys._getframe(1))
        return self._enough(code, offset)

    def _wants(self, code: CodeType) -> bool:
        known = self._is_wanted.get(code)
        if known is None:
            known = self._is_wanted[code] = self._ledger.is_wanted_code(code)
        return known

    def _enough(self, code: CodeType, offset: int) -> Any:
        """Switch a place off that tells the same again and again; counts of such places are a lower bound."""
        if self._counts:
            return None
        place = (code, offset)
        times = self._times[place] = self._times.get(place, 0) + 1
        if times < _MOST_HITS:
            return None
        self._is_stale = True
        return self._monitoring.DISABLE

    def _given_up(self, code: CodeType, offset: int) -> Any:
        """Switch a place off that calls something else, at once unless it calls whatever it is given."""
        place = (code, offset)
        looks = self._variants.get(place)
        if looks is None:
            import opcode

            is_open = opcode.opname[code.co_code[offset]] == _CALL_EX
            looks = 0 if is_open else _MOST_VARIANTS
        self._variants[place] = looks + 1
        return None if looks < _MOST_VARIANTS else self._monitoring.DISABLE
