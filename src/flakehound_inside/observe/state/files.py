"""Which lasting files a test writes outside its project and its temporary folder.

Files inside are compared, see `state_process`; elsewhere there are too many, so we listen. What a child process
writes there is not heard.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from flakehound_inside.observe.writes import PASSED_OVER, may_write, paths_of

if TYPE_CHECKING:
    from typing import Any

_NO_FILE = ("/dev/", "/proc/", "/sys/")


class FarFiles:
    """Listens from its start on; Python knows no way to stop."""

    def __init__(self, *compared: str) -> None:
        self._near = tuple(os.path.join(os.path.realpath(folder), "") for folder in compared if folder)
        self._heard: set[str] = set()
        self._busy = False

    def start(self) -> None:
        """Listen from now on."""
        sys.addaudithook(self._hear)

    def forget(self) -> None:
        """What was written so far is nobody's."""
        self._heard = set()

    def written(self) -> list[str]:
        """Where something was written, made or removed, as far away as we listen."""
        return sorted(path for path in map(os.path.realpath, self._heard) if self._is_far(path))

    def _is_far(self, path: str) -> bool:
        return not path.startswith((*self._near, *_NO_FILE)) and not any(part in path for part in PASSED_OVER)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._busy or not may_write(event):
            return
        self._busy = True
        try:
            self._heard.update(path for path, _last in paths_of(event, arguments))
        except (OSError, ValueError):
            pass
        finally:
            self._busy = False
