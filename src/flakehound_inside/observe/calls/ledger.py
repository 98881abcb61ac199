"""What was called during one test, by phase, and from where what matters was reached."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from flakehound_inside.observe.calls.names import Patterns, python_name

if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Callable

    from flakehound_inside.message_types import Trace
    from flakehound_inside.observe.calls.names import CName

PHASES = ("setup", "call", "teardown")
_DEEPEST = 400  # frames looked at on the way from a function to the line that reaches it
_NEUTRAL_LOOKS = 20  # how often in one phase we look whether a function is reached by a line that counts
_INSTALLED = ("site-packages", "dist-packages")


class Ledger:
    """Open in one phase of one test at a time; what is called while it is closed is nobody's."""

    def __init__(self, wish: Trace, root: str) -> None:
        self.wanted = Patterns(wish["wanted"])
        self._neutral = frozenset(wish["neutral"])
        self.root = os.path.join(root, "")
        self._standard = os.path.join(os.path.dirname(os.__file__), "")
        self._is_project: dict[str, bool] = {}
        self._wanted_c: dict[CName, bool] = {}
        self.on_open: Callable[[], None] = lambda: None
        self.on_close: Callable[[], None] = lambda: None
        self.classes: dict[CodeType, str] = {}  # for Pythons whose code does not know its class
        self.clear()

    def clear(self) -> None:
        """Begin another test."""
        self.phase = ""
        self.seen: dict[object, int] | None = None  # None: closed; in the order of the first call
        self.books: dict[str, dict[object, int]] = {}
        self.hits: dict[tuple[str, object], tuple[str, int, str] | None] = {}
        self._looks: dict[tuple[str, object], int] = {}
        self.children: list[tuple[str, str]] = []
        self.notes: dict[str, None] = {}  # in the order they arose

    def open(self, phase: str) -> None:
        """Count from now on what is called to this phase; an empty one closes."""
        if phase == self.phase:
            return
        self.phase = phase
        self.seen = self.books.setdefault(phase, {}) if phase else None
        (self.on_open if phase else self.on_close)()

    def note(self, text: str) -> None:
        """Why what is written may not be all."""
        self.notes[text] = None

    def is_wanted_code(self, code: CodeType, frame: FrameType | None = None) -> bool:
        """Whether a Python function is one of those asked for."""
        owner, name = python_name(code, frame)
        if sys.version_info < (3, 11):
            self.classes[code] = owner
        return self.wanted.fits(code.co_filename, owner, name)

    def is_wanted_c(self, name: CName) -> bool:
        """Whether a C function is one of those asked for."""
        known = self._wanted_c.get(name)
        if known is None:
            known = self._wanted_c[name] = self.wanted.fits("<%s>" % name[0], name[1], name[2])
        return known

    def hit(self, key: object, frame: FrameType | None) -> None:
        """Remember the line of the project from which one that is asked for is reached."""
        place = (self.phase, key)
        if place in self.hits:
            return
        found = self._line_above(frame)
        if found is None:
            looks = self._looks[place] = self._looks.get(place, 0) + 1
            if looks < _NEUTRAL_LOOKS:
                return
        self.hits[place] = found

    def _line_above(self, frame: FrameType | None) -> tuple[str, int, str] | None:
        """The innermost line of the project; empty when there is none, None when it is nobody's doing."""
        for _step in range(_DEEPEST):
            if frame is None:
                break
            code = frame.f_code
            if self.is_project(code.co_filename):
                return (self.shown(code.co_filename), frame.f_lineno or code.co_firstlineno, code.co_name)
            module = frame.f_globals.get("__name__")
            if isinstance(module, str) and (module in self._neutral or module.partition(".")[0] in self._neutral):
                return None
            frame = frame.f_back
        return ("", 0, "")

    def is_project(self, file: str) -> bool:
        """Whether a source file is the project's own."""
        known = self._is_project.get(file)
        if known is None:
            inside = file.startswith(self.root) and not file.startswith(self._standard)
            known = inside and not any(part in file[len(self.root) :] for part in _INSTALLED)
            self._is_project[file] = known
        return known

    def shown(self, file: str) -> str:
        """A path as node ids have it, below the root; others whole."""
        return file[len(self.root) :] if self.is_project(file) else file
