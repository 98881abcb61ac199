"""The lasting files that a test writes outside its project and its temporary folder.

Files inside those folders are compared, see `state.process`; elsewhere there are too many, so writes are observed
through audit events, which child processes do not raise here.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from flakehound_inside.observe.writes import CachePaths, may_write, written_paths

if TYPE_CHECKING:
    from typing import Any

_SYSTEM_FOLDERS = ("/dev/", "/proc/", "/sys/")


class OutsideWrites:
    """The paths written since the last reset, without those in folders whose content is compared."""

    def __init__(self, *compared_folders: str) -> None:
        self._compared = tuple(os.path.join(os.path.realpath(folder), "") for folder in compared_folders if folder)
        self._paths: set[str] = set()
        self._caches = CachePaths()
        self._is_handling = False

    def start(self) -> None:
        """Observe from now on; Python has no way to remove an audit hook."""
        sys.addaudithook(self._receive)

    def reset(self) -> None:
        """Forget what was written so far."""
        self._paths = set()

    def changed_paths(self) -> list[str]:
        """The files and folders that were written, created or removed."""
        return sorted(path for path in map(os.path.realpath, self._paths) if self._is_outside(path))

    def _is_outside(self, path: str) -> bool:
        return not path.startswith((*self._compared, *_SYSTEM_FOLDERS)) and not self._caches.include(path)

    def _receive(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._is_handling or not may_write(event):
            return
        self._is_handling = True
        try:
            self._paths.update(path for path, _is_last in written_paths(event, arguments))
        except (OSError, ValueError):
            pass
        finally:
            self._is_handling = False
