"""The process of the controller: started, waited for, stopped, with nothing left open or running.

It has a pipe as its standard input that ends when this process ends, however that happens. Its standard error is a
file and not a pipe, because a process that it leaves behind could keep a pipe open.
"""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os

if TYPE_CHECKING:
    from typing import Callable, Mapping, Sequence

_REMEDY_PREFIX = "try: "  # how the last line of an error of flakehound may begin
_POLL_S = 0.1  # between two reads of the progress
_STOP_S = 3.0  # that it gets to write its answer and to clean up, after an interrupt and after each further signal
_TIDY_S = 10.0  # the same after a signal that is no interrupt by the user
_CHUNK_BYTES = 65536
_MAX_LINES = 20
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


class TimeIsUp(Exception):
    """The controller took longer than it may."""


class ControllerProcess:
    """A running controller; `close` must be called."""

    def __init__(self, command: Sequence[str], cwd: str, environment: Mapping[str, str], log: str) -> None:
        self._pipe = -1  # it ends when we close our end
        self.progress = ControllerOutput(log)
        stdin, self._pipe = os.pipe()
        try:
            stderr = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                self._process = subprocess.Popen(
                    list(command),
                    cwd=cwd,
                    env=dict(environment),
                    stdin=stdin,
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                )
            finally:
                os.close(stderr)
        except BaseException:
            self._close_pipe()
            raise
        finally:
            os.close(stdin)

    def wait(self, limit_s: float, show: Callable[[str], None] | None) -> int:
        """Its exit code; `show` is called with the newest line of progress several times a second."""
        end_s = isolated_os.clock() + limit_s
        while True:
            try:
                return self._process.wait(timeout=_POLL_S)
            except subprocess.TimeoutExpired:  # noqa: PERF203
                if isolated_os.clock() >= end_s:
                    raise TimeIsUp from None
                if show is not None:
                    show(self.progress.newest())

    def stop(self, *, was_interrupted: bool) -> None:
        """Ask it for its answer so far, then end it.

        The terminal has interrupted it together with us, so after an interrupt it gets its first signal later.
        """
        if was_interrupted:
            self._end_by(((0, _STOP_S), (signal.SIGINT, _STOP_S), (signal.SIGTERM, _STOP_S), (_KILL, _STOP_S)))
        else:
            self._end_by(((signal.SIGINT, _TIDY_S), (signal.SIGTERM, _TIDY_S), (_KILL, _STOP_S)))

    def _end_by(self, steps: Sequence[tuple[int, float]]) -> None:
        for number, wait_s in steps:
            try:
                if number:
                    self._process.send_signal(number)
                self._process.wait(timeout=wait_s)
            except (subprocess.TimeoutExpired, KeyboardInterrupt, ValueError, OSError):
                continue
            return

    def close(self) -> None:
        """End it if it still runs, and close what belongs to it."""
        self._close_pipe()
        if self._process.poll() is None:
            self._end_by(((signal.SIGTERM, _STOP_S), (_KILL, _STOP_S)))
        if self._process.returncode is None:
            # Not even killed: it hangs in the kernel. With a code, `subprocess` does not warn of it.
            self._process.returncode = -int(_KILL)

    def _close_pipe(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1


class ControllerOutput:
    """The lines that the controller has written to its standard error."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._offset = 0
        self._incomplete = b""
        self._lines: list[str] = []

    def newest(self) -> str:
        """The newest complete line; empty before the first."""
        self._read()
        return self._lines[-1] if self._lines else ""

    def last_lines(self) -> str:
        """Its last lines after it has ended: the error, and what to do about it."""
        self._read()
        lines = [*self._lines, *_lines_in(self._incomplete)]
        shown = [line for line in lines if not line.startswith(_REMEDY_PREFIX)][-1:]
        shown += [line for line in lines if line.startswith(_REMEDY_PREFIX)][-1:]
        return ". ".join(shown)

    def _read(self) -> None:
        try:
            file = isolated_os.open(self._path, os.O_RDONLY)
        except OSError:  # someone has emptied the temporary folder
            return
        try:
            isolated_os.lseek(file, self._offset, os.SEEK_SET)
            chunk = isolated_os.read(file, _CHUNK_BYTES)
            while chunk:
                self._offset += len(chunk)
                self._add(chunk)
                chunk = isolated_os.read(file, _CHUNK_BYTES)
        finally:
            isolated_os.close(file)

    def _add(self, chunk: bytes) -> None:
        # A line of progress may end with only a carriage return.
        *complete, self._incomplete = (self._incomplete + chunk).replace(b"\r", b"\n").split(b"\n")
        self._lines += [line for part in complete for line in _lines_in(part)]
        del self._lines[:-_MAX_LINES]


def _lines_in(part: bytes) -> list[str]:
    text = part.decode("utf-8", "replace").strip()
    return [text] if text else []
