"""Read tables of tests from CSV files, plain or compressed with gzip."""

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

DATA_FOLDER_VARIABLE = "FLAKEHOUND_DATA"  # environment variable with the folder of the published tables
_SUFFIXES = (".csv.gz", ".csv")
csv.field_size_limit(1 << 24)  # a column with the words of a test can be long


@requires_libraries("numpy")
def read_table(path: Path, columns: str | None = None) -> Dataset:
    """The data set in a file; `columns` is the name of a known mapping, or a JSON file with a mapping."""
    mapping = column_mapping_named(columns if columns is not None else _default_mapping(path))
    with open_table(path) as reader:
        return dataset_from(path.name, reader.fieldnames or (), reader, mapping)


def _default_mapping(path: Path) -> str:
    """The name of the known mapping for a file: its name without suffix, or else that of our own tables."""
    name = next((path.name.removesuffix(end) for end in _SUFFIXES if path.name.endswith(end)), path.name)
    return name if name in KNOWN_MAPPINGS else "flakehound"


def column_mapping_named(name: str) -> ColumnMapping:
    """The known mapping of this name, or the one in the JSON file of this name."""
    if name in KNOWN_MAPPINGS:
        return KNOWN_MAPPINGS[name]
    remedy = shlex.join(["flakehound", "data", "check", "--help"])
    try:
        content = json.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as problem:
        known = ", ".join(KNOWN_MAPPINGS)
        raise UsageError(
            f"{name!r} is neither a known mapping ({known}) nor a file: {problem.strerror}", remedy=remedy
        ) from problem
    except ValueError as problem:
        raise UsageError(f"{name!r} is not JSON: {problem}", remedy=remedy) from problem
    return column_mapping_from(content, remedy=remedy)


@contextmanager
def open_table(path: Path) -> Iterator[csv.DictReader[str]]:
    """A reader of the rows; raises UsageError if the file cannot be read or is not a CSV."""
    remedy = shlex.join(["ls", "-l", "--", str(path.parent)])
    try:
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rb") as content, io.TextIOWrapper(content, encoding="utf-8", newline="") as text:
            yield csv.DictReader(text)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"cannot read the table {str(path)!r}: {reason}", remedy=remedy) from error
    except (csv.Error, UnicodeDecodeError, EOFError, zlib.error) as error:
        raise UsageError(f"{str(path)!r} is not a table: {error}", remedy=remedy) from error


def read_rows(path: Path, names: Sequence[str], *, remedy: Remedy) -> list[dict[str, str]]:
    """These columns of a small table, row by row; raises UsageError if one is missing."""
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
    """The file of a published table, which is not part of this package; raises UsageError if there is none."""
    folder = Path(os.environ.get(DATA_FOLDER_VARIABLE) or "../shared/data")
    path = folder / f"{name}.csv.gz"
    if not path.is_file():
        raise UsageError(
            f"the published data is missing: there is no {str(path)!r}; set {DATA_FOLDER_VARIABLE} to its folder",
            remedy=shlex.join(["find", "..", "-name", f"{name}.csv.gz"]),
        )
    return path
