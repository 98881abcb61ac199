"""Make a data set from the rows of a table; report errors and rows that were left out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from flakehound.learn.extras import Array
from flakehound.learn.tables.column_mapping import ColumnMapping
from flakehound.learn.tables.dataset import UNKNOWN, Dataset, Exclusion, UnusableData
from flakehound.learn.tables.problems import OutcomeCounts

MAX_VALUE = 1e30  # trees compute with single precision, which ends at 3.4e38
Row = Mapping[str, str]


@dataclass(slots=True)
class _Columns:
    """The usable rows, column by column."""

    ids: list[str] = field(default_factory=list)
    projects: list[str] = field(default_factory=list)
    values: list[list[float]] = field(default_factory=list)
    numbers: dict[str, list[float]] = field(default_factory=dict)  # counts, labels and costs
    words: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def dataset_from(name: str, header: Sequence[str], rows: Iterable[Row], columns: ColumnMapping) -> Dataset:
    """The data set in a table.

    Raises UnusableData for a missing column or an invalid label. Rows that cannot be used are left out; the data
    set says how many and why.
    """
    _check_header(name, header, columns)
    features = _feature_names(header, columns)
    usable = _Columns()
    first_rows: dict[tuple[str, str], tuple[str, ...]] = {}
    for number, row in enumerate(rows, start=2):
        if columns.projects and row[columns.project] not in columns.projects:
            usable.left_out["of a project that the mapping leaves out"] += 1
            continue
        obstacle = _row_obstacle(row, features, columns) or _duplicate_obstacle(row, columns, first_rows)
        if obstacle:
            usable.left_out[obstacle] += 1
        else:
            _add_row(usable, row, features, columns, where=f"line {number} of {name!r}")
    if not usable.ids:
        raise UnusableData(f"{name!r} has no usable row", detail=_exclusion_lines(usable.left_out))
    return _dataset(name, usable, features, columns)


def _check_header(name: str, header: Sequence[str], columns: ColumnMapping) -> None:
    duplicates = sorted(column for column, times in Counter(header).items() if times > 1)
    if duplicates:
        raise UnusableData(f"{name!r} has columns of the same name: {', '.join(duplicates)}")
    missing = [
        column for column in (*columns.required_columns(), *(columns.features or ())) if column not in header
    ]
    if missing:
        raise UnusableData(
            f"{name!r} has no column {', '.join(map(repr, missing))}", detail=f"its columns: {', '.join(header)}"
        )


def _feature_names(header: Sequence[str], columns: ColumnMapping) -> tuple[str, ...]:
    if columns.features is not None:
        return columns.features
    others = {*columns.required_columns(), *columns.ignored}
    return tuple(column for column in header if column not in others)


def _row_obstacle(row: Row, features: Sequence[str], columns: ColumnMapping) -> str:
    """Why a row cannot be used; empty: it can."""
    if None in row.values() or None in row:
        return "with too few or too many fields"
    if any(number_in(row[name]) for name in columns.left_out_where):
        return f"where {' or '.join(columns.left_out_where)} is true"
    if not row[columns.project].strip():
        return "without a project"
    if not all(_is_usable(row[name]) for name in features):
        return f"with a feature that is empty, no number, not finite or beyond {MAX_VALUE:g}"
    return ""


def _is_usable(text: str) -> bool:
    number = number_in(text)
    return number is not None and math.isfinite(number) and abs(number) <= MAX_VALUE


def number_in(text: str) -> float | None:
    """The number in a field; True and False are 1 and 0. None if there is no number."""
    try:
        return float({"true": "1", "false": "0"}.get(text.strip().lower(), text))
    except ValueError:
        return None


def _duplicate_obstacle(
    row: Row, columns: ColumnMapping, first_rows: dict[tuple[str, str], tuple[str, ...]]
) -> str:
    """Why a row with the project and id of an earlier row cannot be used; empty: there is no such row."""
    key, content = (row[columns.project], _id(row, columns)), tuple(row.values())
    first = first_rows.setdefault(key, content)
    if first is content:
        return ""
    return "that repeat a row" if first == content else "whose id an earlier row has with other values"


def _id(row: Row, columns: ColumnMapping) -> str:
    return "::".join(row[name] for name in columns.id if row[name])


def _add_row(usable: _Columns, row: Row, features: Sequence[str], columns: ColumnMapping, *, where: str) -> None:
    numbers = dict(_numbers(row, columns, where))
    if columns.original_passed and not numbers["original_passed"] + numbers["original_failed"]:
        usable.left_out["without a run in the original order"] += 1
        return
    usable.ids.append(_id(row, columns))
    usable.projects.append(row[columns.project])
    usable.values.append([number_in(row[name]) or 0.0 for name in features])
    usable.words.append(row[columns.words] if columns.words else "")
    for name, number in numbers.items():
        usable.numbers.setdefault(name, []).append(number)


def _numbers(row: Row, columns: ColumnMapping, where: str) -> Iterator[tuple[str, float]]:
    for name in ("original_passed", "original_failed", "shuffled_passed", "shuffled_failed"):
        yield name, sum(_count(row, column, where) for column in getattr(columns, name))
    if columns.label:
        yield "label", _label(row, columns.label, where)
    if columns.polluter:
        known = row[columns.polluter].strip()
        yield "polluter", _label(row, columns.polluter, where) if known else UNKNOWN
    if columns.cost_s:
        cost = number_in(row[columns.cost_s])
        if cost is None or not 0 <= cost <= MAX_VALUE:
            raise UnusableData(
                f"{where}: {row[columns.cost_s]!r} in {columns.cost_s!r} is not a number of seconds"
            )
        yield "cost_s", cost


def _count(row: Row, column: str, where: str) -> float:
    number = number_in(row[column])
    if number is None or not number.is_integer() or number < 0:
        raise UnusableData(f"{where}: {row[column]!r} in {column!r} is not a number of runs")
    return number


def _label(row: Row, column: str, where: str) -> float:
    number = number_in(row[column])
    if number not in (0.0, 1.0):
        raise UnusableData(f"{where}: {row[column]!r} in {column!r} is not a label; labels are 0 and 1")
    return number


def _dataset(name: str, usable: _Columns, features: tuple[str, ...], columns: ColumnMapping) -> Dataset:
    import numpy as np

    numbers = {key: np.array(values) for key, values in usable.numbers.items()}
    return Dataset(
        name=name,
        ids=np.array(usable.ids, dtype=object),
        projects=np.array(usable.projects, dtype=object),
        features=features,
        values=np.array(usable.values, dtype=float).reshape(len(usable.ids), len(features)),
        counts=_counts(numbers) if columns.original_passed else None,
        label=numbers["label"].astype(int) if columns.label else None,
        polluter=numbers["polluter"].astype(int) if columns.polluter else None,
        cost_s=numbers.get("cost_s"),
        words=tuple(usable.words) if columns.words else None,
        exclusions=tuple(Exclusion(why=why, rows=rows) for why, rows in sorted(usable.left_out.items())),
    )


def _counts(numbers: Mapping[str, Array]) -> OutcomeCounts:
    return OutcomeCounts(
        original_runs=numbers["original_passed"] + numbers["original_failed"],
        original_failed=numbers["original_failed"],
        shuffled_runs=numbers["shuffled_passed"] + numbers["shuffled_failed"],
        shuffled_failed=numbers["shuffled_failed"],
    )


def _exclusion_lines(left_out: Mapping[str, int]) -> str:
    return "\n".join(f"{rows} rows {why}" for why, rows in sorted(left_out.items()))
