"""Tables that the model of what lint measures is fitted on: the one we ship, and a team's own."""

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
from flakehound.learn.tables.dataset import Exclusion, UnusableData

VERSION = 2  # of the columns
_SHIPPED = "static_training.csv.gz"
_MOST = 1e30
_FITTING = ("models/logistic.py", "static/fit.py", "static/model.py", "static/table.py")
INFRASTRUCTURE = "infrastructure"  # a test that the study's machines broke is no example of anything


@dataclass(slots=True, kw_only=True)
class TrainingTable:
    """The tests of a table that can be used, and how many cannot."""

    samples: list[Sample] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def exclusions(self) -> list[Exclusion]:
        """Rows that were left out, and why."""
        return [Exclusion(why=why, rows=rows) for why, rows in sorted(self.left_out.items())]


def shipped_bytes() -> bytes:
    """The training data of the default model, packed."""
    return (resources.files("flakehound.learn") / "facts" / _SHIPPED).read_bytes()


def digest_of(*contents: bytes) -> str:
    """A name for training data and the code that fits it; the same of both gives the same model.

    A version number alone would keep old models while somebody works on the fit.
    """
    maker = blake2b(digest_size=16)
    folder = resources.files("flakehound.learn")
    for content in (*((folder / name).read_bytes() for name in _FITTING), *contents):
        maker.update(len(content).to_bytes(8, "little"))
        maker.update(content)
    return maker.hexdigest()


def shipped_samples(packed: bytes) -> list[Sample]:
    """The tests of the default model."""
    rows = csv.DictReader(gzip.decompress(packed).decode("utf-8").splitlines())
    return training_table("the training data of flakehound", rows.fieldnames or (), rows).samples


def training_table(
    name: str, header: Sequence[str], rows: Iterable[Mapping[str, str]], *, own: bool = False
) -> TrainingTable:
    """The tests in a table's rows; a column that is missing or a label that is none is an error."""
    _check_header(name, header)
    found = TrainingTable()
    for row in _each_once(rows, "id" in header, found.left_out):
        sample = _sample(row, name, found, own)
        if sample is not None:
            found.samples.append(sample)
    if not found.samples:
        told = "; ".join(f"{one.rows} {one.why}" for one in found.exclusions)
        raise UnusableData(f"{name!r} has no usable row", detail=told and f"left out: {told}")
    return found


def _check_header(name: str, header: Sequence[str]) -> None:
    twice = sorted(column for column, times in Counter(header).items() if times > 1)
    if twice:
        raise UnusableData(f"{name!r} has columns of the same name: {', '.join(twice)}")
    missing = [column for column in ("project", *KINDS, *COLUMNS) if column not in header]
    if not {"id", "file"} & set(header):
        missing.insert(0, "id")
    if missing:
        raise UnusableData(
            f"{name!r} has no column {', '.join(map(repr, missing))}", detail=f"its columns: {', '.join(header)}"
        )


def _each_once(
    rows: Iterable[Mapping[str, str]], with_ids: bool, left_out: Counter[str]
) -> Iterator[Mapping[str, str]]:
    seen: set[tuple[str, str]] = set()
    for row in rows:
        key = (row["project"], row.get("id", ""))
        if with_ids and key in seen:
            left_out["whose id an earlier row has"] += 1
            continue
        seen.add(key)
        yield row


def _sample(row: Mapping[str, str], name: str, found: TrainingTable, own: bool) -> Sample | None:
    _check_version(row, name)
    is_known = any(row[kind] for kind in KINDS)
    labels = {kind: is_known and _label(row, kind, name) for kind in KINDS}
    values = {column: _number(row[column]) for column in COLUMNS}
    if any(value is None for value in values.values()):
        found.left_out[f"with a feature that is empty, no number, not finite or beyond {_MOST:g}"] += 1
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
    return number if math.isfinite(number) and abs(number) <= _MOST else None
