"""The studies of learning on small tables."""

from __future__ import annotations

import json
import random

import pytest
from cli_projects import flakehound_in

pytest.importorskip("sklearn", reason="needs flakehound[learn]")
FOREST = ("--pipelines", "random-forest-25/smote", "--split", "folds")


@pytest.fixture
def table(project):
    """Tests that fail now and then when they are slow; in the form of an export."""
    rng = random.Random(1)
    lines = [
        "id,project,original_passed,original_failed,shuffled_passed,shuffled_failed,polluter,cost_s,size,depth"
    ]
    for number in range(80):
        flaky = number % 5 == 0
        facts = [
            f"t{number}",
            "ab"[number % 2],
            9 if flaky else 10,
            int(flaky),
            10,
            int(flaky or number % 7 == 0),
            0,
        ]
        lines.append(",".join(map(str, [*facts, 0.1, rng.gauss(3 * flaky, 1), rng.random()])))
    (project / "tests.csv").write_text("\n".join(lines) + "\n")
    return "tests.csv"


def test_models_are_judged_and_problems_that_cannot_be_learned_are_said(table, say):
    said = say("study", "models", *FOREST, "--json", "m.json", table)

    assert said.code == 0, said.err
    assert "| nod-vs-rest, random-forest-25/smote" in said.out
    assert "polluter-vs-rest cannot be learned: all 80 tests are negative" in said.out


def test_a_study_goes_on_from_its_journal(table, say, project):
    first = say("study", "models", *FOREST, "--problem", "nod-vs-rest", "--journal", "j.jsonl", table)
    with open(project / "j.jsonl", "a") as file:
        file.write('{"key": "cut sho')

    again = say("study", "models", *FOREST, "--problem", "nod-vs-rest", "--journal", "j.jsonl", table)

    assert "1 of 1 steps are in the journal" in again.err
    assert again.out == first.out


def test_the_number_of_workers_changes_nothing(table, project):
    asked = ("study", "models", *FOREST, "--problem", "nod-vs-rest", "--repeats", "2", table)

    one, two = (flakehound_in(project, *asked, "--jobs", jobs) for jobs in ("1", "2"))

    assert one.code == 0, one.err
    assert one.out == two.out


def test_an_unknown_pipeline_and_a_journal_that_is_none_are_clear_errors(table, say, project):
    (project / "j.jsonl").write_text("nonsense\n")

    assert "'nope' is no pipeline" in say("study", "models", "--pipelines", "nope", table).err
    assert "is no journal of a study" in say("study", "models", *FOREST, "--journal", "j.jsonl", table).err


@pytest.mark.parametrize("study", ["models", "pareto"])
def test_a_study_needs_a_table_or_the_published_ones(say, study):
    said = say("study", study)

    assert said.code == 2
    assert f"try: flakehound study {study} --published" in said.err


@pytest.mark.parametrize("arguments", [("models", "--published"), ("pareto", "--published"), ("policies",)])
def test_where_the_published_tables_are_missing_a_study_says_so(say, monkeypatch, tmp_path, arguments):
    monkeypatch.setenv("FLAKEHOUND_DATA", str(tmp_path))

    said = say("study", *arguments)

    assert said.code == 2
    assert "the published data is not at hand" in said.err


def test_a_front_has_its_points_of_interest(table, say, project):
    said = say("study", "pareto", "--repeats", "1", "--json", "p.json", table)

    told = json.loads((project / "p.json").read_text())
    assert said.code == 0, said.err
    assert told["original"]["detection"] == 1
    assert told["pure_model"]["cost_s"] == pytest.approx(8.0)
    assert told["knee"]["cost_s"] < told["original"]["cost_s"]


def test_metrics_are_ranked_by_their_effect(table, say):
    pytest.importorskip("statsmodels", reason="needs flakehound[study]")

    said = say("study", "metrics", "--problem", "nod-vs-rest", table)

    assert said.code == 0, said.err
    assert said.out.index("| size") < said.out.index("| depth")


def test_a_model_is_explained(table, say, project):
    pytest.importorskip("shap", reason="needs flakehound[study]")

    said = say("study", "explain", "--problem", "nod-vs-rest", "--tests", "20", "--json", "e.json", table)

    told = json.loads((project / "e.json").read_text())
    assert said.code == 0, said.err
    assert told["ranking"][0]["feature"] == "size"
    assert len(told["tests"]) == 20
    assert all(0 <= told["expected"] + sum(one["shap"]) <= 1.01 for one in told["tests"])
