"""Where a trace begins and ends: at the call and the return of test functions and fixture functions."""

from __future__ import annotations

import _thread
import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Callable

    from flakehound_inside.observe.calls.ledger import CallLedger

TEST = "test"
FIXTURE = "fixture"  # its code before the yield belongs to setup, the code after it to teardown
SUSPENDABLE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def code_of(function: object) -> Any:
    """The code that a call of a function or method runs; None if it is not written in Python."""
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    return code if inspect.iscode(code) else None


def is_suspendable(code: CodeType) -> bool:
    """Whether a `return` event of the profiler may be a yield."""
    return bool(code.co_flags & SUSPENDABLE)


class TraceBoundaries:
    """The functions that open the ledger when they start, and close it when they end."""

    def __init__(self, ledger: CallLedger) -> None:
        self._ledger = ledger
        self.roles: dict[CodeType, str] = {}  # TEST, FIXTURE, or the name of a phase
        self.stage = ""  # of pytest: setup, call or teardown
        self._running: list[tuple[CodeType, str]] = []  # boundaries that have not returned, with their phases
        self._thread = _thread.get_ident()
        self.on_new: Callable[[CodeType], None] = lambda _code: None

    def add(self, function: object, role: str) -> bool:
        """Make a function open and close the ledger; False if it is not written in Python."""
        code = code_of(function)
        if code is None:
            return False
        if self.roles.get(code) != role:
            self.roles[code] = role
            self.on_new(code)
        return True

    def begin(self, stage: str) -> None:
        """Called when pytest begins a stage of a test, which ends the stage before."""
        self.end()
        self.stage = stage
        self._thread = _thread.get_ident()

    def end(self) -> None:
        """Called when the stage is over, and with it every function that has not returned."""
        self.stage = ""
        self.close()

    def close(self) -> None:
        """Close the ledger, even if the return of a function was not reported."""
        self._running.clear()
        self._ledger.open("")

    def enter(self, code: CodeType, is_resumed: bool = False) -> None:
        """Called when the code of a boundary starts, or continues after a yield."""
        role = self.roles.get(code)
        if role is None or not self.stage or _thread.get_ident() != self._thread:
            return
        if role == TEST:
            if is_resumed:
                return
            phase = "call"
        elif role == FIXTURE:
            phase = "teardown" if is_resumed and self.stage == "teardown" else "setup"
        else:
            phase = role
        self._running.append((code, phase))
        self._ledger.open(phase)

    def leave(self, code: CodeType, is_yield: bool = False) -> None:
        """Called when the code of a boundary returns, raises an exception, or yields."""
        role = self.roles.get(code)
        if role is None or not self._running or _thread.get_ident() != self._thread:
            return
        if is_yield and role != FIXTURE:
            return
        for index in range(len(self._running) - 1, -1, -1):
            if self._running[index][0] is code:
                del self._running[index:]
                break
        self._ledger.open(self._running[-1][1] if self._running else "")
