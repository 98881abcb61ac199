"""Print results: plain text to files and pipes, the same text with colours and tables to a terminal."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import RenderableType

# Pattern -> style of the text that it matches within one line.
_STYLES = (
    (r"^NOD(?= )", "bold red"),
    (r"^VICTIM(?= )", "bold magenta"),
    (r"^BRITTLE(?= )", "bold blue"),
    (r"^NON-IDEMPOTENT(?= )", "bold cyan"),
    (r"^UNRESOLVED(?= )", "bold yellow"),
    (r"^(FAILING|FAILED)(?= )", "red"),
    (r"^(STEADY|PASSED)(?= )", "green"),
    (r"^\S+:\d+:\d+(?= [A-Z]+\d+ )", "bold"),  # the location of a lint finding
    (r"(?<=:\d )[A-Z]+\d+(?= )|(?<=:\d\d )[A-Z]+\d+(?= )|(?<=:\d\d\d )[A-Z]+\d+(?= )", "yellow"),  # its rule
    (r"^ +\d+(\.\d+)? %(?= )", "bold"),  # how likely a test is to flake
    (r"^(Evidence|Runs|Other tests|State|Likely causes|Failures|Make it fail again|Shortest order .*)$", "bold"),
    (r"^feature +median +most +test$", "bold"),
    (r"^(note|try):", "dim"),
    (r"likely cause:", "italic"),
    (r"(?:cd \S+ && )?\bflakehound (?:hunt|replay|explain|polluter|lint|features|calls|data) .*$", "cyan"),
    (r"^(\d+ tests?,|\d+ tests? read:) .*$", "bold"),
)
_MAX_WIDTH = 10_000  # columns, more than any table needs


def print_result(text: str) -> None:
    """Print a command's result to standard output."""
    if not has_colours():
        click.echo(text)
        return
    # Rendered by rich but written by click: rich would exit with code 1 at a closed pipe.
    click.echo(_rendered(text), color=True)


def has_colours() -> bool:
    """Whether standard output gets colours: by NO_COLOR and FORCE_COLOR, else if it is a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


def _rendered(text: str) -> str:
    from rich.console import Console

    console = Console(file=io.StringIO(), force_terminal=True, width=_MAX_WIDTH, highlight=False)
    with console.capture() as captured:
        for part in _parts(text):
            console.print(part, soft_wrap=True)
    return captured.get().removesuffix("\n")


def _parts(text: str) -> Iterator[RenderableType]:
    """Tables as tables, everything else as coloured lines."""
    for is_table, lines in groupby(text.split("\n"), key=_is_table_line):
        block = list(lines)
        yield _table(block) if is_table and _is_table(block) else _coloured(block)


def _coloured(lines: Sequence[str]) -> RenderableType:
    from rich.text import Text

    # A Text, because rich would read `[...]` of a node id in a string as markup.
    coloured = Text("\n".join(lines))
    for pattern, style in _STYLES:
        coloured.highlight_regex(re.compile(pattern, re.MULTILINE), style)
    return coloured


def _is_table_line(line: str) -> bool:
    return line.startswith("|") and line.endswith("|")


def _is_table(lines: Sequence[str]) -> bool:
    """Whether the lines are one Markdown table whose rows all have as many cells as its head."""
    is_ruled = len(lines) > 2 and set(lines[1]) <= set("|-")
    return is_ruled and len({len(_cells(line)) for line in lines if line is not lines[1]}) == 1


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line[1:-1].split(" | ")]


def _table(lines: Sequence[str]) -> RenderableType:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    head, _rule, *rows = lines
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column, name in enumerate(_cells(head)):
        is_number = all(re.match(r"[-–\d.]", _cells(row)[column]) for row in rows)
        table.add_column(Text(name), no_wrap=True, justify="right" if is_number else "left")
    for row in rows:
        table.add_row(*(Text(cell) for cell in _cells(row)))
    return table
