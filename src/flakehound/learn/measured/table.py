"""The table of measured tests that we ship: features, outcome counts, costs, polluters, and who pollutes whom.

One packed CSV. Its columns are those that `flakehound data export` writes, with two more: the version of the
columns, and for each victim the rows of its polluters, counted from 0 over the whole table.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources

from flakehound.learn.tables.polluter_pairs import Pair

VERSION = 2  # of the columns
FILE = "cannier_training.csv.gz"
_VERSION, _POLLUTERS = "version", "polluters"
_DIGITS = 5  # significant ones of a number that is measured

Row = Mapping[str, str]


def pack_table(rows: Sequence[Row], pairs: Iterable[Row]) -> bytes:
    """The table of exported rows and pairs; the same rows give the same bytes."""
    place = {(row["project"], row["id"]): str(number) for number, row in enumerate(rows)}
    polluters: dict[tuple[str, str], list[str]] = {}
    for pair in pairs:
        polluter = place.get((pair["project"], pair["polluter"]))
        if polluter is not None:
            polluters.setdefault((pair["project"], pair["victim"]), []).append(polluter)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, [_VERSION, *rows[0], _POLLUTERS], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        known = " ".join(polluters.get((row["project"], row["id"]), ()))
        writer.writerow({_VERSION: VERSION, **_shortened(row), _POLLUTERS: known})
    return gzip.compress(text.getvalue().encode(), 9, mtime=0)


def _shortened(row: Row) -> dict[str, str]:
    return {name: value if name in ("id", "project") else _short(value) for name, value in row.items()}


def _short(number: str) -> str:
    if not number:
        return ""  # a polluter or not: nobody looked
    value = float(number)
    return str(int(value)) if value.is_integer() else f"{value:.{_DIGITS}g}"


def shipped_bytes() -> bytes:
    """The table, packed."""
    return (resources.files("flakehound.learn") / "facts" / FILE).read_bytes()


def unpack_table(content: bytes) -> tuple[list[dict[str, str]], list[Pair]]:
    """The rows as `flakehound data export` has them, and the pairs."""
    rows = list(csv.DictReader(gzip.decompress(content).decode("utf-8").splitlines()))
    pairs = [
        Pair(project=row["project"], victim=row["id"], polluter=rows[int(number)]["id"])
        for row in rows
        for number in row[_POLLUTERS].split()
    ]
    extra = (_VERSION, _POLLUTERS)
    return [{name: value for name, value in row.items() if name not in extra} for row in rows], pairs
