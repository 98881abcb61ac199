"""`flakehound data export`: write the tests of stores as one table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from flakehound.app.data.tables import open_table
from flakehound.app.output_files import check_writable, write_output
from flakehound.app.sessions.store_file import existing_store
from flakehound.app.sessions.stored_runs import stored_runs
from flakehound.core.errors import UsageError
from flakehound.core.history import History, Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Setting
from flakehound.features.vectors import mean_vectors
from flakehound.learn.measured.table import shipped_bytes, unpack_table
from flakehound.learn.tables.reading import number_in
from flakehound.store import SessionInfo, Store

COUNT_COLUMNS = ("original_passed", "original_failed", "shuffled_passed", "shuffled_failed")
# The columns of the mapping "flakehound"; columns of features follow.
TEST_COLUMNS = ("id", "project", *COUNT_COLUMNS, "polluter", "cost_s")
PAIR_COLUMNS = ("project", "victim", "polluter")
Key = tuple[str, NodeId]  # project, test


@dataclass(slots=True)
class RecordedTest:
    """The results of all hunts for one test."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNT_COLUMNS, 0))
    alone: Tally = field(default_factory=Tally)
    is_polluter: bool = False
    polluters: set[str] = field(default_factory=set)  # its polluters and state-setters in all reports
    features: dict[str, float] = field(default_factory=dict)  # of the newest hunt that measured it
    sum_of_means_s: float = 0.0  # the mean durations of all hunts, added up
    hunts: int = 0  # in which it ran

    @property
    def mixed(self) -> Tally:
        """Its runs in the original order and alone; without a setting in which it did not both pass and fail."""
        failed = self.counts["original_failed"]
        original = Tally(n=failed + self.counts["original_passed"], failed=failed)
        return sum((tally for tally in (original, self.alone) if tally.is_mixed), Tally())

    def row(self) -> dict[str, object]:
        """Its columns without id and project."""
        cost_s = round(self.sum_of_means_s / self.hunts, 6) if self.hunts else 0.0
        return {**self.counts, "polluter": int(self.is_polluter), "cost_s": cost_s}


def export_table(
    stores: Sequence[Path], feature_files: Sequence[Path], output: Path, pairs: Path | None = None
) -> str:
    """Write the table, and the pairs if requested; returns a sentence about the table."""
    check_writable(output, "output")
    check_writable(pairs, "pairs")
    recorded, _rootdirs = read_recorded_tests(stores)
    features = [_measured_features(recorded), *(read_features(path) for path in feature_files)]
    names = list(dict.fromkeys(name for table in features for row in table.values() for name in row))
    rows = list(_rows(recorded, features, names))
    write_output(output, table_text([*TEST_COLUMNS, *names], rows), "output")
    write_output(pairs, table_text(PAIR_COLUMNS, list(_pairs(recorded))), "pairs")
    left_out = len(recorded) - len(rows)
    note = f", {left_out} left out because features are missing" if left_out else ""
    projects = len({project for project, _test in recorded})
    return f"{len(rows)} tests of {projects} projects, {len(names)} features{note}: {output}"


def export_shipped_table(output: Path, pairs: Path | None) -> str:
    """Write the shipped table like an exported one; returns a sentence about the table."""
    check_writable(output, "output")
    check_writable(pairs, "pairs")
    rows, known_pairs = unpack_table(shipped_bytes())
    write_output(output, table_text(list(rows[0]), rows), "output")
    write_output(pairs, table_text(PAIR_COLUMNS, [asdict(pair) for pair in known_pairs]), "pairs")
    projects = len({row["project"] for row in rows})
    return f"{len(rows)} tests of {projects} projects, {len(rows[0]) - len(TEST_COLUMNS)} features: {output}"


def _pairs(recorded: Mapping[Key, RecordedTest]) -> Iterator[dict[str, object]]:
    for (project, test), record in recorded.items():
        for polluter in sorted(record.polluters):
            yield dict(zip(PAIR_COLUMNS, (project, test, polluter), strict=True))


def read_recorded_tests(stores: Sequence[Path]) -> tuple[dict[Key, RecordedTest], dict[str, str]]:
    """The results of all stores for each test, and the folder of each project in its newest session."""
    recorded: dict[Key, RecordedTest] = {}
    rootdirs: dict[str, str] = {}
    for path in stores:
        with existing_store(path) as store:
            for session in store.sessions():
                _add_session(recorded, store, session)
                rootdirs[Path(session.rootdir).name] = session.rootdir
    return recorded, rootdirs


def _add_session(recorded: dict[Key, RecordedTest], store: Store, session: SessionInfo) -> None:
    assert session.id is not None
    runs = stored_runs(store, session.id)
    history = History(store.suite(session.id), runs.evidence)
    project = Path(session.rootdir).name
    polluters_of = _reported_polluters(store.report(session.id))
    polluters = {name for names in polluters_of.values() for name in names}
    for test in history.suite.order:
        record = recorded.setdefault((project, test), RecordedTest())
        for setting in (Setting.ORIGINAL, Setting.SHUFFLED):
            tally = history.tally(test, setting)
            record.counts[f"{setting.value}_passed"] += tally.passed
            record.counts[f"{setting.value}_failed"] += tally.failed
        record.alone += history.tally(test, Setting.ALONE)
        record.is_polluter = record.is_polluter or test in polluters
        record.polluters |= polluters_of.get(test, set())
        if test in history.costs.mean_test_s:
            record.sum_of_means_s += history.costs.test_s(test)
            record.hunts += 1
    for vector in mean_vectors(history.suite.order, runs.observations, store.source_features(session.id)):
        if vector.runs:
            values = {name: value for name, value in vector.values.items() if value is not None}
            recorded[project, vector.id].features = values


def _reported_polluters(report: str | None) -> dict[str, set[str]]:
    """The polluters and state-setters of each test in a stored report."""
    tests = json.loads(report)["tests"] if report else []
    return {test["id"]: {*test["polluters"], *test["state_setters"]} for test in tests}


def _measured_features(recorded: Mapping[Key, RecordedTest]) -> dict[str, dict[str, float]]:
    """The features that `flakehound hunt --measure` and `flakehound features` have stored."""
    return {test: record.features for (_project, test), record in recorded.items() if record.features}


def read_features(path: Path) -> dict[str, dict[str, float]]:
    """The features in a file, by test: all columns that contain only numbers."""
    with open_table(path) as reader:
        rows = list(reader)
        if "id" not in (reader.fieldnames or ()):
            raise UsageError(
                f"{str(path)!r} has no column 'id'", remedy="flakehound lint --metrics metrics.csv tests"
            )
    numbers = [
        name
        for name in (reader.fieldnames or ())
        if name != "id" and all(number_in(row[name] or "") is not None for row in rows)
    ]
    return {row["id"]: {name: number_in(row[name]) or 0.0 for name in numbers} for row in rows}


def _rows(
    recorded: Mapping[Key, RecordedTest],
    features: Sequence[Mapping[str, Mapping[str, float]]],
    names: Sequence[str],
) -> Iterator[dict[str, object]]:
    """One row for each test that has all features."""
    for (project, test), record in recorded.items():
        own_features = {name: value for table in features for name, value in features_of(table, test).items()}
        if len(own_features) == len(names):
            yield {"id": test, "project": project, **record.row(), **own_features}


def features_of(table: Mapping[str, Mapping[str, float]], test: str) -> Mapping[str, float]:
    """The features of a test, or else those of its function without parameters."""
    return table.get(test) or table.get(test.partition("[")[0]) or {}


def table_text(columns: Sequence[str], rows: Sequence[Mapping[str, object]]) -> str:
    """The rows as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
