"""`flakehound hunt --policy cannier` without tables of the user's: measured features, default models."""

from __future__ import annotations

import csv
import json
import random
import sys

import pytest
from cli_projects import FEW_TREES, SHOP, flakehound_in, flakehound_with, remedy_in, write_project

from flakehound.app.sessions.stored_runs import stored_runs
from flakehound.features.table import FEATURE_NAMES
from flakehound.store import Store

pytest.importorskip("sklearn", reason="needs flakehound[learn]")

COUNTED = ("--runs", "3", "--shuffles", "1", "--seed", "3")
HEAD = "id,project,original_passed,original_failed,shuffled_passed,shuffled_failed,polluter,cost_s"


@pytest.fixture
def shop(tmp_path):
    return write_project(tmp_path / "shop", SHOP)


def words_of(said):
    return " ".join(said.out.split())


def own_table(folder, features):
    """Tests of one project, NOD where the first feature is large."""
    rng = random.Random(1)
    rows = []
    for number in range(120):
        nod = number % 4 == 0
        values = [f"{rng.random() + nod * (place == 0):.3f}" for place, _name in enumerate(features)]
        counts = "15,5,15,5" if nod else "20,0,20,0"
        rows.append(",".join([f"test_{number}", "mine", counts, "0,0.01", *values]))
    (folder / "mine.csv").write_text("\n".join([",".join([HEAD, *features]), *rows]) + "\n")


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    """A suite whose tests the default models chose among, after the hunt had measured them; and its export."""
    folder = write_project(tmp_path_factory.mktemp("chosen"), SHOP)
    words = ("hunt", "--policy", "cannier", "--measure", *COUNTED, "--json", "report.json")
    said = flakehound_with(FEW_TREES, folder, *words)
    exported = flakehound_in(folder, "data", "export", "tests.csv")
    assert exported.code == 0, exported.err
    with open(folder / "tests.csv", newline="") as file:
        return folder, said, list(csv.DictReader(file))


def test_the_default_models_choose_among_tests_that_the_hunt_has_measured(chosen):
    folder, said, _rows = chosen

    report = json.loads((folder / "report.json").read_text())
    assert said.code == 1, said.err
    assert "measuring the features of 8 tests" in said.err
    assert "other projects; its figures are of projects that it had not seen" in words_of(said)
    assert "of 8 tests are rerun" in words_of(said)
    assert "of the NOD tests were taken for steady" in words_of(said)
    assert {test["kind"] for test in report["tests"]} & {"nod", "victim", "brittle", "unresolved"}


def test_what_was_measured_for_the_choice_is_exported_and_not_measured_again(chosen):
    folder, _said, rows = chosen

    assert len(rows) == 8
    assert all(float(row["run_time_s"]) > 0 and float(row["test_lines_of_code"]) > 0 for row in rows)
    with Store.open(folder / ".flakehound" / "flakehound.db") as store:
        (session,) = store.sessions()
        looks = stored_runs(store, session.id).observations
    assert sum(bool(record.measures) for record in looks) == 3


def test_features_of_a_file_are_taken_in_place_of_measured_ones(chosen, shop):
    _folder, _said, rows = chosen
    names = ["id", *(name for name in FEATURE_NAMES if name != "covered_changes")]
    with open(shop / "here.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)

    said = flakehound_with(FEW_TREES, shop, "hunt", "--policy", "cannier", "--features", "here.csv", *COUNTED)

    assert said.code == 1, said.err
    assert "measuring the features" not in said.err
    assert "of 8 tests are rerun" in words_of(said)


def test_a_table_of_the_users_is_learned_from_in_place_of_ours(shop):
    own_table(shop, ["run_time_s", "assertions"])

    said = flakehound_with(FEW_TREES, shop, "hunt", "--policy", "cannier", "--training", "mine.csv", *COUNTED)

    assert said.code == 1, said.err
    assert "of 8 tests are rerun" in words_of(said)
    assert "other projects" not in words_of(said)


def test_a_feature_that_no_hunt_measures_needs_a_file(project, say):
    own_table(project, ["run_time_s", "luck"])

    said = say("hunt", "--policy", "cannier", "--training", "mine.csv")

    assert said.code == 2
    assert "luck, which 'mine.csv' has, cannot be measured in a hunt: --features is needed" in said.err
    assert remedy_in(said) == "flakehound hunt --policy cannier"
    assert not (project / ".flakehound").exists()


def test_a_file_without_the_features_of_the_default_models_is_refused(project, say):
    (project / "here.csv").write_text("id,assertions\ntest_calm.py::test_one,1\n")

    said = say("hunt", "--policy", "cannier", "--features", "here.csv")

    assert said.code == 2
    assert "'here.csv' lacks the features read_count, write_count" in said.err
    assert remedy_in(said) == "flakehound hunt --policy index"


def test_the_table_of_the_default_models_can_be_looked_at(say, project):
    said = say("data", "facts", "--pairs", "pairs.csv", "tests.csv")

    assert said.code == 0, said.err
    assert "17 features: tests.csv" in said.out
    assert (project / "pairs.csv").read_text().startswith("project,victim,polluter\n")
    checked = say("data", "check", "tests.csv")
    assert "polluter-vs-rest" in checked.out
    assert "cannot be learned" not in checked.out.replace("labelled          cannot be learned", "")


def test_where_the_extra_is_missing_the_error_is_the_pip_command(say, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name, package=None: None)

    said = say("hunt", "--policy", "cannier")

    assert said.code == 2
    assert "python -m pip install 'flakehound[learn]'" in said.err
