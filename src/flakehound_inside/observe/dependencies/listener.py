"""Receives Python's audit events about files, folders, imports, processes and services that a process uses.

Events raised in libraries are received too. `looked_at.py` notices questions about files, such as `Path.exists`,
for which there is no event. Nothing is noted for: files that native code opens by itself, datagrams, threads that
native code or `_thread` starts (before Python 3.12 no tracer reaches them), and everything in other processes;
starting one is noted as a doubt.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.observe.dependencies.local_services import (
    LocalServices,
    is_port_in_use,
    local_service_name,
)
from flakehound_inside.observe.dependencies.looked_at import LookedAtPaths
from flakehound_inside.observe.process_starts import PROGRAM_IN_EVENT, command_line, decode_path

if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Callable, Iterator

    from flakehound_inside.observe.dependencies.notes import DependencyNotes
    from flakehound_inside.observe.line_tracer import LineTracer
    from flakehound_inside.observe.project_paths import ProjectPaths

    Handler = Callable[[tuple[Any, ...], FrameType], None]

_current_folder, _thread_id = os.getcwd, threading.get_ident
_IMPORTLIB = "<frozen importlib._bootstrap_external>"
_ASSERT_REWRITER = "_pytest.assertion.rewrite"
# Modules that open files on behalf of others.
_INTERMEDIATE_MODULES = frozenset(
    {"ast", "codecs", "genericpath", "glob", "iniconfig", "inspect", "linecache", "os", "pathlib", "pathlib._abc",
     "posixpath", "fnmatch",
     "pathlib._local", "tokenize", "zipfile", "zipfile._path"}
)  # fmt: skip
# These read sources only to print them; a line that a traceback prints was executed, so it is traced anyway.
_SOURCE_PRINTERS = frozenset({"traceback", "warnings"})
_PYTEST_SOURCE_PRINTER = "_pytest._code"
_METADATA_READERS = ("importlib.metadata", "importlib_metadata")  # search all of sys.path for installed packages
_IGNORED_READERS = (_PYTEST_SOURCE_PRINTER, *_METADATA_READERS)
_PROCESS_STARTERS = frozenset({"subprocess", "os", "_posixsubprocess"})
_MODULES_THAT_ASK = frozenset({"ctypes.util", "platform", "uuid"})
_WRITE_ONLY = os.O_WRONLY | os.O_TRUNC


class DependencyListener:
    """Adds events to the notes, from `start` to `end`."""

    def __init__(self, notes: DependencyNotes, paths: ProjectPaths, lines: LineTracer) -> None:
        self._notes = notes
        self._paths = paths
        self._lines = lines
        self.in_tests = False  # False while pytest starts and collects
        self._services = LocalServices()
        self._paused_threads: set[int] = set()
        self._has_ended = False
        self._looked_at = LookedAtPaths(self._on_look)
        self._handlers: dict[str, Handler] = {
            "open": self._on_open,
            "import": self._on_import,
            "exec": self._on_code,
            "function.__new__": self._on_code,
            "os.listdir": self._on_listing,
            "os.scandir": self._on_listing,
            "os.symlink": self._on_link,
            "os.link": self._on_link,
            "sqlite3.connect": self._on_database,
            "ctypes.dlopen": self._on_library,
            "os.mkdir": self._on_making_folder,
            "fcntl.flock": lambda arguments, _frame: self._notes.add_locked(arguments[0]),
            "fcntl.lockf": lambda arguments, _frame: self._notes.add_locked(arguments[0]),
            "socket.bind": self._on_bind,
            "socket.connect": self._on_connect,
            "sys.settrace": self._on_tracer,
            **{event: self._process_handler(program_in) for event, program_in in PROGRAM_IN_EVENT.items()},
        }

    def start(self) -> None:
        """Note events from now on."""
        sys.addaudithook(self._receive)
        self._looked_at.start()
        # importlib.import_module raises no event; it only asks the finders.
        sys.meta_path.insert(0, self)  # importlib needs no more of a finder than find_spec

    def end(self) -> None:
        """Stop adding notes; Python has no way to remove an audit hook."""
        self._has_ended = True
        self._looked_at.end()
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        """Within the block, events of this thread are ignored: they are flakehound's own."""
        self._paused_threads.add(_thread_id())
        try:
            yield
        finally:
            self._paused_threads.discard(_thread_id())

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Note a name that is about to be imported; returns None, so that the next finder is asked."""
        self._notes.attempted.add(name)

    def _receive(self, event: str, arguments: tuple[Any, ...]) -> None:
        handler = self._handlers.get(event)
        if handler is None or self._has_ended or _thread_id() in self._paused_threads:
            return
        try:
            handler(arguments, sys._getframe(1))
        except Exception as error:  # our failure must not fail the user's test
            self._notes.add_doubt("an event could not be understood: %s %s" % (event, type(error).__name__))

    def _on_open(self, arguments: tuple[Any, ...], frame: FrameType) -> None:
        path, mode, flags = arguments
        if not isinstance(path, (str, bytes)):
            return
        if not _is_reading(mode, flags):
            if self.in_tests and _must_not_exist(mode, flags):
                self._notes.add_if_it_exists(_absolute(decode_path(path)))
            return
        if frame.f_code.co_filename == _IMPORTLIB and _is_importing(frame):
            self._notes.add_loaded_module(frame.f_back)
            return
        caller = _responsible_frame(frame)
        module = _module_of(caller)
        if module == _ASSERT_REWRITER and caller.f_code.co_name != "get_data":
            self._notes.add_rewritten_module(caller)
        elif module not in _SOURCE_PRINTERS and not module.startswith(_IGNORED_READERS):
            self._notes.add_opened(_absolute(decode_path(path)), module)
            if mode is None and not os.path.isabs(path) and module != "shutil":
                self._notes.add_relative(_absolute(decode_path(path)))

    def _on_look(self, path: Any, frame: FrameType) -> None:
        """Note a path that the test asks about; what pytest and importlib ask about is part of every run."""
        if self._has_ended or not self.in_tests or _thread_id() in self._paused_threads:
            return
        try:
            if isinstance(path, int):
                return
            module = _module_of(_responsible_frame(frame))
            is_of_pytest = module.startswith(("_pytest.", "pluggy.", "importlib", "flakehound_inside"))
            if not is_of_pytest and module not in _SOURCE_PRINTERS:
                self._notes.add_path(self._notes.looked_at, _absolute(decode_path(path)))
        except Exception as error:  # our failure must not fail the user's test
            self._notes.add_doubt("a path could not be noted: %s" % type(error).__name__)

    def _on_import(self, arguments: tuple[Any, ...], frame: FrameType) -> None:
        name, file = arguments[:2]
        self._notes.attempted.add(str(name))
        if file is not None:
            self._notes.native.add(_absolute(decode_path(file)))

    def _on_code(self, arguments: tuple[Any, ...], frame: FrameType) -> None:
        if self._lines.should_begin_at(arguments[0].co_filename):
            with self.pause():
                self._lines.begin()

    def _on_listing(self, arguments: tuple[Any, ...], frame: FrameType) -> None:
        if frame.f_code.co_filename == _IMPORTLIB:
            return
        module = _module_of(_responsible_frame(frame))
        if module.startswith(_METADATA_READERS) or (
            module.startswith("_pytest.") and module != "_pytest.pytester"
        ):
            return
        path = arguments[0] if arguments[0] is not None else "."
        if isinstance(path, int):
            path = isolated_os.readlink("/proc/self/fd/%d" % path)
        self._notes.add_path(self._notes.listed, _absolute(decode_path(path)))

    def _on_making_folder(self, arguments: tuple[Any, ...], frame: FrameType) -> None:
        # `exist_ok` is of pathlib and os.makedirs.
        if self.in_tests and frame.f_locals.get("exist_ok") is not True:
            self._notes.add_if_it_exists(_absolute(decode_path(arguments[0])))

    def _on_link(self, arguments: tuple[Any, ...], frame: FrameType) -> None:
        target, link = decode_path(arguments[0]), decode_path(arguments[1])
        self._notes.add_path(self._notes.linked, _absolute(target))
        self._notes.add_path(self._notes.linked, os.path.join(os.path.dirname(_absolute(link)), target))

    def _on_database(self, arguments: tuple[Any, ...], frame: FrameType) -> None:
        name = decode_path(arguments[0])
        if name.startswith("file:"):
            name = name[len("file:") :].partition("?")[0]
        if name and name != ":memory:":
            self._notes.add_path(self._notes.opened, _absolute(name))

    def _on_library(self, arguments: tuple[Any, ...], frame: FrameType) -> None:
        caller = frame
        while caller.f_back is not None and _module_of(caller) in ("ctypes", "ctypes.util"):
            caller = caller.f_back
        if self._paths.is_project(self._paths.resolve(caller.f_code.co_filename)):
            self._notes.add_doubt("it calls native code by ctypes, which is not traced")
        # A name without a folder is searched for in the folders of the system.
        if isinstance(arguments[0], (str, bytes)) and os.sep in decode_path(arguments[0]):
            self._notes.native.add(_absolute(decode_path(arguments[0])))

    def _on_bind(self, arguments: tuple[Any, ...], frame: FrameType) -> None:
        bound, address = arguments
        if self.in_tests and isinstance(address, (str, bytes)):
            self._notes.add_if_it_exists(_absolute(decode_path(address)))
        elif self.in_tests and not self._services.is_own(address) and is_port_in_use(address):
            self._notes.add_doubt("it binds port %d, which another process uses" % address[1])
        self._services.add_bound(bound)

    def _on_connect(self, arguments: tuple[Any, ...], frame: FrameType) -> None:
        address = arguments[1]
        name = local_service_name(address)
        if name and self._is_of_project(frame) and not self._services.is_own(address):
            self._notes.add_doubt("it talks to a service at %s, which may run the project's code" % name)

    def _on_tracer(self, arguments: tuple[Any, ...], frame: FrameType) -> None:
        reason = self._lines.reason_if_replaced(frame)
        if reason:
            self._notes.add_doubt(reason)

    def _process_handler(self, program_in: Callable[[tuple[Any, ...]], Any]) -> Handler:
        def on_process(arguments: tuple[Any, ...], frame: FrameType) -> None:
            if self._is_of_project(frame) and not _asks_the_system(frame):
                self._notes.add_doubt("it started a process: " + command_line(program_in(arguments)))

        return on_process

    def _is_of_project(self, frame: FrameType | None) -> bool:
        """Whether the test or code of the project caused an event, and not pytest during its start."""
        while frame is not None and not self.in_tests:
            path = self._paths.resolve(frame.f_code.co_filename)
            if self._paths.is_project(path) and "flakehound" not in _module_of(frame):
                return True
            frame = frame.f_back
        return self.in_tests


def _asks_the_system(frame: FrameType | None) -> bool:
    """Whether the standard library starts a program of the system to learn about the machine, such as ldconfig."""
    while frame is not None and _module_of(frame) in _PROCESS_STARTERS:
        frame = frame.f_back
    return _module_of(frame) in _MODULES_THAT_ASK


def _module_of(frame: FrameType | None) -> str:
    name = frame.f_globals.get("__name__") if frame is not None else ""
    return name if isinstance(name, str) else ""


def _responsible_frame(frame: FrameType) -> FrameType:
    """The frame on whose behalf the standard library opens a file."""
    responsible = frame
    while responsible.f_back is not None and (
        responsible.f_code.co_filename == _IMPORTLIB or _module_of(responsible) in _INTERMEDIATE_MODULES
    ):
        responsible = responsible.f_back
    return responsible


def _is_importing(frame: FrameType) -> bool:
    # The same function reads data for pkgutil.get_data, and sources for linecache.
    caller = frame.f_back
    return caller is not None and caller.f_code.co_filename == _IMPORTLIB and caller.f_code.co_name == "get_code"


def _is_reading(mode: object, flags: object) -> bool:
    if isinstance(mode, str):
        return "r" in mode or ("a" in mode and "+" in mode)
    return not (isinstance(flags, int) and flags & _WRITE_ONLY)


def _must_not_exist(mode: object, flags: object) -> bool:
    return "x" in mode if isinstance(mode, str) else isinstance(flags, int) and bool(flags & os.O_EXCL)


def _absolute(path: str) -> str:
    # Not normalised: behind a symbolic link to a folder, `..` is the parent of the link's target.
    return path if os.path.isabs(path) else os.path.join(_current_folder(), path)
