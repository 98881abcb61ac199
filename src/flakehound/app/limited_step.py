"""Execute an optional step of a use case within a time limit."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar, cast

from flakehound.core.errors import FailedStep, attempt

Result = TypeVar("Result")
_POLL_S = 0.2  # between two calls of `while_waiting`


class _StepThread(threading.Thread, Generic[Result]):
    """A thread that keeps the result of a step, or the error that it raised."""

    def __init__(self, step: Callable[[], Result]) -> None:
        super().__init__(name="flakehound-step", daemon=True)
        self._step = step
        self.result: Result | FailedStep | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Called in the thread."""
        try:
            self.result = attempt(self._step)
        except BaseException as error:  # raised again by the thread that waits for this one
            self.error = error


def attempt_within(
    step: Callable[[], Result], limit_s: float, while_waiting: Callable[[], None] = lambda: None
) -> Result | FailedStep:
    """`attempt` in another thread; the step is abandoned if it takes longer than the limit."""
    thread = _StepThread(step)
    deadline = time.monotonic() + limit_s
    thread.start()
    while thread.is_alive() and time.monotonic() < deadline:
        while_waiting()
        thread.join(_POLL_S)
    if thread.is_alive():
        for process in multiprocessing.active_children():
            process.kill()  # else the end of our process would wait for the end of theirs
        return FailedStep(what=f"it took longer than {limit_s:.0f} s")
    if thread.error is not None:
        raise thread.error
    return cast("Result | FailedStep", thread.result)
