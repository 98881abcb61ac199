"""The outer side of a process that runs tests: where it writes, what it may use, how it leaves."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os, resource

if TYPE_CHECKING:
    import io
    from typing import Any, NoReturn

    import pytest

    from flakehound_inside.message_types import Request

_OUTPUT_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND


class Output:
    """Where the processes of one slot print: one file for all of them, emptied for each."""

    def __init__(self, config: pytest.Config) -> None:
        self._capture = config.pluginmanager.getplugin("capturemanager")
        self._identity: tuple[int, int] | None = None

    def settle(self, path: str) -> None:
        """Print into the file at `path` from now on; costs next to nothing when we do already."""
        if self._identity is None or self._identity != _identity_of(path) or not self._captured_files_are_empty():
            self._redirect(path)
            self._identity = _identity_of(path)

    def _redirect(self, path: str) -> None:
        capture = self._capture
        if capture is not None:
            capture.stop_global_capturing()
        sys.stdout.flush()
        sys.stderr.flush()
        output = isolated_os.open(path, _OUTPUT_FLAGS, 0o600)
        isolated_os.dup2(output, 1)
        isolated_os.dup2(output, 2)
        isolated_os.close(output)
        if capture is not None:
            # Its own capture files: slots that share them would read what the tests of others print.
            capture.start_global_capturing()
            capture.suspend_global_capture(in_=True)
        dump_on_crash(path)

    def _captured_files_are_empty(self) -> bool:
        # A test that died left there what it had printed; the next one must not be told it is its own.
        captures = getattr(self._capture, "_global_capturing", None)
        stream: Any
        for stream in (getattr(captures, "out", None), getattr(captures, "err", None)):
            try:
                if isolated_os.fstat(stream.tmpfile.fileno()).st_size:
                    return False
            except (AttributeError, ValueError, OSError):  # noqa: PERF203 (captured in memory, or not at all)
                continue
        return True


def _identity_of(path: str) -> tuple[int, int] | None:
    try:
        status = isolated_os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


_crash_files: list[io.FileIO] = []


def dump_on_crash(path: str) -> None:
    """Let Python say where it is when it dies, or when SIGUSR2 asks."""
    # Kept open for good: faulthandler needs the descriptor when the process is already dying.
    file = open(path, "ab", buffering=0)  # noqa: SIM115
    _crash_files[:] = [file]
    faulthandler.enable(file)
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGUSR2, file, all_threads=True)


def limit_memory(request: Request) -> None:
    """Give the process the address space that the request allows it."""
    limit = request.get("memory_bytes")
    if limit and resource is not None:
        isolated_os.set_limit(resource.RLIMIT_AS, (limit, limit))


def last_words(request: Request, text: str) -> None:
    """Leave a trace of an error that nobody caught."""
    try:
        output = isolated_os.open(request["output"], _OUTPUT_FLAGS, 0o600)
        isolated_os.write(output, text.encode("utf-8", "backslashreplace"))
    except OSError:
        pass


def leave(code: int) -> NoReturn:
    """End the process now, whatever the tests left in it."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except Exception:
        code = code or 0
    finally:
        isolated_os.exit(code)
