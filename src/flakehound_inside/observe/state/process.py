"""State of a process, apart from its modules, that outlives a test: each part with its kind, name and a digest."""

from __future__ import annotations

import gc
import locale
import logging
import os
import stat
import sys
import threading
import time
import warnings
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.proc_filesystem import open_descriptors

if TYPE_CHECKING:
    from typing import Iterator

    State = Iterator[tuple[tuple[str, str], int]]  # kind and name, with a digest

_CHANGED_BY_RUNNER = frozenset(["PYTEST_CURRENT_TEST", "TMPDIR", "PYTEST_VERSION"])
_IGNORED_FOLDERS = frozenset(
    ["__pycache__", ".git", ".pytest_cache", ".flakehound", ".hypothesis", ".mypy_cache", ".tox", "node_modules"]
)
MAX_FILES = 20000
_NO_REAL_FILE = ("socket:", "pipe:", "anon_inode:", "/proc/", "/dev/")


def process_state(root: str, tmp: str) -> State:
    """Everything but the modules; `root` and `tmp` are the folders whose files are included."""
    for part in (_environment, _interpreter, _logging, _signals, _warnings, _descriptors, _threads):
        yield from part()
    for folder, kind in ((root, "project file"), (tmp, "temporary file")):
        yield from _files(folder, kind)


def _environment() -> State:
    for name, value in list(os.environ.items()):
        if name not in _CHANGED_BY_RUNNER:
            yield ("environment", name), hash(value)


def _interpreter() -> State:
    try:
        yield ("working folder", ""), hash(os.getcwd())
    except OSError:
        yield ("working folder", ""), 0
    yield ("sys.path", ""), hash(tuple(map(str, sys.path)))
    yield ("locale", ""), hash(locale.setlocale(locale.LC_ALL, None))
    yield ("time zone", ""), hash((time.tzname, time.timezone, time.daylight))
    for name in ("stdout", "stderr", "excepthook", "displayhook", "meta_path", "path_hooks"):
        value = getattr(sys, name, None)
        yield ("interpreter", "sys." + name), hash(tuple(map(id, value)) if type(value) is list else id(value))
    yield ("interpreter", "recursion limit"), sys.getrecursionlimit()
    yield ("interpreter", "switch interval"), hash(sys.getswitchinterval())
    yield ("interpreter", "garbage collection"), hash((gc.isenabled(), gc.get_threshold()))
    socket = sys.modules.get("socket")
    if socket is not None:
        yield ("interpreter", "socket timeout"), hash(socket.getdefaulttimeout())
    decimal = sys.modules.get("decimal")
    if decimal is not None:
        context = decimal.getcontext()
        yield ("interpreter", "decimal context"), hash((context.prec, context.rounding))


def _logging() -> State:
    root = logging.getLogger()
    yield ("logging", "disabled below"), root.manager.disable
    loggers = [("root", root), *list(root.manager.loggerDict.items())]
    for name, logger in loggers:
        if isinstance(logger, logging.Logger):
            state = _logger_state(logger)
            if state != _NEW_LOGGER_STATE or name == "root":
                yield ("logging", name), hash(state)


_NEW_LOGGER_STATE = (0, True, False, (), ())


def _logger_state(logger: logging.Logger) -> tuple[object, ...]:
    handlers = tuple((id(handler), handler.level, id(handler.formatter)) for handler in logger.handlers)
    return (logger.level, logger.propagate, logger.disabled, handlers, tuple(map(id, logger.filters)))


def _signals() -> State:
    for number in range(1, 32):
        try:
            handler = isolated_os.handler_of(number)
        except (OSError, ValueError):
            continue
        yield ("signal handler", str(number)), hash(handler if isinstance(handler, int) else id(handler))


def _warnings() -> State:
    yield ("warnings", "filters"), hash(repr(warnings.filters))
    yield ("warnings", "showwarning"), id(warnings.showwarning)


def _descriptors() -> State:
    for number, target in open_descriptors().items():
        if not target.startswith("/proc/"):
            kind = target if not target.startswith(_NO_REAL_FILE) else target.partition(":")[0]
            yield ("open descriptor", "%d %s" % (number, kind)), 1


def _threads() -> State:
    for thread in threading.enumerate():
        yield ("thread", thread.name), 1


def _files(folder: str, kind: str) -> State:
    pending, file_count = [folder], 0
    while pending and file_count < MAX_FILES:
        current = pending.pop()
        try:
            names = isolated_os.listdir(current)
        except OSError:
            continue
        for name in names:
            path = current + "/" + name
            try:
                status = isolated_os.lstat(path)
            except OSError:
                continue
            file_count += 1
            if stat.S_ISDIR(status.st_mode):
                if (
                    name not in _IGNORED_FOLDERS
                    and not _is_virtual_environment(path)
                    and path != folder + "/pytest"
                ):
                    pending.append(path)
                    yield (kind, path[len(folder) + 1 :] + "/"), 1
            elif not name.endswith((".pyc", ".pyo")):
                stamp = (status.st_size, status.st_mtime_ns, status.st_ino)
                yield (kind, path[len(folder) + 1 :]), hash(stamp)


def _is_virtual_environment(path: str) -> bool:
    try:
        isolated_os.lstat(path + "/pyvenv.cfg")
    except OSError:
        return False
    return True
