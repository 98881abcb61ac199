"""Parse the output of `git diff-tree -p -U0`: only which lines replace which others."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from flakehound.engine.git.churn_lines import FileDiff, Hunk, Range

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_COMMIT = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_DEV_NULL = b"/dev/null"
_ESCAPES = {b"a": 7, b"b": 8, b"t": 9, b"n": 10, b"v": 11, b"f": 12, b"r": 13, b'"': 34, b"\\": 92}


@dataclass(slots=True)
class _FileParser:
    old: bytes | None = None
    new: bytes | None = None
    hunks: list[Hunk] = field(default_factory=list)

    def diff(self) -> Iterator[FileDiff]:
        """The parsed difference; nothing for a deleted file, or one of which only the mode changed."""
        if self.new is None or self.new == _DEV_NULL:
            return
        old = None if self.old in (None, _DEV_NULL) else os.fsdecode(self.old or b"")
        yield FileDiff(old_path=old, new_path=os.fsdecode(self.new), hunks=tuple(self.hunks))


def read_diffs(output: bytes) -> list[list[FileDiff]]:
    """The differences, one list per commit in the output; a single list if it names no commit."""
    lines = output.split(b"\n")
    diffs_by_commit: list[list[FileDiff]] = []
    current: list[FileDiff] = []
    file = _FileParser()
    position = 0
    while position < len(lines):
        line = lines[position]
        position += 1
        if line.startswith(b"@@ "):
            position += _add_hunk(line, file)
        elif line.startswith(b"diff --git ") or _COMMIT.fullmatch(line):
            current += file.diff()
            file = _FileParser()
            if not line.startswith(b"diff "):
                current = []
                diffs_by_commit.append(current)
        else:
            _read_header(line, file)
    current += file.diff()
    return diffs_by_commit or [current]


def _add_hunk(line: bytes, file: _FileParser) -> int:
    """Add the hunk to the file; returns how many lines of content follow its header."""
    match = _HUNK.match(line)
    assert match is not None, line
    old_first, old_n, new_first, new_n = (1 if part is None else int(part) for part in match.groups())
    file.hunks.append(Hunk(old=_range(old_first, old_n), new=_range(new_first, new_n)))
    return old_n + new_n


def _range(first: int, count: int) -> Range:
    # For an empty range git gives the number of the line before it.
    begin = first - 1 if count else first
    return begin, begin + count


def _read_header(line: bytes, file: _FileParser) -> None:
    word, _space, rest = line.partition(b" ")
    if word == b"---":
        file.old = _path(rest, prefix=b"a/")
    elif word == b"+++":
        file.new = _path(rest, prefix=b"b/")
    elif line.startswith(b"rename from "):
        file.old = _path(line[len(b"rename from ") :])
    elif line.startswith(b"rename to "):
        file.new = _path(line[len(b"rename to ") :])


def _path(printed: bytes, prefix: bytes = b"") -> bytes:
    """A path as git prints it: quoted if it has special characters, followed by a tab if it has a blank."""
    name = _unquote(printed[1:-1]) if printed[:1] == b'"' else printed.removesuffix(b"\t")
    return name.removeprefix(prefix)


def _unquote(text: bytes) -> bytes:
    def unescape(match: re.Match[bytes]) -> bytes:
        escape = match[1]
        return bytes([_ESCAPES[escape] if escape in _ESCAPES else int(escape, 8)])

    return re.sub(rb"\\([0-7]{3}|.)", unescape, text)


def commits_in(output: bytes) -> list[Sequence[str]]:
    """The output of `git rev-list --parents`: each commit, followed by its parents."""
    return [line.decode("ascii").split() for line in output.splitlines()]
