"""Read tables of tests from CSV files, plain or packed with gzip."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import shlex
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from flakehound.core.errors import Remedy, UsageError
from flakehound.learn.extras import requires_libraries
from flakehound.learn.tables.column_mapping import KNOWN_MAPPINGS, ColumnMapping, column_mapping_from
from flakehound.learn.tables.dataset import Dataset
from flakehound.learn.tables.reading import dataset_from

SHARED = "FLAKEHOUND_DATA"  # names the folder of the published tables
_SUFFIXES = (".csv.gz", ".csv")
csv.field_size_limit(1 << 24)  # a test's words can be long


@requires_libraries("numpy")
def read_table(path: Path, columns: str | None = None) -> Dataset:
    """The data set in a file; `columns` names a known mapping or a JSON file."""
    meaning = column_mapping_named(columns if columns is not None else _known_name(path))
    with open_table(path) as reader:
        return dataset_from(path.name, reader.fieldnames or (), reader, meaning)


def _known_name(path: Path) -> str:
    name = table_name(path)
    return name if name in KNOWN_MAPPINGS else "flakehound"


def table_name(path: Path) -> str:
    """A table's name without its suffix."""
    return next((path.name.removesuffix(end) for end in _SUFFIXES if path.name.endswith(end)), path.name)


def column_mapping_named(name: str) -> ColumnMapping:
    """A known mapping, or the one in a JSON file."""
    if name in KNOWN_MAPPINGS:
        return KNOWN_MAPPINGS[name]
    remedy = shlex.join(["flakehound", "data", "check", "--help"])
    try:
        told = json.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as problem:
        known = ", ".join(KNOWN_MAPPINGS)
        raise UsageError(
            f"{name!r} is neither a known mapping ({known}) nor a file: {problem.strerror}", remedy=remedy
        ) from problem
    except ValueError as problem:
        raise UsageError(f"{name!r} is no JSON: {problem}", remedy=remedy) from problem
    return column_mapping_from(told, remedy=remedy)


@contextmanager
def open_table(path: Path) -> Iterator[csv.DictReader[str]]:
    """A reader of the rows; whatever is the matter with the file is one error of ours."""
    listing = shlex.join(["ls", "-l", "--", str(path.parent)])
    try:
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rb") as packed, io.TextIOWrapper(packed, encoding="utf-8", newline="") as text:
            yield csv.DictReader(text)
    except OSError as problem:
        words = problem.strerror or str(problem)
        raise UsageError(f"cannot read the table {str(path)!r}: {words}", remedy=listing) from problem
    except (csv.Error, UnicodeDecodeError, EOFError, zlib.error) as problem:
        raise UsageError(f"{str(path)!r} is no table: {problem}", remedy=listing) from problem


def read_rows(path: Path, names: Sequence[str], *, remedy: Remedy) -> list[dict[str, str]]:
    """These columns of a small table, row by row; an error where one is missing."""
    with open_table(path) as reader:
        header = reader.fieldnames or ()
        missing = [name for name in names if name not in header]
        if missing:
            raise UsageError(
                f"{str(path)!r} has no column {', '.join(map(repr, missing))}; its columns: {', '.join(header)}",
                remedy=remedy,
            )
        return [{name: row[name] or "" for name in names} for row in reader]


def published_table(name: str) -> Path:
    """One of the published tables, which are not part of this package; an error where they are not at hand."""
    folder = Path(os.environ.get(SHARED) or "../shared/data")
    path = folder / f"{name}.csv.gz"
    if not path.is_file():
        raise UsageError(
            f"the published data is not at hand: there is no {str(path)!r}; {SHARED} names its folder",
            remedy=shlex.join(["find", "..", "-name", f"{name}.csv.gz"]),
        )
    return path
