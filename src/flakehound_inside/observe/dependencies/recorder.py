"""Records the dependencies of a test, from before pytest is imported to after the last teardown.

Writes `flakehound/dependencies/1` (docs/decisions/0015-triage-in-two-processes.md), and in addition: `folders`,
the folders of the used files, because a file that is added or deleted there may matter although nothing opened it;
`looked_at`, paths whose existence, size, mode or time the test asked for; and `settings`, the part of `opened`
that pytest read as its configuration. `doubts` says what may be missing. A
process that dies writes nothing.
"""

from __future__ import annotations

import os
import sys
import threading
import types
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.observe.dependencies.listener import DependencyListener
from flakehound_inside.observe.dependencies.notes import DependencyNotes
from flakehound_inside.observe.line_tracer import LineTracer
from flakehound_inside.observe.process_starts import multiprocessing_counter
from flakehound_inside.observe.project_paths import ProjectPaths

if TYPE_CHECKING:
    from typing import Any, Iterable, Iterator

    from flakehound_inside.message_types import RecordRequest

PLUGIN_NAME = "flakehound-dependencies"
_NATIVE_SUFFIXES = (".so", ".pyd", ".dll", ".dylib")
_module_namespace: Any = vars(types.ModuleType)["__dict__"]  # does not load lazy modules


class DependencyRecorder:
    """A pytest plugin that listens and traces until the test is over, then writes its dependencies."""

    def __init__(self, request: RecordRequest, own_folder: str) -> None:
        self.__name__ = PLUGIN_NAME
        self._path = request["path"]
        self._paths = ProjectPaths(request["root"], own_folder)
        self._lines = LineTracer(request["files"], self._paths)
        self._notes = DependencyNotes(self._paths)
        self._listener = DependencyListener(self._notes, self._paths, self._lines)
        self._process = isolated_os.getpid()
        self._is_finished = False

    def start(self) -> None:
        """Record from now on."""
        self._modules_before = dict(_module_files())
        self._threads_before = set(threading.enumerate())
        self._multiprocessing_before = multiprocessing_counter()
        self._listener.start()

    def pytest_collection_finish(self) -> None:
        """Every event after this one is caused by the test."""
        with self._listener.pause():
            self._lines.prepare()
        self._listener.in_tests = True

    def pytest_unconfigure(self) -> None:
        """Write also when pytest ends before it runs a test."""
        self.finish()

    def finish(self) -> None:
        """Stop and write, once, and only in the process that started recording."""
        if self._is_finished or isolated_os.getpid() != self._process:
            return
        self._is_finished = True
        self._listener.end()
        try:
            content = self._content()
        except Exception as error:  # a test may leave anything behind, but its outcome still counts
            content = {"doubts": ["recording failed: %s: %s" % (type(error).__name__, error)]}
        try:
            self._write(isolated_os.dumps(content).encode("ascii"))
        except OSError:
            return  # the reader treats a missing file as a doubt

    def _write(self, payload: bytes) -> None:
        file = isolated_os.open(self._path + ".part", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            while payload:
                payload = payload[isolated_os.write(file, payload) :]
        finally:
            isolated_os.close(file)
        os.replace(self._path + ".part", self._path)

    def _content(self) -> dict[str, object]:
        notes, paths = self._notes, self._paths
        imported = self._imported()
        files = {file for file in imported.values() if file and not paths.is_library(file)}
        opened, listed = set(map(os.path.realpath, notes.opened)), set(map(os.path.realpath, notes.listed))
        doubts = list(self._doubts(files))
        for path in map(os.path.realpath, notes.linked):
            if os.path.isdir(path) and paths.is_project(path):
                doubts.append("it links to %s, and may read there under another name" % path)
            elif os.path.isfile(path):
                opened.add(path)
        lines = self._lines.stop()
        self._add_untraced_files(lines, files)
        return {
            "lines": {file: sorted(numbers) for file, numbers in sorted(lines.items())},
            "imported": imported,
            "attempted": sorted(notes.attempted.union(notes.loaded.values(), sys.modules)),
            "opened": sorted(opened),
            "listed": sorted(listed),
            "folders": sorted(listed.union(map(os.path.dirname, opened.union(files)))),
            "looked_at": sorted(set(map(os.path.realpath, notes.looked_at))),
            "settings": sorted(set(map(os.path.realpath, notes.settings))),
            "doubts": list(notes.doubts) + doubts + self._lines.doubts,
        }

    def _imported(self) -> dict[str, str | None]:
        """The file of every module; if two have the same name, the key of the replaced one contains its file."""
        files_by_module = {name: self._paths.resolve(file) if file else None for name, file in _module_files()}
        for file, name in self._notes.loaded.items():
            file = self._paths.resolve(file)
            if files_by_module.setdefault(name, file) != file:
                files_by_module["%s (%s)" % (name, file)] = file
        return files_by_module

    def _doubts(self, imported: Iterable[str]) -> Iterator[str]:
        native = {self._paths.resolve(path) for path in self._notes.native}
        native.update(path for path in imported if path.endswith(_NATIVE_SUFFIXES))
        for path in sorted(native):
            if self._paths.is_project(path):
                yield "it loads %s, native code that is not traced" % path
        if multiprocessing_counter() != self._multiprocessing_before:
            yield "it started a process: multiprocessing"
        if "_posixshmem" in sys.modules:
            yield "it may use shared memory of other processes"
        remaining = set(threading.enumerate()).difference(self._threads_before)
        if remaining:
            yield "threads still run: " + ", ".join(sorted(thread.name for thread in remaining)[:5])

    def _add_untraced_files(self, lines: dict[str, set[int]], imported: Iterable[str]) -> None:
        """Count every line of imported files that were not traced as executed.

        Those are modules that were loaded before us, and modules for which the tracer reports nothing: pytest may
        have a compiled module in its cache under the name that its folder had before it was moved.
        """
        loaded_before = {self._paths.resolve(file) for file in self._modules_before.values() if file}
        untraced = {file for file in imported if file not in lines}
        for file in loaded_before.union(untraced):
            if self._lines.is_requested(file) and os.path.isfile(file):
                with open(file, "rb") as source:
                    lines[file] = set(range(1, source.read().count(b"\n") + 2))


def _module_files() -> Iterator[tuple[str, str | None]]:
    """Every module with its file, and namespace packages with None."""
    for name, module in list(sys.modules.items()):
        # By its type: a library of cffi only claims to be a module.
        if not issubclass(type(module), types.ModuleType):
            continue
        variables = _module_namespace.__get__(module)
        file = variables.get("__file__")
        if isinstance(file, str):
            yield name, file
        elif file is None and variables.get("__path__") is not None:
            yield name, None
