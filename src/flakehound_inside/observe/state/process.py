"""What of a process, beside its modules, outlives a test: each thing by its kind and name, with a digest."""

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
from flakehound_inside.worker.fork_hazards import open_descriptors

if TYPE_CHECKING:
    from typing import Iterator

    Things = Iterator[tuple[tuple[str, str], int]]

_OURS = frozenset(["PYTEST_CURRENT_TEST", "TMPDIR", "PYTEST_VERSION"])
_PASSED_OVER = frozenset(
    ["__pycache__", ".git", ".pytest_cache", ".flakehound", ".hypothesis", ".mypy_cache", ".tox", "node_modules"]
)
MOST_FILES = 20000
_NO_FILE = ("socket:", "pipe:", "anon_inode:", "/proc/", "/dev/")


def things_in(root: str, tmp: str) -> Things:
    """Everything but the modules."""
    for part in (_environment, _interpreter, _logging, _signals, _warnings, _descriptors, _threads):
        for thing in part():
            yield thing
    for folder, kind in ((root, "project file"), (tmp, "temporary file")):
        for thing in _files(folder, kind):
            yield thing


def _environment() -> Things:
    for name, value in list(os.environ.items()):
        if name not in _OURS:
            yield ("environment", name), hash(value)


def _interpreter() -> Things:
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


def _logging() -> Things:
    root = logging.getLogger()
    yield ("logging", "disabled below"), root.manager.disable
    loggers = [("root", root), *list(root.manager.loggerDict.items())]
    for name, logger in loggers:
        if isinstance(logger, logging.Logger):
            told = _logger(logger)
            if told != _untouched or name == "root":
                yield ("logging", name), hash(told)


_untouched = (0, True, False, (), ())


def _logger(logger: logging.Logger) -> tuple[object, ...]:
    handlers = tuple((id(one), one.level, id(one.formatter)) for one in logger.handlers)
    return (logger.level, logger.propagate, logger.disabled, handlers, tuple(map(id, logger.filters)))


def _signals() -> Things:
    for number in range(1, 32):
        try:
            handler = isolated_os.handler_of(number)
        except (OSError, ValueError):
            continue
        yield ("signal handler", str(number)), hash(handler if isinstance(handler, int) else id(handler))


def _warnings() -> Things:
    yield ("warnings", "filters"), hash(repr(warnings.filters))
    yield ("warnings", "showwarning"), id(warnings.showwarning)


def _descriptors() -> Things:
    for number, target in open_descriptors().items():
        if not target.startswith("/proc/"):
            kind = target if not target.startswith(_NO_FILE) else target.partition(":")[0]
            yield ("open descriptor", "%d %s" % (number, kind)), 1


def _threads() -> Things:
    for thread in threading.enumerate():
        yield ("thread", thread.name), 1


def _files(folder: str, kind: str) -> Things:
    waiting, seen = [folder], 0
    while waiting and seen < MOST_FILES:
        place = waiting.pop()
        try:
            names = isolated_os.listdir(place)
        except OSError:
            continue
        for name in names:
            path = place + "/" + name
            try:
                status = isolated_os.lstat(path)
            except OSError:
                continue
            seen += 1
            if stat.S_ISDIR(status.st_mode):
                if name not in _PASSED_OVER and not _is_environment(path) and path != folder + "/pytest":
                    waiting.append(path)
                    yield (kind, path[len(folder) + 1 :] + "/"), 1
            elif not name.endswith((".pyc", ".pyo")):
                told = (status.st_size, status.st_mtime_ns, status.st_ino)
                yield (kind, path[len(folder) + 1 :]), hash(told)


def _is_environment(path: str) -> bool:
    try:
        isolated_os.lstat(path + "/pyvenv.cfg")
    except OSError:
        return False
    return True
