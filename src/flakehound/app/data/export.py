"""Write what stores know of tests as one table."""

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

# The columns of the mapping "flakehound"; features follow.
FACTS = (
    *("id", "project", "original_passed", "original_failed", "shuffled_passed", "shuffled_failed"),
    *("polluter", "cost_s"),
)
PAIR_COLUMNS = ("project", "victim", "polluter")
Key = tuple[str, NodeId]  # project, test


@dataclass(slots=True)
class RecordedTest:
    """What all hunts together saw of one test."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FACTS[2:6], 0))
    alone: Tally = field(default_factory=Tally)
    polluter: bool = False
    polluters: set[str] = field(default_factory=set)  # polluters and state-setters that a report blames for it
    features: dict[str, float] = field(default_factory=dict)  # of the newest hunt that measured it
    seconds: float = 0.0  # of all hunts, each hunt's mean
    hunts: int = 0

    @property
    def mixed(self) -> Tally:
        """Its runs in the original order, and alone, where it both passed and failed that way; else none."""
        failed = self.counts["original_failed"]
        original = Tally(n=failed + self.counts["original_passed"], failed=failed)
        return sum((one for one in (original, self.alone) if one.is_mixed), Tally())

    def row(self) -> dict[str, object]:
        """Its columns."""
        cost_s = round(self.seconds / self.hunts, 6) if self.hunts else 0.0
        return {**self.counts, "polluter": int(self.polluter), "cost_s": cost_s}


def export_table(
    stores: Sequence[Path], feature_files: Sequence[Path], output: Path, pairs: Path | None = None
) -> str:
    """Write the table, and who pollutes whom where that is asked for; gives a sentence on what is in it."""
    check_writable(output, "output")
    check_writable(pairs, "pairs")
    known, _rootdirs = read_recorded_tests(stores)
    features = [_measured(known), *(read_features(path) for path in feature_files)]
    names = list(dict.fromkeys(name for table in features for row in table.values() for name in row))
    rows = list(_rows(known, features, names))
    write_output(output, table_text([*FACTS, *names], rows), "output")
    write_output(pairs, table_text(PAIR_COLUMNS, list(_pairs(known))), "pairs")
    lost = f", {len(known) - len(rows)} left out for want of features" if len(known) > len(rows) else ""
    return f"{len(rows)} tests of {len({key[0] for key in known})} projects, {len(names)} features{lost}: {output}"


def export_shipped_table(output: Path, pairs: Path | None) -> str:
    """Write the table we ship as if it had just been exported; gives a sentence on what is in it."""
    check_writable(output, "output")
    check_writable(pairs, "pairs")
    rows, known = unpack_table(shipped_bytes())
    write_output(output, table_text(list(rows[0]), rows), "output")
    write_output(pairs, table_text(PAIR_COLUMNS, [asdict(pair) for pair in known]), "pairs")
    projects = len({row["project"] for row in rows})
    return f"{len(rows)} tests of {projects} projects, {len(rows[0]) - len(FACTS)} features: {output}"


def _pairs(known: Mapping[Key, RecordedTest]) -> Iterator[dict[str, object]]:
    for (project, test), facts in known.items():
        for polluter in sorted(facts.polluters):
            yield dict(zip(PAIR_COLUMNS, (project, test, polluter), strict=True))


def read_recorded_tests(stores: Sequence[Path]) -> tuple[dict[Key, RecordedTest], dict[str, str]]:
    """What all stores together saw of each test, and the folder of each project as the newest hunt names it."""
    known: dict[Key, RecordedTest] = {}
    rootdirs: dict[str, str] = {}
    for path in stores:
        with existing_store(path) as store:
            for session in store.sessions():
                _take_in(known, store, session)
                rootdirs[Path(session.rootdir).name] = session.rootdir
    return known, rootdirs


def _take_in(known: dict[Key, RecordedTest], store: Store, session: SessionInfo) -> None:
    assert session.id is not None
    runs = stored_runs(store, session.id)
    history = History(store.suite(session.id), runs.evidence)
    project = Path(session.rootdir).name
    polluters = _polluters(store.report(session.id))
    blamed = {name for names in polluters.values() for name in names}
    for test in history.suite.order:
        one = known.setdefault((project, test), RecordedTest())
        for setting in (Setting.ORIGINAL, Setting.SHUFFLED):
            tally = history.tally(test, setting)
            one.counts[f"{setting.value}_passed"] += tally.passed
            one.counts[f"{setting.value}_failed"] += tally.failed
        one.alone += history.tally(test, Setting.ALONE)
        one.polluter = one.polluter or test in blamed
        one.polluters |= polluters.get(test, set())
        if test in history.costs.mean_test_s:
            one.seconds, one.hunts = one.seconds + history.costs.test_s(test), one.hunts + 1
    for vector in mean_vectors(history.suite.order, runs.observations, store.source_features(session.id)):
        if vector.runs:
            values = {name: value for name, value in vector.values.items() if value is not None}
            known[project, vector.id].features = values


def _polluters(report: str | None) -> dict[str, set[str]]:
    """By test, what a kept report names as its polluters or state-setters."""
    tests = json.loads(report)["tests"] if report else []
    return {test["id"]: {*test["polluters"], *test["state_setters"]} for test in tests}


def _measured(known: Mapping[Key, RecordedTest]) -> dict[str, dict[str, float]]:
    """What `flakehound hunt --measure` and `flakehound features` have kept in the stores."""
    return {test: facts.features for (_project, test), facts in known.items() if facts.features}


def read_features(path: Path) -> dict[str, dict[str, float]]:
    """Features by test: every column that holds numbers only."""
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
    known: Mapping[Key, RecordedTest], features: Sequence[Mapping[str, Mapping[str, float]]], names: Sequence[str]
) -> Iterator[dict[str, object]]:
    for (project, test), facts in known.items():
        found = {name: value for table in features for name, value in features_of(table, test).items()}
        if len(found) == len(names):
            yield {"id": test, "project": project, **facts.row(), **found}


def features_of(table: Mapping[str, Mapping[str, float]], test: str) -> Mapping[str, float]:
    """A test's features; those of its function where the table does not know its parameters."""
    return table.get(test) or table.get(test.partition("[")[0]) or {}


def table_text(columns: Sequence[str], rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
