"""Hear through Python's audit events what else a test depends on: files, folders, imports, processes, services.

Heard in libraries too. Not heard, because no event tells: `os.stat` and so `Path.exists` (whoever compares with a
change has to count the folders that a test reaches into for files added or deleted), files that native code opens
by itself, datagrams, threads that native code or `_thread` starts (before Python 3.12 no tracer reaches them), and
whatever happens in other processes, whose start is a doubt.

While the test runs only names are noted, and no function is called that a test may have mocked.
"""

from __future__ import annotations

import _socket
import contextlib
import os
import sys
import threading
import weakref
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os

if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Callable, Iterable, Iterator

    from flakehound_inside.observe.dependencies import Lines, Places

MOST = 20_000  # files, and as many folders
_MOST_DOUBTS = 50
_cwd, _thread = os.getcwd, threading.get_ident
_ENCODING, _ERRORS = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
_IMPORTLIB = "<frozen importlib._bootstrap_external>"
_REWRITER = "_pytest.assertion.rewrite"
# Modules that open files on behalf of others.
_BETWEEN = frozenset(
    {"ast", "codecs", "glob", "iniconfig", "inspect", "linecache", "os", "pathlib", "pathlib._abc",
     "pathlib._local", "tokenize", "zipfile", "zipfile._path"}
)  # fmt: skip
# Who reads sources only to show them; a line that a traceback shows was executed, and so is known.
_SHOWING = frozenset({"traceback", "warnings"})
_PYTEST_SHOWING = "_pytest._code"
_METADATA = ("importlib.metadata", "importlib_metadata")  # look for installed packages all along the path
_WRITING = os.O_WRONLY | os.O_TRUNC


