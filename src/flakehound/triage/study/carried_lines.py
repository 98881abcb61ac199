"""Translate the dependencies of a test to the version before a change that does not affect it.

The code that the test executes is the same in both versions, so it executes the same functions, perhaps at other
lines. A function counts as executed as a whole, because `intersect` asks only whether a function was executed.
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
    """The dependencies of the test before a change; None: they have to be recorded again.

    `dependencies` were recorded after the change, which must not affect them.
    """
    lines = dict(dependencies.lines)
    for file in change:
        path = join(root, file.path)
        if not lines.get(path):
            continue
        lines_before = _lines_before(lines[path], file.after, file.before)
        if lines_before is None:
            return None
        lines[path] = lines_before
    return replace(dependencies, lines=lines)


def _lines_before(lines: frozenset[int], after: bytes | None, before: bytes | None) -> frozenset[int] | None:
    bodies_after, bodies_before = _Bodies.of(after), _Bodies.of(before)
    if bodies_after is None or bodies_before is None:
        return None
    called_functions = {key for key, body in bodies_after.functions.items() if not lines.isdisjoint(body)}
    at_import = bodies_before.outside if not lines.isdisjoint(bodies_after.outside) else frozenset()
    bodies = (bodies_before.functions[key] for key in called_functions if key in bodies_before.functions)
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
