"""`flakehound calls`, the causes that a hunt names, and `flakehound study calls`."""

from __future__ import annotations

import csv
import io
import json

import pytest
from cli_projects import flakehound_in, paste, remedy_in, write_project

PROJECT = {
    "helpers.py": "import time\n\ndef wait():\n    time.sleep(0)\n",
    "shop.py": "class Client:\n    def fetch(self):\n        return 1\n",
    "test_it.py": """
        import os
        import random

        import helpers
        import pytest
        import shop

        @pytest.fixture
        def price():
            return len("abc")

        def unlucky():
            return 1

        def test_waits(price):
            for _ in range(3):
                helpers.wait()

        def test_luck():
            if random.random() < 0.5:
                unlucky()
                assert False

        def test_fetches():
            shop.Client().fetch()

        def test_dies():
            if os.environ.get("DIES"):
                os._exit(3)

        def test_calm():
            assert 1 + 1 == 2
    """,
    "pyproject.toml": '[tool.flakehound.calls.functions]\nnetwork = ["shop:Client.*"]\n',
}


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    folder = write_project(tmp_path_factory.mktemp("traced"), PROJECT)
    said = flakehound_in(folder, "calls", "-q", "--csv", "calls.csv", "--json", "calls.json", "--seed", "1")
    assert said.code == 0, said.err
    assert said.err == ""
    return folder, said


def rows_of(folder):
    return list(csv.DictReader(io.StringIO((folder / "calls.csv").read_text())))


def test_the_table_has_the_columns_of_the_contract_and_a_row_per_function(traced):
    rows = rows_of(traced[0])

    assert list(rows[0]) == ["id", "phase", "file", "class", "function", "kind", "count"]
    waits = [tuple(row.values())[1:] for row in rows if row["id"] == "test_it.py::test_waits"]
    assert ("call", "helpers.py", "", "wait", "python", "3") in waits
    assert ("call", "<time>", "", "sleep", "c", "3") in waits
    assert any(phase == "setup" and function == "len" for phase, _file, _class, function, *_rest in waits)


def test_likely_causes_are_told_with_the_line_that_reaches_them(traced):
    _folder, said = traced

    assert "async-wait: calls time.sleep at helpers.py:4 in wait" in said.out
    assert "randomness: calls Random.random at test_it.py:21 in test_luck" in said.out
    assert "5 tests traced" in said.out


def test_functions_of_the_projects_own_settings_count(traced):
    told = json.loads((traced[0] / "calls.json").read_text())

    causes = {test["id"].rpartition("::")[2]: [one["cause"] for one in test["causes"]] for test in told["tests"]}
    assert told["schema"] == "flakehound/calls/1"
    assert causes["test_fetches"] == ["network"]
    assert causes["test_calm"] == []


def test_after_a_test_that_ends_its_process_the_others_are_traced_all_the_same(tmp_path):
    folder = write_project(tmp_path, PROJECT)

    said = flakehound_in(folder, "calls", "--mode", "characteristic", DIES="1")

    assert said.code == 0
    assert "4 tests traced" in said.out
    assert "1 test ended the process" in said.out
    assert "1 tests are left" in said.err


def test_settings_that_cannot_be_understood_are_an_error_with_a_remedy(tmp_path):
    settings = '[tool.flakehound.calls.functions]\nluck = ["x"]\n'
    folder = write_project(tmp_path, {**PROJECT, "pyproject.toml": settings})

    said = flakehound_in(folder, "calls")

    assert said.code == 2
    assert "'luck' is not a cause" in said.err
    assert paste(folder, remedy_in(said)).code == 0


@pytest.fixture(scope="module")
def hunted(tmp_path_factory):
    folder = write_project(tmp_path_factory.mktemp("hunted"), PROJECT)
    options = ("--runs", "6", "--shuffles", "0", "--technique", "rerun", "--seed", "5", "--json", "report.json")
    said = flakehound_in(folder, "hunt", *options, "test_it.py::test_luck", "test_it.py::test_calm")
    assert said.code == 1, said.err
    return folder, said


def test_a_hunt_names_causes_and_where_passing_and_failing_runs_part(hunted):
    folder, said = hunted
    luck = next(one for one in json.loads((folder / "report.json").read_text())["tests"] if "luck" in one["id"])

    assert "randomness" in {one["cause"] for one in luck["causes"]}
    assert any("calls Random.random at test_it.py:21 in test_luck" in one["evidence"] for one in luck["causes"])
    assert any("part at unlucky (test_it.py), which only the failing one calls" in one for one in luck["evidence"])
    assert "Random.random" in " ".join(said.out.split())


def test_explain_tells_the_same_causes_later(hunted):
    folder, _said = hunted

    said = flakehound_in(folder, "explain", "test_luck")

    assert "calls Random.random at test_it.py:21 in test_luck" in said.out
    assert "which only the failing one calls" in said.out


def test_the_study_takes_the_last_trace_and_the_last_hunt(hunted):
    folder, _said = hunted
    assert flakehound_in(folder, "calls").code == 0

    said = flakehound_in(folder, "study", "calls", "--json", "study.json")

    told = json.loads((folder / "study.json").read_text())
    ours = next(one for one in told["approaches"] if one["name"] == "flakehound's set")
    assert said.code == 0, said.err
    assert (told["tests"], told["flaky"]) == (5, 1)
    assert ours["flaky_share"] == 1.0
    assert "selected C functions" in said.out


def test_a_study_of_files_needs_labels_and_their_columns(traced, tmp_path):
    folder, _said = traced
    (folder / "labels.csv").write_text("id,flaky,cause\ntest_it.py::test_luck,1,luck\n")

    alone = flakehound_in(folder, "study", "calls", "--calls", "calls.csv")
    wrong = flakehound_in(folder, "study", "calls", "--calls", "calls.csv", "--labels", "labels.csv")
    labels = "id,flaky,cause\ntest_it.py::test_luck,1,randomness\ntest_it.py::test_calm,0,\n"
    (folder / "labels.csv").write_text(labels)
    right = flakehound_in(
        folder, "study", "calls", "--calls", "calls.csv", "--labels", "labels.csv", "--folds", "2"
    )

    assert (alone.code, wrong.code, right.code) == (2, 2, 0)
    assert "belong together" in alone.err
    assert "'luck' is not a cause" in wrong.err
    assert "5 tests, 1 flaky" in right.out
    assert "flakehound's set                           100.0 %" in right.out
