"""`flakehound data` on a real store and on tables that are wrong."""

from __future__ import annotations

import csv
import gzip
import json

import pytest

from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import CollectedTest, Isolation, Setting, Suite
from flakehound.core.records import RunRecord
from flakehound.store import SessionInfo, Store

pytest.importorskip("numpy", reason="needs flakehound[learn]")


NAMES = ("test_ban", "test_victim", "test_steady", "test_wrong", "test_shapes[1]")
TESTS = tuple(NodeId(f"test_shop.py::{name}") for name in NAMES)


@pytest.fixture
def hunted(project):
    """A store with two hunts of one project: the victim fails where the polluter came first."""
    with Store.open(project / ".flakehound" / "flakehound.db") as store:
        for seed in (1, 2):
            info = SessionInfo(rootdir="/work/shop", python="3.12", pytest="8", base_seed=seed, started_s=seed)
            suite = Suite(tests=tuple(CollectedTest(id=one, module="test_shop.py", parent="") for one in TESTS))
            session = store.begin(info, suite)
            store.append(session.id, [run(Setting.ORIGINAL, "PPPFP"), run(Setting.SHUFFLED, "PFPFP")])
            told = {"tests": [{"id": TESTS[1], "polluters": [TESTS[0]], "state_setters": []}]}
            store.save_report(session.id, json.dumps(told))
    return project


def run(setting, letters):
    outcomes = tuple(Outcome(letter) for letter in letters)
    return RunRecord(
        order=TESTS,
        outcomes=outcomes,
        durations_s=(0.25,) * len(TESTS),
        setting=setting,
        isolation=Isolation.SPAWN,
        why="",
    )


@pytest.fixture
def rows(hunted, say):
    metrics = "id,path,size\n" + "".join(f"{one.partition('[')[0]},x.py,{n}\n" for n, one in enumerate(TESTS))
    (hunted / "metrics.csv").write_text(metrics)
    said = say("data", "export", "--features", "metrics.csv", "tests.csv")
    assert said.code == 0, said.err
    with open(hunted / "tests.csv", newline="") as file:
        return {row["id"].partition("::")[2]: row for row in csv.DictReader(file)}


def test_an_export_can_tell_who_pollutes_whom(rows, hunted, say):
    said = say("data", "export", "--pairs", "pairs.csv", "tests.csv")

    assert said.code == 0, said.err
    assert (hunted / "pairs.csv").read_text() == f"project,victim,polluter\nshop,{TESTS[1]},{TESTS[0]}\n"


def test_an_export_adds_up_the_counts_of_all_hunts(rows):
    assert tuple(rows) == NAMES
    victim, wrong = rows["test_victim"], rows["test_wrong"]
    assert (victim["original_passed"], victim["original_failed"], victim["shuffled_failed"]) == ("2", "0", "2")
    assert (wrong["original_passed"], wrong["original_failed"]) == ("0", "2")
    assert [row["polluter"] for row in rows.values()] == ["1", "0", "0", "0", "0"]
    assert {row["cost_s"] for row in rows.values()} == {"0.25"}
    assert {row["project"] for row in rows.values()} == {"shop"}


def test_features_of_another_file_are_joined_by_id_and_texts_are_none(rows):
    assert rows["test_steady"]["size"] == "2.0"
    assert rows["test_shapes[1]"]["size"] == "4.0"
    assert "path" not in rows["test_steady"]


def test_what_was_exported_can_be_checked(hunted, say):
    assert say("data", "export", "tests.csv").code == 0

    said = say("data", "check", "tests.csv")

    assert said.code == 0
    assert "tests.csv: 5 tests of 1 project, 0 features" in said.out
    assert "polluter-vs-rest  cannot be learned: one class has a single test" in said.out
    assert "nod-vs-rest       cannot be learned: all 5 tests are negative" in said.out


def test_tests_without_features_are_left_out_and_said(hunted, say):
    (hunted / "metrics.csv").write_text(f"id,size\n{TESTS[0]},1\n")

    said = say("data", "export", "--features", "metrics.csv", "tests.csv")

    assert "1 tests of 1 projects, 1 features, 4 left out because features are missing" in said.out


def test_a_packed_table_is_read_with_columns_from_a_file(tmp_path, say):
    with gzip.open(tmp_path / "mine.csv.gz", "wt") as file:
        file.write("name,repo,bad,size\nt1,p,1,1\nt2,p,0,2\nt3,p,1,1\nt4,p,0,2\n")
    (tmp_path / "columns.json").write_text('{"id": "name", "project": "repo", "label": "bad"}')

    said = say("data", "check", "--columns", str(tmp_path / "columns.json"), str(tmp_path / "mine.csv.gz"))

    assert "labelled          2 of 4 tests positive, in 1 project" in said.out


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"id,project\nt,p\n", "has no column 'polluter'"),
        (b"\xff\xfe\x00", "is not a table"),
        (b"", "has no column 'id'"),
    ],
)
def test_a_table_that_is_none_is_a_clear_error(tmp_path, say, content, words):
    (tmp_path / "bad.csv").write_bytes(content)

    said = say("data", "check", str(tmp_path / "bad.csv"))

    assert said.code in (2, 3)
    assert words in said.err
    assert "Traceback" not in said.err


def test_a_missing_table_or_mapping_is_a_clear_error(tmp_path, say):
    assert "cannot read the table" in say("data", "check", str(tmp_path / "none.csv")).err
    assert "neither a known mapping" in say("data", "check", "--columns", "nope", str(tmp_path / "none.csv")).err


def test_features_without_ids_are_refused(hunted, say):
    (hunted / "f.csv").write_text("name,size\nt,1\n")

    said = say("data", "export", "--features", "f.csv", "o.csv")

    assert said.code == 2
    assert "has no column 'id'" in said.err
