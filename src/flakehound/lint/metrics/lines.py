"""Count the lines of a file by kind, in one pass over its text.

Logical lines are those of radon: one for each simple statement and clause, two for a line with a colon inside it,
such as `if ready: go()`. A colon of a slice, a dict or an annotation counts, too; one in a string does not.
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
_INDENT_AND_STRING_PREFIX = re.compile(r"\s*[bBfFrRuU]{0,2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LineCounts:
    """How many lines of each kind some part of a file has."""

    non_blank: int = 0  # lines that are not blank
    source: int = 0  # lines with code; of a statement on several lines all that are not blank
    logical: int = 0
    comments: int = 0  # lines with a comment, also after code
    documentation: int = 0  # lines that are not blank, of strings on several lines that are statements

    @property
    def comment_percent(self) -> float:
        """Comment and documentation lines per hundred source lines."""
        return 100 * (self.comments + self.documentation) / self.source if self.source else 0.0


class LineCounter:
    """Counts the lines of a file, or of consecutive whole statements in it."""

    def __init__(self, text: str) -> None:
        text = text if text.endswith("\n") else f"{text}\n"
        count = text.count("\n")
        self._non_blank = _prefix_sums([bool(line.strip()) for line in text.split("\n")[:count]])
        counts_by_kind = [[0] * count for _ in range(4)]
        for statement in _statements(text):
            for counts, number in zip(counts_by_kind, self._counts(statement), strict=True):
                counts[statement.first - 1] = number
        self._source, self._logical, self._comments, self._documentation = map(_prefix_sums, counts_by_kind)

    def _counts(self, statement: _Statement) -> tuple[int, int, int, int]:
        lines = self._non_blank[statement.last] - self._non_blank[statement.first - 1]
        is_code = statement.logical > 0 and not statement.is_lone_string
        is_documentation = statement.is_lone_string and statement.first != statement.last
        return lines * is_code, statement.logical, statement.comments, lines * is_documentation

    def between(self, first: int, last: int) -> LineCounts:
        """The counts of lines `first` to `last`, both included."""
        return LineCounts(
            non_blank=self._non_blank[last] - self._non_blank[first - 1],
            source=self._source[last] - self._source[first - 1],
            logical=self._logical[last] - self._logical[first - 1],
            comments=self._comments[last] - self._comments[first - 1],
            documentation=self._documentation[last] - self._documentation[first - 1],
        )

    def whole_file(self) -> LineCounts:
        """The counts of the whole file."""
        return self.between(1, len(self._non_blank) - 1)


def _prefix_sums(numbers: list[int] | list[bool]) -> list[int]:
    return list(accumulate(numbers, initial=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Statement:
    """One statement, or a line without a statement."""

    first: int
    last: int
    logical: int
    comments: int
    is_lone_string: bool


def _statements(text: str) -> Iterator[_Statement]:
    scanner = _StatementScanner(text)
    while scanner.position < len(text):
        yield scanner.read_statement()


class _StatementScanner:
    """Splits a valid source text into statements with their line ends."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.position = 0
        self._line = 1

    def read_statement(self) -> _Statement:
        """Read the next statement, comment line or blank line."""
        text, search = self._text, _TOKEN.search
        start, first = self.position, self._line
        part_start, colon, depth, logical, comments = start, -1, 0, 0, 0
        string = None  # start and end of the first string
        end = -1  # end of the code before a comment
        while True:
            token = search(text, self.position)
            if token is None:  # only in a text that is not valid Python, such as one with an unclosed bracket
                self.position = end = len(text)
                break
            kind, self.position = token.lastgroup, token.end()
            if kind == "newline":
                self._line += 1
                if not depth:
                    end = token.start() if end < 0 else end
                    break
            elif kind == "string":
                self._skip_string(token)
                string = string or (token.start(), self.position)
            elif kind == "open":
                depth += 1
            elif kind == "close":
                depth -= 1
            elif kind == "colon":
                colon = token.start()
            elif kind == "comment":
                comments, end = comments + 1, end if depth else token.start()
            elif kind == "continued":
                self._line += 1
            else:
                logical += _logical_lines(text, part_start, colon, token.start())
                part_start, colon = self.position, -1
        logical += _logical_lines(text, part_start, colon, end)
        is_lone_string = string is not None and not comments and _is_only_string(text, start, end, string)
        last = max(first, self._line - 1)
        return _Statement(
            first=first, last=last, logical=logical, comments=comments, is_lone_string=is_lone_string
        )

    def _skip_string(self, token: re.Match[str]) -> None:
        value, start = token.group(), token.start()
        if value.count("{") != value.count("}") and "f" in self._text[max(0, start - 2) : start].lower():
            quote = value[:3] if value[:3] in ('"""', "'''") and len(value) > 3 else value[0]
            self.position = end_of_fstring(self._text, start, quote) or self.position
            value = self._text[start : self.position]
        self._line += value.count("\n")


def _logical_lines(text: str, start: int, colon: int, end: int) -> int:
    if colon >= 0:
        return 2 if text[colon + 1 : end].strip() else 1
    return 1 if text[start:end].strip() else 0


def _is_only_string(text: str, start: int, end: int, string: tuple[int, int]) -> bool:
    before = _INDENT_AND_STRING_PREFIX.match(text, start)
    return before is not None and before.end() == string[0] and not text[string[1] : end].strip()
