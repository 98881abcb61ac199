"""Read a project's files and analyse each test file, on all cores; unchanged files come from the cache."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Generic, TypeVar

from flakehound.app.lint.cache import AnswerCache, AnswerCodec, FileAnswer, digest
from flakehound.app.lint.layout import Layout, layout_of
from flakehound.app.progress import SILENT, Progress
from flakehound.lint.source.modules import Module, Unparsable
from flakehound.lint.source.project import Project

Answer = TypeVar("Answer")
# A function that answers a question about a test file. It must be defined at the top level of a module (or be a
# `partial` of such a function), because other processes import it by name.
Analysis = Callable[[Project, Module], Answer]

_BYTES_PER_PROCESS = 400_000  # of test code; to start a process takes about as long as to analyse that much


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanResult(Generic[Answer]):
    """The answers about a project's test files."""

    layout: Layout
    answers: Mapping[str, Answer]  # by path, in pytest's order
    unparsable: tuple[Unparsable, ...]  # test files, and files that the answers depend on
    read_paths: frozenset[str]  # files that the answers depend on
    reused: int  # number of answers from the cache


def scan(
    targets: Sequence[str],
    analysis: Analysis[Answer],
    *,
    codec: AnswerCodec[Answer] | None = None,
    cwd: Path | None = None,
    overrides: Sequence[str] = (),
    processes: int | None = None,
    progress: Progress = SILENT,
) -> ScanResult[Answer]:
    """Analyse every test file that pytest would collect from the targets, with some of its options overridden.

    With a codec, answers are read from and written to the project's cache.
    """
    layout = layout_of(targets, Path(os.path.abspath(cwd or Path.cwd())), overrides)
    sources = Sources(layout)
    cache = None if codec is None else AnswerCache(layout.rootdir / ".flakehound" / "lint" / "cache.json", codec)
    reused: dict[str, FileAnswer[Answer]] = {}
    if cache is not None:
        cached = ((path, cache.answer(path, sources.digests)) for path in layout.test_files)
        reused = {path: answer for path, answer in cached if answer is not None}
    remaining = [path for path in layout.test_files if path not in reused]
    parts = _split_evenly(remaining, sources, processes or os.cpu_count() or 1)
    answers = {**reused, **_analyse_all(parts, layout, analysis, progress)}
    if remaining and cache is not None:
        cache.write({path: answers[path] for path in layout.test_files})
    return _scan_result(layout, answers, reused=len(reused))


class Sources(Mapping[str, bytes]):
    """The project's files by path, each read when it is first needed; a file that cannot be read is empty."""

    def __init__(self, layout: Layout) -> None:
        self._rootdir = layout.rootdir
        self._paths = dict.fromkeys(layout.sources)
        self._contents: dict[str, bytes] = {}
        settings = (layout.settings.patterns, layout.settings.import_roots)
        self.digests = _Digests(self, digest("\n".join(self._paths).encode(), repr(settings).encode()))

    def __getitem__(self, path: str) -> bytes:
        if path not in self._paths:
            raise KeyError(path)
        if path not in self._contents:
            try:
                self._contents[path] = (self._rootdir / path).read_bytes()
            except OSError:
                self._contents[path] = b""
        return self._contents[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __contains__(self, path: object) -> bool:
        return path in self._paths

    def __len__(self) -> int:
        return len(self._paths)


class _Digests(Mapping[str, "str | None"]):
    """Digests of files by path; under "" the digest of what every answer depends on.

    It covers the settings and the list of paths, since a new file can change what an import refers to.
    """

    def __init__(self, sources: Sources, project_digest: str) -> None:
        self._sources = sources
        self._known: dict[str, str | None] = {"": project_digest}

    def __getitem__(self, path: str) -> str | None:
        if path not in self._known:
            self._known[path] = digest(self._sources[path]) if path in self._sources else None
        return self._known[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


def _analyse_all(
    parts: Sequence[Sequence[str]], layout: Layout, analysis: Analysis[Answer], progress: Progress
) -> dict[str, FileAnswer[Answer]]:
    paths = [path for part in parts for path in part]
    report = partial(progress.show_steps, "reading test files", total=len(paths))
    if len(parts) < 2:
        return _analyse_part(layout, analysis, paths, report)
    answers: dict[str, FileAnswer[Answer]] = {}
    try:
        # Spawned and not forked, because the caller may have threads.
        with ProcessPoolExecutor(len(parts), mp_context=get_context("spawn")) as pool:
            report(0)
            for part_answers in pool.map(partial(_analyse_part, layout, analysis), parts):
                answers |= part_answers
                report(len(answers))
        return answers
    except (BrokenProcessPool, OSError):
        # Where no process can be started (in a sandbox, or the main module cannot be imported), use this one.
        return _analyse_part(layout, analysis, paths, report)


def _split_evenly(paths: Sequence[str], sources: Sources, processes: int) -> list[list[str]]:
    """Split the files into parts of similar size; neighbours stay together, because they share helpers."""
    sizes = [len(sources[path]) for path in paths]
    total = sum(sizes)
    count = max(1, min(processes, total // _BYTES_PER_PROCESS))
    parts: list[list[str]] = [[] for _ in range(count)]
    before = 0
    for path, size in zip(paths, sizes, strict=True):
        parts[min(count - 1, before * count // max(total, 1))].append(path)
        before += size
    return [part for part in parts if part]


def _analyse_part(
    layout: Layout,
    analysis: Analysis[Answer],
    paths: Sequence[str],
    report: Callable[[int], None] = lambda _done: None,
) -> dict[str, FileAnswer[Answer]]:
    """The answers about some files; runs in a child process or in this one."""
    sources = Sources(layout)
    settings = layout.settings
    project = Project(sources, patterns=settings.patterns, import_roots=settings.import_roots)
    answers: dict[str, FileAnswer[Answer]] = {}
    with _without_garbage_collection():
        for path in paths:
            answers[path] = _analyse_file(project, sources, analysis, path)
            report(len(answers))
    return answers


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Switch the collector off: it would walk all syntax trees again and again, and they have no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _analyse_file(project: Project, sources: Sources, analysis: Analysis[Answer], path: str) -> FileAnswer[Answer]:
    with project.track_reads() as read_paths:
        module = project.module(path)
        answer = None if module is None else analysis(project, module)
    return FileAnswer(
        inputs={name: sources.digests[name] or "" for name in sorted({"", path, *read_paths})},
        answer=answer,
        unparsable=tuple(project.unparsable_in(read_paths)),
    )


def _scan_result(layout: Layout, answers: Mapping[str, FileAnswer[Answer]], reused: int) -> ScanResult[Answer]:
    files = {path: answers[path] for path in layout.test_files}
    unparsable = {bad.path: bad for file in files.values() for bad in file.unparsable}
    return ScanResult(
        layout=layout,
        answers={path: file.answer for path, file in files.items() if file.answer is not None},
        unparsable=tuple(unparsable[path] for path in sorted(unparsable)),
        read_paths=frozenset(path for file in files.values() for path in file.inputs),
        reused=reused,
    )
