"""Output, memory limit and exit of a process that runs tests."""

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

    from flakehound_inside.message_types import RunRequest

_OUTPUT_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND


class SlotOutput:
    """The file into which the processes of one slot print, one after the other."""

    def __init__(self, config: pytest.Config) -> None:
        self._capture = config.pluginmanager.getplugin("capturemanager")
        self._identity: tuple[int, int] | None = None

    def redirect_to(self, path: str) -> None:
        """Redirect output to the file at `path`; does nothing if it is redirected there already."""
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
            # Each slot needs its own capture files, else it would read what tests of other slots print.
            capture.start_global_capturing()
            capture.suspend_global_capture(in_=True)
        enable_stack_dumps(path)

    def _captured_files_are_empty(self) -> bool:
        # A test that ended its process has left output there, which must not be reported for the next test.
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


def enable_stack_dumps(path: str) -> None:
    """Make Python print its stacks into a file when it crashes, or on SIGUSR2."""
    # Never closed: faulthandler needs the descriptor when the process is already dying.
    file = open(path, "ab", buffering=0)  # noqa: SIM115
    _crash_files[:] = [file]
    faulthandler.enable(file)
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGUSR2, file, all_threads=True)


def limit_memory(request: RunRequest) -> None:
    """Limit the address space of the process as requested."""
    limit = request.get("memory_bytes")
    if limit and resource is not None:
        isolated_os.set_limit(resource.RLIMIT_AS, (limit, limit))


def write_error(request: RunRequest, text: str) -> None:
    """Append an uncaught error to the output of the process."""
    try:
        output = isolated_os.open(request["output"], _OUTPUT_FLAGS, 0o600)
        isolated_os.write(output, text.encode("utf-8", "backslashreplace"))
    except OSError:
        pass


def exit_process(code: int) -> NoReturn:
    """End the process at once, without exit handlers and without waiting for threads."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except Exception:
        code = code or 0
    finally:
        isolated_os.exit(code)
