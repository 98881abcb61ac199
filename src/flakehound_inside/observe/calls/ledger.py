"""The calls of one test by phase, and the project's lines from which wanted functions were reached."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from flakehound_inside.observe.calls.names import FunctionPatterns, python_name

if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Callable

    from flakehound_inside.message_types import TraceRequest
    from flakehound_inside.observe.calls.names import CName

PHASES = ("setup", "call", "teardown")
_MAX_FRAMES = 400  # between a function and the line of the project that reaches it
_MAX_NEUTRAL_CALLS = 20  # of one function in one phase, after which its later callers are not looked up
_INSTALL_FOLDERS = ("site-packages", "dist-packages")


class CallLedger:
    """Open for one phase of one test at a time; calls while it is closed are not counted."""

    def __init__(self, request: TraceRequest, root: str) -> None:
        self.wanted = FunctionPatterns(request["wanted"])
        self._neutral = frozenset(request["neutral"])
        self.root = os.path.join(root, "")
        self._standard = os.path.join(os.path.dirname(os.__file__), "")
        self._is_project: dict[str, bool] = {}
        self._wanted_c: dict[CName, bool] = {}
        self.on_open: Callable[[], None] = lambda: None
        self.on_close: Callable[[], None] = lambda: None
        self.classes: dict[CodeType, str] = {}  # before Python 3.11, where code has no qualified name
        self.clear()

    def clear(self) -> None:
        """Forget the calls of the last test."""
        self.phase = ""
        # Calls by function, in the order of first calls; None: closed.
        self.current_calls: dict[object, int] | None = None
        self.calls: dict[str, dict[object, int]] = {}  # by phase
        self.hits: dict[tuple[str, object], tuple[str, int, str] | None] = {}
        self._neutral_calls: dict[tuple[str, object], int] = {}
        self.children: list[tuple[str, str]] = []
        self.notes: dict[str, None] = {}  # in the order in which they arose

    def open(self, phase: str) -> None:
        """Count calls for this phase from now on; an empty phase closes the ledger."""
        if phase == self.phase:
            return
        self.phase = phase
        self.current_calls = self.calls.setdefault(phase, {}) if phase else None
        (self.on_open if phase else self.on_close)()

    def note(self, text: str) -> None:
        """Add a reason why the calls may be incomplete."""
        self.notes[text] = None

    def is_wanted_code(self, code: CodeType, frame: FrameType | None = None) -> bool:
        """Whether a Python function is one of the wanted ones."""
        owner, name = python_name(code, frame)
        if sys.version_info < (3, 11):
            self.classes[code] = owner
        return self.wanted.matches(code.co_filename, owner, name)

    def is_wanted_c(self, name: CName) -> bool:
        """Whether a C function is one of the wanted ones."""
        is_wanted = self._wanted_c.get(name)
        if is_wanted is None:
            is_wanted = self._wanted_c[name] = self.wanted.matches("<%s>" % name[0], name[1], name[2])
        return is_wanted

    def add_hit(self, key: object, frame: FrameType | None) -> None:
        """Add the line of the project from which a wanted function is reached."""
        key_in_phase = (self.phase, key)
        if key_in_phase in self.hits:
            return
        line = self._line_above(frame)
        if line is None:
            calls = self._neutral_calls[key_in_phase] = self._neutral_calls.get(key_in_phase, 0) + 1
            if calls < _MAX_NEUTRAL_CALLS:
                return
        self.hits[key_in_phase] = line

    def _line_above(self, frame: FrameType | None) -> tuple[str, int, str] | None:
        """The innermost line of the project; empty if there is none, None if a neutral module comes first."""
        for _step in range(_MAX_FRAMES):
            if frame is None:
                break
            code = frame.f_code
            if self.is_project(code.co_filename):
                return (self.displayed_path(code.co_filename), frame.f_lineno or code.co_firstlineno, code.co_name)
            module = frame.f_globals.get("__name__")
            if isinstance(module, str) and (module in self._neutral or module.partition(".")[0] in self._neutral):
                return None
            frame = frame.f_back
        return ("", 0, "")

    def is_project(self, file: str) -> bool:
        """Whether a source file is the project's own."""
        is_project = self._is_project.get(file)
        if is_project is None:
            is_inside = file.startswith(self.root) and not file.startswith(self._standard)
            is_project = is_inside and not any(part in file[len(self.root) :] for part in _INSTALL_FOLDERS)
            self._is_project[file] = is_project
        return is_project

    def displayed_path(self, file: str) -> str:
        """The path of a project file relative to the root, as in node ids; other paths unchanged."""
        return file[len(self.root) :] if self.is_project(file) else file
