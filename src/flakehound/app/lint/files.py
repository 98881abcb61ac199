"""Read a project's files and analyse each test file: on all cores, and only what changed."""

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
# Finds something out about a test file. It has to be a function at a module's top level (or a `partial` of one),
# because other processes import it by name.
Analysis = Callable[[Project, Module], Answer]

_BYTES_PER_PROCESS = 400_000  # of test code; starting a process takes as long as reading about so much


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan(Generic[Answer]):
    """The answers about a project's test files."""

    layout: Layout
    answers: Mapping[str, Answer]  # by path, in pytest's order
    unparsable: tuple[Unparsable, ...]  # test files, and files that answers needed
    reused: int  # answers that came from the cache


def scan(
    targets: Sequence[str],
    analysis: Analysis[Answer],
    *,
    codec: AnswerCodec[Answer] | None = None,
    cwd: Path | None = None,
    processes: int | None = None,
    progress: Progress = SILENT,
) -> Scan[Answer]:
    """Analyse every test file that pytest would collect from the targets.

    With a codec, answers are read from and written to the project's cache.
    """
    layout = layout_of(targets, Path(os.path.abspath(cwd or Path.cwd())))
    sources = Sources(layout)
    cache = None if codec is None else AnswerCache(layout.rootdir / ".flakehound" / "lint" / "cache.json", codec)
    known: dict[str, FileAnswer[Answer]] = {}
    if cache is not None:
        cached = ((path, cache.answer(path, sources.digests)) for path in layout.test_files)
        known = {path: answer for path, answer in cached if answer is not None}
    todo = [path for path in layout.test_files if path not in known]
    parts = _parts(todo, sources, processes or os.cpu_count() or 1)
    answers = {**known, **_analyse_all(parts, layout, analysis, progress)}
    if todo and cache is not None:
        cache.write({path: answers[path] for path in layout.test_files})
    return _scan(layout, answers, reused=len(known))


class Sources(Mapping[str, bytes]):
    """The project's files, each read when first asked for; a file that cannot be read is empty."""

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
    """Digests of files by path; under "" that of what every answer depends on.

    Which paths there are is part of that, since a new file can take an import over.
    """

    def __init__(self, sources: Sources, of_project: str) -> None:
        self._sources = sources
        self._known: dict[str, str | None] = {"": of_project}

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
    todo = [path for part in parts for path in part]
    report = partial(progress.show_steps, "reading test files", total=len(todo))
    if len(parts) < 2:
        return _analyse_part(layout, analysis, todo, report)
    answers: dict[str, FileAnswer[Answer]] = {}
    try:
        # Not forked: the caller may have threads. Spawned ones import what they need by name.
        with ProcessPoolExecutor(len(parts), mp_context=get_context("spawn")) as pool:
            report(0)
            for found in pool.map(partial(_analyse_part, layout, analysis), parts):
                answers |= found
                report(len(answers))
        return answers
    except (BrokenProcessPool, OSError):
        # Where no process can be started (a sandbox, a main module that cannot be imported) one is enough.
        return _analyse_part(layout, analysis, todo, report)


def _parts(todo: Sequence[str], sources: Sources, processes: int) -> list[list[str]]:
    """The files in as many runs of about equal size; neighbours stay together, as they share helpers."""
    sizes = [len(sources[path]) for path in todo]
    total = sum(sizes)
    count = max(1, min(processes, total // _BYTES_PER_PROCESS))
    parts: list[list[str]] = [[] for _ in range(count)]
    before = 0
    for path, size in zip(todo, sizes, strict=True):
        parts[min(count - 1, before * count // max(total, 1))].append(path)
        before += size
    return [part for part in parts if part]


def _analyse_part(
    layout: Layout,
    analysis: Analysis[Answer],
    paths: Sequence[str],
    report: Callable[[int], None] = lambda _done: None,
) -> dict[str, FileAnswer[Answer]]:
    """The answers about some files; runs in a process of its own, or in ours."""
    sources = Sources(layout)
    settings = layout.settings
    project = Project(sources, patterns=settings.patterns, import_roots=settings.import_roots)
    answers: dict[str, FileAnswer[Answer]] = {}
    with _garbage_collection_off():
        for path in paths:
            answers[path] = _analyse_file(project, sources, analysis, path)
            report(len(answers))
    return answers


@contextmanager
def _garbage_collection_off() -> Iterator[None]:
    """Syntax trees have no cycles; the collector would walk through all of them again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _analyse_file(project: Project, sources: Sources, analysis: Analysis[Answer], path: str) -> FileAnswer[Answer]:
    with project.track_reads() as consulted:
        module = project.module(path)
        answer = None if module is None else analysis(project, module)
    return FileAnswer(
        inputs={one: sources.digests[one] or "" for one in sorted({"", path, *consulted})},
        answer=answer,
        unparsable=tuple(project.unparsable_in(consulted)),
    )


def _scan(layout: Layout, answers: Mapping[str, FileAnswer[Answer]], reused: int) -> Scan[Answer]:
    found = {path: answers[path] for path in layout.test_files}
    bad = {one.path: one for file in found.values() for one in file.unparsable}
    return Scan(
        layout=layout,
        answers={path: file.answer for path, file in found.items() if file.answer is not None},
        unparsable=tuple(bad[path] for path in sorted(bad)),
        reused=reused,
    )
