"""Started processes: the audit events that report them, and a counter for those that raise no event."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Callable, Iterable

_ENCODING, _ERRORS = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()

# How to find the started program in the arguments of each audit event.
PROGRAM_IN_EVENT: dict[str, Callable[[tuple[Any, ...]], Any]] = {
    "subprocess.Popen": lambda arguments: arguments[1] or arguments[0],
    "os.system": lambda arguments: arguments[0],
    "os.exec": lambda arguments: arguments[1] or arguments[0],
    "os.posix_spawn": lambda arguments: arguments[1] or arguments[0],
    "os.spawn": lambda arguments: arguments[2] or arguments[1],
    "os.startfile": lambda arguments: arguments[0],
    "pty.spawn": lambda arguments: arguments[0],
    "os.fork": lambda arguments: "a copy of itself",
    "os.forkpty": lambda arguments: "a copy of itself",
}


def command_line(program: str | bytes | os.PathLike[str] | Iterable[Any]) -> str:
    """A started program as one line of text, at most 80 characters."""
    words = [program] if isinstance(program, (str, bytes, os.PathLike)) else list(program)
    text = " ".join(" ".join(map(decode_path, words)).split())
    return text if len(text) <= 80 else text[:77] + "..."


def decode_path(path: object) -> str:
    """A path or word as text, as `os.fsdecode` would return it, but without calls that a test may have mocked."""
    return path.decode(_ENCODING, _ERRORS) if isinstance(path, bytes) else str(path)


def multiprocessing_counter() -> str:
    """The counter of processes that multiprocessing has started; its spawn method raises no audit event."""
    module = sys.modules.get("multiprocessing.process")
    unused_counter = "count(1)"
    return repr(getattr(module, "_process_counter", None)) if module is not None else unused_counter
