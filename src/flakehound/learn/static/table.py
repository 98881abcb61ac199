"""Training tables of the model that scores tests by their source: the shipped table, and a team's own."""

from __future__ import annotations

import csv
import gzip
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from importlib import resources

from flakehound.learn.static.fit import COLUMNS, Sample
from flakehound.learn.static.model import KINDS, NOD, ORDER_DEPENDENT
from flakehound.learn.static.words import FILE as WORDS_FILE
from flakehound.learn.tables.dataset import Exclusion, UnusableData

VERSION = 4  # of the columns
_SHIPPED_FILE = "static_training.csv.gz"
_MAX_VALUE = 1e30
# Whoever changes one of these files must get a new model, not a cached one.
_FITTING_FILES = (
    "models/logistic.py",
    "static/fit.py",
    "static/model.py",
    "static/own_files.py",
    "static/table.py",
    "static/words.py",
    f"facts/{WORDS_FILE}",
)
INFRASTRUCTURE = "infrastructure"  # column; 1: the machines of the study made the test fail, so it is not learned


@dataclass(slots=True, kw_only=True)
class TrainingTable:
    """The usable tests of a table, and how many rows were left out."""

    samples: list[Sample] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def exclusions(self) -> list[Exclusion]:
        """How many rows were left out, and why."""
        return [Exclusion(why=why, rows=rows) for why, rows in sorted(self.left_out.items())]


def shipped_bytes() -> bytes:
    """The compressed training data of the default model."""
    return (resources.files("flakehound.learn") / "facts" / _SHIPPED_FILE).read_bytes()


def digest_of(*contents: bytes) -> str:
    """A digest of training data and of the code that fits a model to it; equal digests mean equal models.

    With a version number instead, a cached model would survive changes of the code.
    """
    digest = blake2b(digest_size=16)
    folder = resources.files("flakehound.learn")
    for content in (*((folder / name).read_bytes() for name in _FITTING_FILES), *contents):
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.hexdigest()


def shipped_samples(packed: bytes) -> list[Sample]:
    """The training tests of the default model."""
    rows = csv.DictReader(gzip.decompress(packed).decode("utf-8").splitlines())
    return training_table("the training data of flakehound", rows.fieldnames or (), rows).samples


def training_table(
    name: str, header: Sequence[str], rows: Iterable[Mapping[str, str]], *, own: bool = False
) -> TrainingTable:
    """The tests in the rows of a table; raises UnusableData for a missing column or an invalid label."""
    _check_header(name, header)
    table = TrainingTable()
    for row in _without_duplicates(rows, "id" in header, table.left_out):
        sample = _sample(row, name, table.left_out, own)
        if sample is not None:
            table.samples.append(sample)
    if not table.samples:
        reasons = "; ".join(f"{exclusion.rows} {exclusion.why}" for exclusion in table.exclusions)
        raise UnusableData(f"{name!r} has no usable row", detail=reasons and f"left out: {reasons}")
    return table


def _check_header(name: str, header: Sequence[str]) -> None:
    duplicates = sorted(column for column, times in Counter(header).items() if times > 1)
    if duplicates:
        raise UnusableData(f"{name!r} has columns of the same name: {', '.join(duplicates)}")
    missing = [column for column in ("project", *KINDS, *COLUMNS) if column not in header]
    if not {"id", "file"} & set(header):
        missing.insert(0, "id")
    if missing:
        raise UnusableData(
            f"{name!r} has no column {', '.join(map(repr, missing))}", detail=f"its columns: {', '.join(header)}"
        )


def _without_duplicates(
    rows: Iterable[Mapping[str, str]], has_ids: bool, left_out: Counter[str]
) -> Iterator[Mapping[str, str]]:
    """The rows without those whose project and id an earlier row has."""
    seen: set[tuple[str, str]] = set()
    for row in rows:
        key = (row["project"], row.get("id", ""))
        if has_ids and key in seen:
            left_out["whose id an earlier row has"] += 1
            continue
        seen.add(key)
        yield row


def _sample(row: Mapping[str, str], name: str, left_out: Counter[str], own: bool) -> Sample | None:
    _check_version(row, name)
    is_known = any(row[kind] for kind in KINDS)
    labels = {kind: is_known and _label(row, kind, name) for kind in KINDS}
    values = {column: _number(row[column]) for column in COLUMNS}
    if any(value is None for value in values.values()):
        left_out[f"with a feature that is empty, no number, not finite or beyond {_MAX_VALUE:g}"] += 1
        return None
    return Sample(
        project=row["project"],
        file=row.get("file") or row["id"].partition("::")[0],
        values={column: value for column, value in values.items() if value is not None},
        nod=labels[NOD],
        order_dependent=labels[ORDER_DEPENDENT],
        own=own,
        learned=is_known and row.get(INFRASTRUCTURE) != "1",
    )


def _check_version(row: Mapping[str, str], name: str) -> None:
    version = row.get("version") or str(VERSION)
    if version != str(VERSION):
        raise UnusableData(
            f"{name!r} has version {version!r}, and this flakehound reads version {VERSION}",
            remedy="python -m pip install --upgrade flakehound",
        )


def _label(row: Mapping[str, str], kind: str, name: str) -> bool:
    if row[kind] not in ("0", "1"):
        where = row.get("id") or row.get("file")
        raise UnusableData(f"{kind!r} is {row[kind]!r} in {name!r}, for {where!r}: it has to be 0 or 1")
    return row[kind] == "1"


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and abs(number) <= _MAX_VALUE else None
