"""Notes the paths whose existence, size, mode or time a process asks for: Python has no audit events for these.

The functions of `os` are replaced, so code that got them by another way (importlib, native code) is not noticed.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Callable

_NAMES = ("stat", "lstat", "access", "readlink", "statvfs")
_SETS = ("supports_dir_fd", "supports_effective_ids", "supports_fd", "supports_follow_symlinks")


class LookedAtPaths:
    """Calls a function with the path and the frame of each such question, from `start` to `end`."""

    def __init__(self, note: Callable[[Any, FrameType], None]) -> None:
        self._note = note
        self._originals: dict[str, Any] = {}

    def start(self) -> None:
        """Replace the functions of `os`."""
        for name in _NAMES:
            original = getattr(os, name, None)
            if original is not None:
                self._originals[name] = original
                setattr(os, name, self._noting(original))

    def end(self) -> None:
        """Put the functions back, unless somebody else has replaced ours."""
        for name, original in self._originals.items():
            if getattr(getattr(os, name), "__wrapped__", None) is original:
                setattr(os, name, original)

    def _noting(self, original: Any) -> Any:
        note, frame_of = self._note, sys._getframe

        @functools.wraps(original)
        def noting(path: Any, *arguments: Any, **options: Any) -> Any:
            note(path, frame_of(1))
            return original(path, *arguments, **options)

        for name in _SETS:  # shutil asks by identity what the functions can do
            functions = getattr(os, name, None)
            if functions is not None and original in functions:
                functions.add(noting)
        return noting
