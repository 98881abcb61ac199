"""`flakehound train` on a real store, on tables, and on what is wrong with them; lint with what it wrote."""

from __future__ import annotations

import csv
import json
import re
from functools import partial
from textwrap import dedent

import pytest
from cli_projects import flakehound_in, parsed, remedy_in

from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import CollectedTest, Isolation, Setting, Suite
from flakehound.core.records import RunRecord
from flakehound.store import SessionInfo, Store

SOURCE = """
    import random

    SEEN = []

    def test_luck():
        assert random.random() > 0.5

    def test_seen():
        assert SEEN == []

    def test_see():
        SEEN.append(1)

    def test_steady():
        assert 1 + 1 == 2
"""
NAMES = ("test_luck", "test_seen", "test_see", "test_steady", "test_gone")
TESTS = tuple(NodeId(f"test_shop.py::{name}") for name in NAMES)


@pytest.fixture
def project(tmp_path):
    """Hunted: the first test is NOD, the second a victim."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "test_shop.py").write_text(dedent(SOURCE))
    with Store.open(folder / ".flakehound" / "flakehound.db") as store:
        info = SessionInfo(rootdir=str(folder), python="3.12", pytest="8", base_seed=1, started_s=1)
        suite = Suite(tests=tuple(CollectedTest(id=one, module="test_shop.py", parent="") for one in TESTS))
        session = store.begin(info, suite)
        store.append(session.id, [run(Setting.ORIGINAL, "FPPPP"), *[run(Setting.ORIGINAL, "PPPPP")] * 15])
        store.append(session.id, [run(Setting.SHUFFLED, "PFPPP"), *[run(Setting.SHUFFLED, "PPPPP")] * 15])
    return folder


@pytest.fixture
def elsewhere(project):
    """In a process in which coverage does not watch every sum of a fit on the default data."""
    return partial(flakehound_in, project)


def run(setting, letters):
    return RunRecord(
        order=TESTS,
        outcomes=tuple(Outcome(letter) for letter in letters),
        durations_s=(0.01,) * len(TESTS),
        setting=setting,
        isolation=Isolation.SPAWN,
        why="",
    )


def scores(said):
    told = json.loads(said.out)
    return told["model"], {test["id"].partition("::")[2]: test["score"] for test in told["tests"]}


def test_a_store_teaches_a_model_that_lint_uses_from_then_on(say, elsewhere):
    before = scores(say("lint", "--format", "json"))

    said = elsewhere("train")

    assert said.code == 0, said.err
    assert "Learned from 4 tests of 1 project of yours, 2 of them flaky" in said.out
    assert "Left out: 1 test whose source is not at hand." in said.out
    name, after = scores(say("lint", "--format", "json"))
    assert (before[0], name) == ("default", ".flakehound/model.json")
    assert after["test_luck"] > before[1]["test_luck"]
    assert "by the model in .flakehound/model.json" in say("lint").out


def test_the_rows_of_a_store_give_the_same_model_as_a_table(say, project):
    say("train", "--without-default", "--rows", "rows.csv", "--out", "a.json")
    with open(project / "rows.csv", newline="") as file:
        rows = {row["id"].partition("::")[2]: row for row in csv.DictReader(file)}
    said = say("train", "--without-default", "--data", "rows.csv", "--out", "b.json")

    assert said.code == 0, said.err
    labels = {name: (row["nod"], row["order_dependent"]) for name, row in rows.items()}
    assert labels == {
        "test_luck": ("1", "0"),
        "test_seen": ("0", "1"),
        "test_see": ("0", "0"),
        "test_steady": ("0", "0"),
    }
    assert (project / "a.json").read_text() == (project / "b.json").read_text()


def test_tests_that_hardly_ran_teach_nothing_but_count_in_their_file(say, project):
    said = say("train", "--least-runs", "100", "--rows", "rows.csv", "--without-default")

    assert "Learned from 2 tests of 1 project of yours" in said.out
    assert "Left out: 2 tests that never flaked in fewer than 100 runs." in said.out
    with open(project / "rows.csv", newline="") as file:
        assert [row["nod"] for row in csv.DictReader(file)] == ["1", "0", "", ""]


def test_one_sort_of_tests_alone_is_an_error_with_a_way_out(say, project):
    say("train", "--without-default", "--rows", "rows.csv", "--out", "a.json")
    text = (project / "rows.csv").read_text().replace("shop,1,0", "shop,0,0")
    (project / "rows.csv").write_text(text)

    said = say("train", "--without-default", "--data", "rows.csv")

    assert said.code == 3
    assert "none is nod" in said.err
    assert remedy_in(said) == "flakehound train --data rows.csv"
    parsed(remedy_in(said))


def test_a_table_without_the_columns_is_told_with_those_it_has(say, project):
    (project / "bad.csv").write_text("id,project,nod\nx,y,1\n")

    said = say("train", "--data", "bad.csv")

    assert said.code == 3
    assert "'bad.csv' has no column 'order_dependent', 'rules'" in said.err
    assert "its columns: id, project, nod" in said.err


def test_no_store_is_told_with_the_hunt_that_makes_one(say, project):
    (project / ".flakehound" / "flakehound.db").unlink()

    said = say("train")

    assert said.code != 0
    assert remedy_in(said) == "flakehound hunt"


def test_a_model_that_cannot_be_written_is_told_with_another_place(say, project):
    (project / "file").write_text("")

    said = say("train", "--without-default", "--out", "file/model.json")

    assert said.code == 2
    assert "cannot write 'file/model.json'" in said.err
    parsed(remedy_in(said))


def test_a_damaged_model_stops_lint_with_a_way_to_do_without(say, project):
    (project / ".flakehound" / "model.json").write_text("{}")

    said = say("lint")

    assert said.code == 2
    assert "is not a model that this flakehound can use" in said.err
    assert remedy_in(said) == "flakehound lint --score rules"
    assert "by the weights of the rules" in say(*remedy_in(said).split()[1:]).out


def test_json_says_where_the_score_comes_from(say):
    model, rules = (json.loads(say("lint", "--format", "json", "--score", one).out) for one in ("model", "rules"))

    assert (model["schema"], model["score_from"], model["model"]) == ("flakehound/lint/1", "model", "default")
    assert (rules["schema"], rules["score_from"], rules["model"]) == ("flakehound/lint/1", "rules", None)
    (luck,) = [test for test in model["tests"] if test["id"].endswith("test_luck")]
    assert 0 < luck["nod"] < luck["score"] < 1
    assert {test["nod"] for test in rules["tests"]} == {None}


def test_a_part_of_a_file_gets_the_scores_of_the_whole(say):
    _model, whole = scores(say("lint", "--format", "json"))
    _model, part = scores(say("lint", "--format", "json", "test_shop.py::test_luck"))

    assert part == {"test_luck": whole["test_luck"]}


def test_progress_in_a_pipe_is_plain_lines(say):
    said = say("train", "--without-default")

    assert said.err == "5 tests of 1 project, reading their source ...\nfitting a model to 4 tests ...\n"


@pytest.mark.parametrize("no_color", [False, True])
def test_progress_on_a_terminal_is_a_bar_that_is_removed(say, terminal, environment, no_color):
    if no_color:
        environment.setenv("NO_COLOR", "1")

    with terminal.attached():
        said = say("train", "--without-default")

    shown = terminal.received()
    assert said.code == 0
    assert re.search(r"reading stores.* 0 of 1", shown)
    assert re.search(r"reading test files.* 1 of 1", shown)
    assert "\x1b[?25h" in shown  # the cursor is back
    assert "Learned from 4 tests of 1 project of yours" in shown
    assert bool(re.search(r"\x1b\[[\d;]*3\d", shown)) is not no_color  # a foreground colour
