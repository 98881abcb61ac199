"""Which names the project's code mentions that runs in a test: what a test can share, its code has to name.

By the functions that are called, not by what they do: a name that only a library uses is not seen.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Iterator

    from flakehound_inside.observe.dependencies import Places

_LONGEST = 100  # letters of a text that may be a name
MOST = 4000


class Mentions:
    """Listens to calls, in new threads as well; stands aside where somebody else profiles."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._is_project: dict[str, bool] = {}
        self._names: dict[CodeType, frozenset[str]] = {}
        self._seen: set[CodeType] = set()
        self._is_on = False

    def begin(self) -> None:
        """Forget what was called."""
        self._seen = set()
        self._is_on = sys.getprofile() is None
        if self._is_on:
            threading.setprofile(self._hear)
            sys.setprofile(self._hear)

    def end(self) -> list[str] | None:
        """The names in what was called since; None: not known."""
        if not self._is_on or sys.getprofile() != self._hear:
            return None
        sys.setprofile(None)
        threading.setprofile(None)
        found: set[str] = set()
        for code in self._seen:
            if self._is_ours(code.co_filename):
                found.update(self._names_in(code))
        return sorted(found) if len(found) <= MOST else None

    def _hear(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call":
            self._seen.add(frame.f_code)

    def _is_ours(self, file: str) -> bool:
        if file not in self._is_project:
            # Python's frozen modules and generated code have no file: <frozen posixpath>.
            self._is_project[file] = not file.startswith("<") and self._places.is_project(self._places.real(file))
        return self._is_project[file]

    def _names_in(self, code: CodeType) -> frozenset[str]:
        if code not in self._names:
            arguments = code.co_varnames[: code.co_argcount]  # fixtures, in a test
            texts = _texts((code.co_names, code.co_freevars, code.co_consts, arguments))
            self._names[code] = frozenset(texts)
        return self._names[code]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if 0 < len(value) <= _LONGEST and "\n" not in value:
            yield value
    elif isinstance(value, (tuple, frozenset)):
        for part in value:
            for text in _texts(part):
                yield text