class Listener:
    """Notes, from its start to its end, what the process reaches for."""

    def __init__(self, places: Places, lines: Lines) -> None:
        self._places = places
        self._lines = lines
        self.in_tests = False  # before: pytest itself starts and collects
        self.opened: set[str] = set()  # full paths, links not yet followed
        self.listed: set[str] = set()
        self.settings: set[str] = set()  # what pytest read as its configuration
        self.linked: set[str] = set()
        self.native: set[str] = set()  # libraries and extension modules
        self.attempted: set[str] = set(sys.modules)
        self.loaded: dict[str, str] = {}  # file -> its module, also of modules that nobody kept
        self.doubts: dict[str, None] = {}  # in the order they arose
        self._bound: list[weakref.ref[Any]] = []
        self._deaf: set[int] = set()  # threads in which we are at work ourselves
        self._ended = False
        self._handlers: dict[str, Callable[[tuple[Any, ...], FrameType], None]] = {
            "open": self._hear_open,
            "import": self._hear_import,
            "exec": self._hear_code,
            "function.__new__": self._hear_code,
            "os.listdir": self._hear_listing,
            "os.scandir": self._hear_listing,
            "os.symlink": self._hear_link,
            "os.link": self._hear_link,
            "sqlite3.connect": self._hear_database,
            "ctypes.dlopen": self._hear_library,
            "socket.bind": self._hear_bind,
            "socket.connect": self._hear_connect,
            "sys.settrace": self._hear_tracer,
            **{event: self._hearing_of(name) for event, name in PROCESSES.items()},
        }

    def start(self) -> None:
        """Listen from now on."""
        sys.addaudithook(self._hear)
        # importlib.import_module raises no event, only the finders hear of it.
        sys.meta_path.insert(0, self)  # find_spec is all that importlib asks of it

    def end(self) -> None:
        """Listen no longer; Python knows no way to take the hook back."""
        self._ended = True
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    @contextlib.contextmanager
    def deaf(self) -> Iterator[None]:
        """Hear nothing in this thread meanwhile: it is our own doing."""
        self._deaf.add(_thread())
        try:
            yield
        finally:
            self._deaf.discard(_thread())

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Note a name that somebody tries to import; the real finders follow."""
        self.attempted.add(name)

    def doubt(self, text: str) -> None:
        """Note a reason why what we heard may not be all."""
        if len(self.doubts) < _MOST_DOUBTS:
            self.doubts[text] = None

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        handler = self._handlers.get(event)
        if handler is None or self._ended or _thread() in self._deaf:
            return
        try:
            handler(arguments, sys._getframe(1))
        except Exception as error:  # whatever it is, the test must not notice
            self.doubt("an event could not be understood: %s %s" % (event, type(error).__name__))

    def _hear_open(self, arguments: tuple[Any, ...], frame: FrameType) -> None:
        path, mode, flags = arguments
        if not isinstance(path, (str, bytes)) or not _is_reading(mode, flags):
            return
        if frame.f_code.co_filename == _IMPORTLIB and _is_importing(frame):
            self._note_module(frame.f_back)
            return
        asker = _asker(frame)
        name = _module_of(asker)
        if name == _REWRITER and asker.f_code.co_name != "get_data":
            self._note_rewritten(asker)
        elif name not in _SHOWING and not name.startswith((_PYTEST_SHOWING, *_METADATA)):
            self._note_opened(_full(_decode(path)), name)
            if mode is None and not os.path.isabs(path) and name != "shutil":
                self._note_relative(_full(_decode(path)))

    def _note_opened(self, path: str, asker: str) -> None:
        if asker.startswith("_pytest.config"):
            self.settings.add(path)
        self._note(self.opened, path)

    def _note_relative(self, path: str) -> None:
        # os.open may start from another folder's descriptor, which the event does not tell.
        try:
            isolated_os.lstat(path)
        except OSError:
            self.doubt("it opened %s, perhaps in another folder" % os.path.basename(path))

    def _note(self, paths: set[str], path: str) -> None:
        if path in paths or self._places.is_passed_over(path):
            return
        if len(paths) >= MOST:
            self.doubt("it reaches for more than %d files" % MOST)
        else:
            paths.add(path)

    def _note_module(self, frame: FrameType | None) -> None:
        variables: Any = frame.f_locals if frame is not None else {}
        path = getattr(variables.get("self"), "path", None)
        if isinstance(path, str) and not self._places.is_library(self._places.real(path)):
            self.loaded[path] = str(variables.get("fullname"))

    def _note_rewritten(self, frame: FrameType | None) -> None:
        while frame is not None and frame.f_code.co_name != "exec_module":
            frame = frame.f_back
        module = frame.f_locals.get("module") if frame is not None else None
        path = getattr(getattr(module, "__spec__", None), "origin", None)
        if module is not None and isinstance(path, str):
            self.loaded[path] = module.__name__

    def _hear_import(self, arguments: tuple[Any, ...], frame: FrameType) -> None:
        name, file = arguments[:2]
        self.attempted.add(str(name))
        if file is not None:
            self.native.add(_full(_decode(file)))

    def _hear_code(self, arguments: tuple[Any, ...], frame: FrameType) -> None:
        if self._lines.waits_for(arguments[0].co_filename):
            with self.deaf():
                self._lines.begin()

    def _hear_listing(self, arguments: tuple[Any, ...], frame: FrameType) -> None:
        if frame.f_code.co_filename == _IMPORTLIB:
            return
        asker = _module_of(_asker(frame))
        if asker.startswith(_METADATA) or (asker.startswith("_pytest.") and asker != "_pytest.pytester"):
            return
        path = arguments[0] if arguments[0] is not None else "."
        if isinstance(path, int):
            path = isolated_os.readlink("/proc/self/fd/%d" % path)
        self._note(self.listed, _full(_decode(path)))

    def _hear_link(self, arguments: tuple[Any, ...], frame: FrameType) -> None:
        target, link = _decode(arguments[0]), _decode(arguments[1])
        self._note(self.linked, _full(target))
        self._note(self.linked, os.path.join(os.path.dirname(_full(link)), target))

    def _hear_database(self, arguments: tuple[Any, ...], frame: FrameType) -> None:
        name = _decode(arguments[0])
        if name.startswith("file:"):
            name = name[len("file:") :].partition("?")[0]
        if name and name != ":memory:":
            self._note(self.opened, _full(name))

    def _hear_library(self, arguments: tuple[Any, ...], frame: FrameType) -> None:
        if isinstance(arguments[0], (str, bytes)) and arguments[0]:
            self.native.add(_full(_decode(arguments[0])))

    def _hear_bind(self, arguments: tuple[Any, ...], frame: FrameType) -> None:
        self._bound.append(weakref.ref(arguments[0]))

    def _hear_connect(self, arguments: tuple[Any, ...], frame: FrameType) -> None:
        address = arguments[1]
        where = _service_at(address)
        if where and self._counts(frame) and not self._is_own(address):
            self.doubt("it talks to a service at %s, which may run the project's code" % where)

    def _is_own(self, address: Any) -> bool:
        """Whether the process itself listens there: then what the service runs is seen."""
        for reference in self._bound:
            bound = reference()
            try:
                own = _socket.socket.getsockname(bound) if bound is not None else None
            except OSError:  # closed
                continue
            if own == address or (isinstance(own, tuple) and isinstance(address, tuple) and own[1] == address[1]):
                return True
        return False

    def _hear_tracer(self, arguments: tuple[Any, ...], frame: FrameType) -> None:
        reason = self._lines.replaced_by(frame)
        if reason:
            self.doubt(reason)

    def _hearing_of(self, name: Callable[[tuple[Any, ...]], Any]) -> Callable[[tuple[Any, ...], FrameType], None]:
        def _hear_process(arguments: tuple[Any, ...], frame: FrameType) -> None:
            if self._counts(frame):
                self.doubt("it started a process: " + command_line(name(arguments)))

        return _hear_process

    def _counts(self, frame: FrameType | None) -> bool:
        """Whether the test or code of the project asks, and not pytest while it starts."""
        while frame is not None and not self.in_tests:
            path = self._places.real(frame.f_code.co_filename)
            if self._places.is_project(path) and "flakehound" not in _module_of(frame):
                return True
            frame = frame.f_back
        return self.in_tests


# Event -> what its arguments say about the program.
PROCESSES: dict[str, Callable[[tuple[Any, ...]], Any]] = {
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
    """A started program as one line of text."""
    words = [program] if isinstance(program, (str, bytes, os.PathLike)) else list(program)
    text = " ".join(" ".join(map(_decode, words)).split())
    return text if len(text) <= 80 else text[:77] + "..."


def _decode(path: object) -> str:
    return path.decode(_ENCODING, _ERRORS) if isinstance(path, bytes) else str(path)


def _module_of(frame: FrameType | None) -> str:
    name = frame.f_globals.get("__name__") if frame is not None else ""
    return name if isinstance(name, str) else ""


def _asker(frame: FrameType) -> FrameType:
    """The frame on whose behalf the standard library opens a file."""
    asker = frame
    while asker.f_back is not None and (asker.f_code.co_filename == _IMPORTLIB or _module_of(asker) in _BETWEEN):
        asker = asker.f_back
    return asker


def _is_importing(frame: FrameType) -> bool:
    # The same function reads data for pkgutil.get_data, and sources for linecache.
    caller = frame.f_back
    return caller is not None and caller.f_code.co_filename == _IMPORTLIB and caller.f_code.co_name == "get_code"


def _is_reading(mode: object, flags: object) -> bool:
    if isinstance(mode, str):
        return "r" in mode or ("a" in mode and "+" in mode)
    return not (isinstance(flags, int) and flags & _WRITING)


def _full(path: str) -> str:
    # Not normalised: behind a link to a folder, `..` is another folder than it looks.
    return path if os.path.isabs(path) else os.path.join(_cwd(), path)


def _service_at(address: Any) -> str:
    """A service on this very machine; empty for any other."""
    if isinstance(address, (str, bytes)):
        name = _decode(address)
        return "" if name == "/dev/log" else repr(name)
    if not isinstance(address, tuple) or len(address) < 2:
        return ""
    host = _decode(address[0]) if isinstance(address[0], (str, bytes)) else ""
    is_local = host in ("", "localhost", "::1", "0.0.0.0", "::") or host.startswith(("127.", "::ffff:127."))
    return "%s:%s" % (host, address[1]) if is_local else ""
