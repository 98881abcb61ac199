"""Lines of a file by what is on them, counted in one pass over its text.

Logical lines are radon's: one per simple statement and per clause, and two for a line with a colon inside it, as
in `if ready: go()`; a colon of a slice, a dict or an annotation counts alike. A colon in a string never does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from flakehound.lint.metrics.fstrings import end_of_fstring

_TOKEN = re.compile(
    r'''(?P<string>"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""
      |\'\'\'[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*\'\'\'
      |"[^"\\\n]*(?:\\.[^"\\\n]*)*"
      |'[^'\\\n]*(?:\\.[^'\\\n]*)*')
      |(?P<newline>\n)|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<comment>\#[^\n]*)
      |(?P<colon>:(?!=))|(?P<semicolon>;)|(?P<continued>\\\n)''',
    re.DOTALL | re.VERBOSE,
)
_PREFIX = re.compile(r"\s*[bBfFrRuU]{0,2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LineCounts:
    """How many lines of each kind some part of a file has."""

    written: int = 0  # not blank
    source: int = 0  # with code; inside a statement that spans several lines, each that is not blank
    logical: int = 0
    comments: int = 0  # comments, also those behind code
    documentation: int = 0  # not blank, of strings that span several lines and are statements of their own

    @property
    def comment_percent(self) -> float:
        """Comment and documentation lines per hundred source lines."""
        return 100 * (self.comments + self.documentation) / self.source if self.source else 0.0


class Lines:
    """Counts the lines of a file, or of any run of its whole statements."""

    def __init__(self, text: str) -> None:
        text = text if text.endswith("\n") else f"{text}\n"
        count = text.count("\n")
        self._written = _running([bool(line.strip()) for line in text.split("\n")[:count]])
        counts_by_kind = [[0] * count for _ in range(4)]
        for statement in _statements(text):
            for kind, number in zip(counts_by_kind, self._counts(statement), strict=True):
                kind[statement.first - 1] = number
        self._source, self._logical, self._comments, self._documentation = map(_running, counts_by_kind)

    def _counts(self, statement: _Statement) -> tuple[int, int, int, int]:
        lines = self._written[statement.last] - self._written[statement.first - 1]
        is_code = statement.logical > 0 and not statement.is_lone_string
        is_documentation = statement.is_lone_string and statement.first != statement.last
        return lines * is_code, statement.logical, statement.comments, lines * is_documentation

    def between(self, first: int, last: int) -> LineCounts:
        """The counts of lines `first` to `last`, both included."""
        return LineCounts(
            written=self._written[last] - self._written[first - 1],
            source=self._source[last] - self._source[first - 1],
            logical=self._logical[last] - self._logical[first - 1],
            comments=self._comments[last] - self._comments[first - 1],
            documentation=self._documentation[last] - self._documentation[first - 1],
        )

    def whole(self) -> LineCounts:
        """The counts of the whole file."""
        return self.between(1, len(self._written) - 1)


def _running(numbers: list[int] | list[bool]) -> list[int]:
    return list(accumulate(numbers, initial=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Statement:
    """What stands on the lines of one statement, or on a line without one."""

    first: int
    last: int
    logical: int
    comments: int
    is_lone_string: bool


def _statements(text: str) -> Iterator[_Statement]:
    scanner = _Scanner(text)
    while scanner.at < len(text):
        yield scanner.statement()


class _Scanner:
    """Reads a valid source text, one statement with its line end at a time."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0
        self._line = 1

    def statement(self) -> _Statement:
        """The next statement, comment line or blank line."""
        text, search = self._text, _TOKEN.search
        began, first = self.at, self._line
        part, colon, depth, logical, comments = began, -1, 0, 0, 0
        string = None  # the span of the first string
        end = -1  # of the code before a comment
        while True:
            found = search(text, self.at)
            if found is None:  # only a text that is no Python, such as one with an unclosed bracket
                self.at = end = len(text)
                break
            kind, self.at = found.lastgroup, found.end()
            if kind == "newline":
                self._line += 1
                if not depth:
                    end = found.start() if end < 0 else end
                    break
            elif kind == "string":
                self._pass_string(found)
                string = string or (found.start(), self.at)
            elif kind == "open":
                depth += 1
            elif kind == "close":
                depth -= 1
            elif kind == "colon":
                colon = found.start()
            elif kind == "comment":
                comments, end = comments + 1, end if depth else found.start()
            elif kind == "continued":
                self._line += 1
            else:
                logical += _logical(text, part, colon, found.start())
                part, colon = self.at, -1
        logical += _logical(text, part, colon, end)
        lone = string is not None and not comments and _is_all(text, began, end, string)
        last = max(first, self._line - 1)
        return _Statement(first=first, last=last, logical=logical, comments=comments, is_lone_string=lone)

    def _pass_string(self, found: re.Match[str]) -> None:
        value, start = found.group(), found.start()
        if value.count("{") != value.count("}") and "f" in self._text[max(0, start - 2) : start].lower():
            quote = value[:3] if value[:3] in ('"""', "'''") and len(value) > 3 else value[0]
            self.at = end_of_fstring(self._text, start, quote) or self.at
            value = self._text[start : self.at]
        self._line += value.count("\n")


def _logical(text: str, start: int, colon: int, end: int) -> int:
    if colon >= 0:
        return 2 if text[colon + 1 : end].strip() else 1
    return 1 if text[start:end].strip() else 0


def _is_all(text: str, began: int, end: int, string: tuple[int, int]) -> bool:
    before = _PREFIX.match(text, began)
    return before is not None and before.end() == string[0] and not text[string[1] : end].strip()
