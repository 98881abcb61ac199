"""Mean feature vectors, the order of the columns, and features in the store."""

from __future__ import annotations

import csv
import io

import pytest

from flakehound.core.measurements import Measures
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import CollectedTest, Isolation, Setting, Suite
from flakehound.core.records import RunRecord
from flakehound.features.table import COLUMNS, FEATURES, STATIC_FEATURES
from flakehound.features.vectors import mean_vectors
from flakehound.report.features_table import FeatureColumn, FeatureReport, as_csv, as_text
from flakehound.store import SessionCommand, SessionInfo, SessionSettings, Store

ONE, OTHER = NodeId("test_a.py::TestB::test_c[x::y-1]"), NodeId("test_a.py::test_d")
SOURCE = {"test_a.py::TestB::test_c": dict.fromkeys(STATIC_FEATURES, 2.0)}


def run_with(measures: dict[int, Measures]) -> RunRecord:
    return RunRecord(
        order=(ONE, OTHER),
        outcomes=(Outcome.PASSED, Outcome.PASSED),
        durations_s=(0.0, 0.0),
        setting=Setting.ORIGINAL,
        isolation=Isolation.FORK,
        why="features",
        measures=measures,
    )


RUNS = [
    run_with({0: Measures(read_count=1, covered_lines=10), 1: Measures(read_count=5)}),
    run_with({0: Measures(read_count=4, covered_lines=20)}),
]


def test_the_columns_are_those_of_the_contract():
    assert ", ".join(COLUMNS) == (
        "id, read_count, write_count, run_time_s, wait_time_s, context_switches, covered_lines, "
        "source_covered_lines, covered_changes, max_threads, max_children, max_memory_bytes, ast_depth, "
        "assertions, external_modules, halstead_volume, cyclomatic_complexity, test_lines_of_code, maintainability"
    )


def test_a_feature_is_the_mean_of_the_runs_in_which_it_was_measured():
    one, other = mean_vectors((ONE, OTHER), RUNS, SOURCE)

    assert (one.runs, one.values["read_count"], one.values["covered_lines"]) == (2, 2.5, 15)
    assert (other.runs, other.values["read_count"], other.values["covered_lines"]) == (1, 5, None)


def test_a_parametrised_test_has_the_features_of_its_function():
    one, other = mean_vectors((ONE, OTHER), RUNS, SOURCE)

    assert one.values["ast_depth"] == 2.0
    assert other.values["ast_depth"] is None


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store" / "flakehound.db"


def store_runs(path) -> int:
    """Store the runs in a new session; returns its id."""
    suite = Suite(
        tests=tuple(CollectedTest(id=test, module="test_a.py", parent="test_a.py") for test in (ONE, OTHER))
    )
    settings = SessionSettings(command=SessionCommand.FEATURES)
    info = SessionInfo(rootdir="/p", python="3", pytest="8", base_seed=1, started_s=1.0, settings=settings)
    with Store.open(path) as store:
        session_id = store.begin(info, suite).id
        assert session_id is not None
        store.append(session_id, [*RUNS, run_with({})])
        store.save_source_features(session_id, SOURCE)
    return session_id


def test_the_store_returns_the_measured_features(path):
    session_id = store_runs(path)

    with Store.open(path) as store:
        records = list(store.records(session_id))
        measured = list(store.measured_records(session_id))
        source = store.source_features(session_id)

    assert [dict(record.measures) for record in records] == [dict(run.measures) for run in [*RUNS, run_with({})]]
    assert [dict(record.measures) for record in measured] == [dict(run.measures) for run in RUNS]
    assert source == SOURCE


def test_a_merge_copies_the_features_once(path, tmp_path):
    store_runs(path)
    with Store.open(tmp_path / "other" / "flakehound.db") as store:
        store.merge(path)
        store.merge(path)
        (session,) = store.sessions()
        records = list(store.records(session.id))
        source = store.source_features(session.id)

    assert [bool(record.measures) for record in records] == [True, True, False]
    assert source == SOURCE


def test_measured_sessions_are_neither_hunts_nor_plain_runs(path):
    store_runs(path)

    with Store.open(path) as store:
        assert store.latest_hunt("/p") is None
        assert store.plain_runs("/p", 10) == []


def a_report() -> FeatureReport:
    return FeatureReport(
        columns=tuple(FeatureColumn(name=feature.name, unit=feature.unit) for feature in FEATURES),
        tests={vector.id: vector.values for vector in mean_vectors((ONE, OTHER), RUNS, SOURCE)},
        runs=2,
        commits=75,
        seed=1,
    )


def test_unknown_features_are_empty_in_the_csv():
    one, other = csv.DictReader(io.StringIO(as_csv(a_report())))

    assert (one["id"], one["read_count"], one["ast_depth"]) == (ONE, "2.5", "2")
    assert (other["covered_lines"], other["ast_depth"]) == ("", "")


def test_the_text_names_the_test_with_the_largest_value():
    lines = as_text(a_report(), None).splitlines()

    assert lines[0] == "2 tests, mean of 2 measured runs"
    assert any(line.split()[0] == "read_count" and line.endswith(OTHER) for line in lines if line)
    assert lines[-1] == "every figure: flakehound features --csv features.csv"
