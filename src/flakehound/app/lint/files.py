"""Read a project's files and ask something about each test file: on all cores, and only what changed."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from flakehound.app.lint.cache import Cache, Kept, digest
from flakehound.app.lint.layout import Layout, layout_of
from flakehound.lint.collect.cases import cases_of
from flakehound.lint.source.modules import Module, Unparsable
from flakehound.lint.source.project import Project

Work = Callable[[Project, Module], Any]
"""Something to find out about a test file; the answer is plain JSON. Has to be a function at a module's top level
(or a `partial` of one), so that another process can be told of it."""

_WORTH_A_PROCESS = 400_000  # bytes of test code; starting a process takes as long as reading about so much


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """The answers about a project's test files."""

    layout: Layout
    answers: Mapping[str, Any]  # by path, in pytest's order
    unparsable: tuple[Unparsable, ...]  # test files, and files that answers needed
    reused: int  # answers that came from the cache


def scan(
    targets: Sequence[str],
    *,
    work: Work,
    about: str,
    cwd: Path | None = None,
    processes: int | None = None,
    cached: bool = True,
) -> Scan:
    """Ask `work` about every test file that pytest would collect from the targets.

    `about` names the question with all its options: answers to another are not reused.
    """
    layout = layout_of(targets, Path(os.path.abspath(cwd or Path.cwd())))
    sources = Sources(layout)
    cache = Cache(layout.rootdir / ".flakehound" / "lint" / "cache.json" if cached else None, about)
    known = {path: kept for path in layout.test_files if (kept := cache.answer(path, sources.digests))}
    todo = [path for path in layout.test_files if path not in known]
    answers = {**known, **_asked(todo, layout, sources, work, processes or os.cpu_count() or 1)}
    if todo:
        cache.write({path: answers[path] for path in layout.test_files})
    return _told(layout, answers, reused=len(known))


def case_ids(project: Project, module: Module) -> list[str]:
    """A piece of work: the node ids of a file's tests."""
    return [case.id for case in cases_of(module, project.patterns, project)]


class Sources(Mapping[str, bytes]):
    """The project's files, each read when first asked for; a file that cannot be read is empty."""

    def __init__(self, layout: Layout) -> None:
        self._rootdir = layout.rootdir
        self._paths = dict.fromkeys(layout.sources)
        self._contents: dict[str, bytes] = {}
        self.digests = _Digests(self, digest("\n".join(self._paths).encode()))

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
    """Digests of files by path; under "" that of all paths together, since a new file can take an import over."""

    def __init__(self, sources: Sources, of_paths: str) -> None:
        self._sources = sources
        self._known: dict[str, str | None] = {"": of_paths}

    def __getitem__(self, path: str) -> str | None:
        if path not in self._known:
            self._known[path] = digest(self._sources[path]) if path in self._sources else None
        return self._known[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


def _asked(todo: Sequence[str], layout: Layout, sources: Sources, work: Work, processes: int) -> dict[str, Kept]:
    parts = _parts(todo, sources, processes)
    if len(parts) < 2:
        return _answers(layout, work, todo)
    ask = partial(_answers, layout, work)
    try:
        # Not forked: the caller may have threads. Spawned ones import what they need by name.
        with ProcessPoolExecutor(len(parts), mp_context=get_context("spawn")) as pool:
            return {path: kept for found in pool.map(ask, parts) for path, kept in found.items()}
    except (BrokenProcessPool, OSError):
        # Where no process can be started (a sandbox, a main module that cannot be imported) one is enough.
        return ask(todo)


def _parts(todo: Sequence[str], sources: Sources, processes: int) -> list[list[str]]:
    """The files in as many runs of about equal size; neighbours stay together, as they share helpers."""
    sizes = [len(sources[path]) for path in todo]
    total = sum(sizes)
    count = max(1, min(processes, total // _WORTH_A_PROCESS))
    parts: list[list[str]] = [[] for _ in range(count)]
    before = 0
    for path, size in zip(todo, sizes, strict=True):
        parts[min(count - 1, before * count // max(total, 1))].append(path)
        before += size
    return [part for part in parts if part]


def _answers(layout: Layout, work: Work, paths: Sequence[str]) -> dict[str, Kept]:
    """Runs in a process of its own, or in ours."""
    sources = Sources(layout)
    settings = layout.settings
    project = Project(sources, patterns=settings.patterns, import_roots=settings.import_roots)
    with _uncollected():
        return {path: _answer(project, sources, work, path) for path in paths}


@contextmanager
def _uncollected() -> Iterator[None]:
    """Syntax trees hold no circles; the garbage collector would walk through all of them again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _answer(project: Project, sources: Sources, work: Work, path: str) -> Kept:
    with project.consulting() as consulted:
        module = project.module(path)
        answer = None if module is None else _plain(work, project, module)
    bad = [{"path": one.path, "line": one.line, "reason": one.reason} for one in project.unparsable_in(consulted)]
    inputs = {one: sources.digests[one] or "" for one in sorted({"", path, *consulted})}
    return Kept(inputs=inputs, answer={"answer": answer, "unparsable": bad})


def _plain(work: Work, project: Project, module: Module) -> Any:
    """The answer as JSON gives it back, so that a kept one and a fresh one are equal."""
    return json.loads(json.dumps(work(project, module)))


def _told(layout: Layout, answers: Mapping[str, Kept], reused: int) -> Scan:
    found = [(path, answers[path].answer) for path in layout.test_files]
    bad = {one["path"]: Unparsable(**one) for _path, kept in found for one in kept["unparsable"]}
    return Scan(
        layout=layout,
        answers={path: kept["answer"] for path, kept in found if kept["answer"] is not None},
        unparsable=tuple(bad[path] for path in sorted(bad)),
        reused=reused,
    )
