"""The names in the project's code that runs in a test, because state shared with other tests must be named there.

Taken from the functions that are called, whether or not the name is used; names in libraries are not included.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Iterator

    from flakehound_inside.observe.project_paths import ProjectPaths

_MAX_NAME_LENGTH = 100
MAX_NAMES = 4000


class MentionedNames:
    """Records called functions by a profile function, in new threads as well, unless another one is set."""

    def __init__(self, paths: ProjectPaths) -> None:
        self._paths = paths
        self._is_project: dict[str, bool] = {}
        self._names: dict[CodeType, frozenset[str]] = {}
        self._called: set[CodeType] = set()
        self._is_profiling = False

    def begin(self) -> None:
        """Forget the last test and start to record."""
        self._called = set()
        self._is_profiling = sys.getprofile() is None
        if self._is_profiling:
            threading.setprofile(self._profile)
            sys.setprofile(self._profile)

    def end(self) -> list[str] | None:
        """Stop recording; the names in the functions that were called, or None if they are not known."""
        if not self._is_profiling or sys.getprofile() != self._profile:
            return None
        sys.setprofile(None)
        threading.setprofile(None)
        names: set[str] = set()
        for code in self._called:
            if self._is_project_file(code.co_filename):
                names.update(self._names_in(code))
        return sorted(names) if len(names) <= MAX_NAMES else None

    def _profile(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call":
            self._called.add(frame.f_code)

    def _is_project_file(self, file: str) -> bool:
        if file not in self._is_project:
            # Frozen modules and generated code have no file: <frozen posixpath>.
            self._is_project[file] = not file.startswith("<") and self._paths.is_project(self._paths.resolve(file))
        return self._is_project[file]

    def _names_in(self, code: CodeType) -> frozenset[str]:
        if code not in self._names:
            arguments = code.co_varnames[: code.co_argcount]  # fixtures, in a test
            strings = _strings((code.co_names, code.co_freevars, code.co_consts, arguments))
            self._names[code] = frozenset(strings)
        return self._names[code]


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if 0 < len(value) <= _MAX_NAME_LENGTH and "\n" not in value:
            yield value
    elif isinstance(value, (tuple, frozenset)):
        for part in value:
            for text in _strings(part):
                yield text
