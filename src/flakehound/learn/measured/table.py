"""The shipped table of measured tests: features, outcome counts, costs, polluters, and who pollutes whom.

It is one compressed CSV file. Its columns are those that `flakehound data export` writes, and two more: the
version of the columns, and for each victim the row numbers of its polluters, counted from 0.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources

from flakehound.learn.tables.polluter_pairs import Pair

VERSION = 2  # of the columns
TABLE_FILE = "cannier_training.csv.gz"
_VERSION_COLUMN, _POLLUTERS_COLUMN = "version", "polluters"
_DIGITS = 5  # significant digits of a measured number

Row = Mapping[str, str]


def pack_table(rows: Sequence[Row], pairs: Iterable[Row]) -> bytes:
    """Compress exported rows and pairs into the bytes of the table; the same rows give the same bytes."""
    row_numbers = {(row["project"], row["id"]): str(number) for number, row in enumerate(rows)}
    polluters: dict[tuple[str, str], list[str]] = {}
    for pair in pairs:
        polluter = row_numbers.get((pair["project"], pair["polluter"]))
        if polluter is not None:
            polluters.setdefault((pair["project"], pair["victim"]), []).append(polluter)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, [_VERSION_COLUMN, *rows[0], _POLLUTERS_COLUMN], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        own_polluters = " ".join(polluters.get((row["project"], row["id"]), ()))
        writer.writerow({_VERSION_COLUMN: VERSION, **_with_short_numbers(row), _POLLUTERS_COLUMN: own_polluters})
    return gzip.compress(text.getvalue().encode(), 9, mtime=0)


def _with_short_numbers(row: Row) -> dict[str, str]:
    return {name: value if name in ("id", "project") else _short_number(value) for name, value in row.items()}


def _short_number(number: str) -> str:
    if not number:
        return ""  # it is not known whether the test is a polluter
    value = float(number)
    return str(int(value)) if value.is_integer() else f"{value:.{_DIGITS}g}"


def shipped_bytes() -> bytes:
    """The compressed table."""
    return (resources.files("flakehound.learn") / "facts" / TABLE_FILE).read_bytes()


def unpack_table(content: bytes) -> tuple[list[dict[str, str]], list[Pair]]:
    """The rows as `flakehound data export` writes them, and the pairs."""
    rows = list(csv.DictReader(gzip.decompress(content).decode("utf-8").splitlines()))
    pairs = [
        Pair(project=row["project"], victim=row["id"], polluter=rows[int(number)]["id"])
        for row in rows
        for number in row[_POLLUTERS_COLUMN].split()
    ]
    extra = (_VERSION_COLUMN, _POLLUTERS_COLUMN)
    return [{name: value for name, value in row.items() if name not in extra} for row in rows], pairs
