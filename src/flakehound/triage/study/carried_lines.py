"""Carry what a test depends on over a change that it is disjoint from.

Whatever the test executes is the same in both versions, so it executes the same functions again. Their lines
may stand elsewhere. Which lines of a function ran is not preserved: `intersect` asks for the function alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from posixpath import join

from flakehound.triage.changes import FileChange
from flakehound.triage.dependencies import RecordedDependencies
from flakehound.triage.executed_lines import body_lines
from flakehound.triage.module_outline import DefinitionKey, ModuleOutline
from flakehound.triage.python_source import parse_source


def carried_back(
    dependencies: RecordedDependencies, change: Iterable[FileChange], *, root: str
) -> RecordedDependencies | None:
    """What the test depends on before a change; None where that is not known without recording it again.

    `dependencies` were recorded after the change, which must be disjoint from them.
    """
    lines = dict(dependencies.lines)
    for file in change:
        path = join(root, file.path)
        if not lines.get(path):
            continue
        moved = _moved(lines[path], file.after, file.before)
        if moved is None:
            return None
        lines[path] = moved
    return replace(dependencies, lines=lines)


def _moved(lines: frozenset[int], here: bytes | None, there: bytes | None) -> frozenset[int] | None:
    ours, theirs = _Bodies.of(here), _Bodies.of(there)
    if ours is None or theirs is None:
        return None
    called = {key for key, body in ours.functions.items() if not lines.isdisjoint(body)}
    at_import = theirs.outside if not lines.isdisjoint(ours.outside) else frozenset()
    bodies = (theirs.functions[key] for key in called if key in theirs.functions)
    return at_import.union(*bodies)


class _Bodies:
    """Which lines of a module belong to which function, and which to none."""

    def __init__(self, functions: Mapping[DefinitionKey, range], length: int) -> None:
        self.functions = functions
        self.outside = frozenset(range(1, length + 1)).difference(*functions.values())

    @classmethod
    def of(cls, content: bytes | None) -> _Bodies | None:
        source = parse_source(content) if content is not None else None
        if source is None:
            return None
        functions = ModuleOutline(source.tree).functions.items()
        return cls({key: body_lines(node) for key, node in functions}, (content or b"").count(b"\n") + 1)
