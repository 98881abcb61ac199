"""The studies of learning on small tables."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from cli_projects import flakehound_in

from flakehound.app.studies import explain, pareto

pytest.importorskip("sklearn", reason="needs flakehound[learn]")
PAIRWISE = ("study", "pareto", "--technique", "pairwise", "--repeats", "1")
FOREST = ("--pipelines", "random-forest-25/smote", "--split", "folds")


HEAD = "id,project,original_passed,original_failed,shuffled_passed,shuffled_failed,polluter,cost_s,size,depth"


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch):
    """The studies' own forests, in this process smaller than a user's."""
    for study in (explain, pareto):
        monkeypatch.setattr(study, "PIPELINE", replace(study.PIPELINE, trees=20))


@pytest.fixture
def table(project):
    """Tests that fail now and then when they are slow; in the form of an export."""
    return written(project, polluters=())


def written(project, polluters):
    """Every fifth test is NOD, every seventh a victim; victims are large as well, polluters deep."""
    rng = random.Random(1)
    lines = [HEAD]
    for number in range(80):
        flaky, victim, polluter = number % 5 == 0, number % 7 == 0, number in polluters
        counts = [9 if flaky else 10, int(flaky), 10, int(flaky or victim), int(polluter)]
        features = [rng.gauss(3 * flaky + 2 * victim, 1), rng.random() + 2 * polluter]
        lines.append(",".join(map(str, [f"t{number}", "ab"[number % 2], *counts, 0.1, *features])))
    (project / "tests.csv").write_text("\n".join(lines) + "\n")
    return "tests.csv"


@pytest.fixture
def paired(project):
    """The same with four polluters, and a file of pairs, one of which is of a test that nobody knows."""
    pairs = ["a,t14,t8", "a,t28,t8", "a,t28,t48", "b,t7,t33", "b,t21,t33", "b,t21,t61", "b,t21,gone"]
    (project / "pairs.csv").write_text("\n".join(["project,victim,polluter", *pairs]) + "\n")
    return written(project, polluters=(8, 48, 33, 61))


def test_models_are_judged_and_problems_that_cannot_be_learned_are_said(table, say):
    said = say("study", "models", *FOREST, "--json", "m.json", table)

    assert said.code == 0, said.err
    assert "| nod-vs-rest, random-forest-25/smote" in said.out
    assert "polluter-vs-rest cannot be learned: all 80 tests are negative" in said.out


def test_pipelines_are_ranked_over_projects_and_compared_by_what_they_find(table, say, project):
    asked = ("--pipelines", "decision-tree/none,naive-bayes/none", "--draws", "1", "--split", "folds")

    said = say("study", "models", *asked, "--problem", "nod-vs-rest", "--json", "m.json", table)

    (told,) = json.loads((project / "m.json").read_text())["comparisons"]
    assert said.code == 0, said.err
    assert "Nemenyi ranks by F1, nod-vs-rest, folds: 2 projects with a positive test" in said.out
    assert sum(one["rank"] for one in told["ranks"]["pipelines"]) == 3
    (pair,) = told["overlap"]["pairs"]
    assert {pair["first"], pair["second"]} == {"decision-tree/none", "naive-bayes/none"}
    assert pair["both"] + pair["first_alone"] + pair["second_alone"] == pytest.approx(1, abs=1e-3)


def test_a_study_goes_on_from_its_journal(table, say, project):
    first = say("study", "models", *FOREST, "--problem", "nod-vs-rest", "--journal", "j.jsonl", table)
    with open(project / "j.jsonl", "a") as file:
        file.write('{"key": "cut sho')

    again = say("study", "models", *FOREST, "--problem", "nod-vs-rest", "--journal", "j.jsonl", table)

    assert "1 of 1 steps are in the journal" in again.err
    assert again.out == first.out


@pytest.mark.slow
def test_the_number_of_workers_changes_nothing(table, project):
    asked = ("study", "models", *FOREST, "--problem", "nod-vs-rest", "--repeats", "2", table)

    one, two = (flakehound_in(project, *asked, "--jobs", jobs) for jobs in ("1", "2"))

    assert one.code == 0, one.err
    assert one.out == two.out


def test_an_unknown_pipeline_and_a_journal_that_is_none_are_clear_errors(table, say, project):
    (project / "j.jsonl").write_text("nonsense\n")

    assert "'nope' is not a pipeline" in say("study", "models", "--pipelines", "svm/none,nope", table).err
    assert "is not a journal of a study" in say("study", "models", *FOREST, "--journal", "j.jsonl", table).err


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
    assert "the published data is missing" in said.err


def test_a_front_has_its_points_of_interest(table, say, project):
    said = say("study", "pareto", "--repeats", "1", "--json", "p.json", table)

    told = json.loads((project / "p.json").read_text())
    assert said.code == 0, said.err
    assert told["original"]["detection"] == 1
    assert told["pure_model"]["cost_s"] == pytest.approx(8.0)
    assert told["knee"]["cost_s"] < told["original"]["cost_s"]


def test_two_models_choose_the_pairs_that_are_run(paired, say, project):
    said = say(*PAIRWISE, "--pairs", "pairs.csv", "--json", "p.json", paired)

    told = json.loads((project / "p.json").read_text())
    assert said.code == 0, said.err
    # eq. 8 for two projects of 40 tests that take 4 s each
    assert told["original"]["cost_s"] == pytest.approx(2 * (2 * 40 * 4.0))
    assert told["original"]["detection"] == 1
    assert (told["pairs"], told["pairs_known"], told["pairs_left_out"]) == (6, True, 1)
    assert told["knee"]["detection"] > 0.5
    assert told["knee"]["cost_s"] < 0.3 * told["original"]["cost_s"]
    assert told["pure_model"] is None
    assert "so none decides alone" in said.out


def test_without_pairs_each_polluter_counts_with_each_victim_of_its_project(paired, say, project):
    pytest.importorskip("matplotlib", reason="needs flakehound[study]")

    said = say(*PAIRWISE, "--json", "p.json", "--plot", "front.png", paired)

    told = json.loads((project / "p.json").read_text())
    victims = [number for number in range(80) if number % 7 == 0 and number % 5 != 0]
    assert told["pairs"] == 2 * len(victims)
    assert "note: the pairs are not known" in said.out
    assert (project / "front.png").read_bytes().startswith(b"\x89PNG")


def test_a_sweep_of_pairs_says_everything_that_the_table_lacks(project, say):
    (project / "bare.csv").write_text("id,project,passed,failed,size\n" + "t1,a,1,0,3\nt2,a,1,1,4\n")
    (project / "columns.json").write_text('{"original_passed": ["passed"], "original_failed": ["failed"]}')

    said = say(*PAIRWISE, "--columns", "columns.json", "bare.csv")

    assert said.code == 3
    assert "no outcome counts of shuffled orders" in said.err
    assert "no column that labels polluters, no column of costs" in said.err


@pytest.mark.parametrize(
    ("arguments", "words", "remedy"),
    [
        (("--pairs", "tests.csv", "--technique", "pairwise"), "has no column 'victim'", "data export --pairs"),
        (("--pairs", "pairs.csv"), "--pairs says nothing about rerun", "study pareto --technique pairwise"),
        (("--plot", "p.banana"), "has no known suffix of a picture", "study pareto --plot p.png"),
        (("--plot", "missing/p.png"), "cannot write", "study pareto --plot flakehound.png"),
    ],
)
def test_what_a_sweep_cannot_do_is_said_with_a_remedy_that_can(paired, say, arguments, words, remedy):
    if "--plot" in arguments:
        pytest.importorskip("matplotlib", reason="needs flakehound[study]")

    said = say("study", "pareto", *arguments, paired)

    assert said.code == 2
    assert words in said.err
    assert f"try: flakehound {remedy}" in said.err


def test_metrics_are_ranked_by_their_effect(table, say):
    pytest.importorskip("statsmodels", reason="needs flakehound[study]")

    said = say("study", "metrics", "--problem", "nod-vs-rest", table)

    assert said.code == 0, said.err
    assert said.out.index("| size") < said.out.index("| depth")


@pytest.mark.parametrize("study", [["metrics"], ["explain", "--tests", "5"]])
def test_without_a_label_the_first_problem_that_can_be_learned_is_meant(table, say, study):
    pytest.importorskip("statsmodels", reason="needs flakehound[study]")
    pytest.importorskip("shap", reason="needs flakehound[study]")

    said = say("study", *study, table)

    assert said.code == 0, said.err
    assert "nod-vs-rest" in said.out


def test_a_problem_that_cannot_be_learned_is_refused_with_one_that_can(table, say):
    pytest.importorskip("statsmodels", reason="needs flakehound[study]")

    said = say("study", "metrics", "--problem", "labelled", table)

    assert said.code == 2
    assert "has no label" in said.err
    assert f"try: flakehound study metrics --problem nod-vs-rest {table}" in said.err


def test_a_model_is_explained(table, say, project):
    pytest.importorskip("shap", reason="needs flakehound[study]")

    pytest.importorskip("matplotlib", reason="needs flakehound[study]")
    files = ("--json", "e.json", "--plot", "e.png")

    said = say("study", "explain", "--problem", "nod-vs-rest", "--tests", "20", *files, table)

    told = json.loads((project / "e.json").read_text())
    assert said.code == 0, said.err
    assert (project / "e.png").read_bytes().startswith(b"\x89PNG")
    assert told["ranking"][0]["feature"] == "size"
    assert len(told["tests"]) == 20
    assert all(0 <= told["expected"] + sum(one["shap"]) <= 1.01 for one in told["tests"])


def test_retraining_says_what_it_trains(table, say, monkeypatch):
    pytest.importorskip("shap", reason="needs flakehound[study]")
    monkeypatch.setattr(explain, "FEATURE_COUNTS", (15, 2, 1))

    said = say("study", "explain", "--retrain", "--tests", "5", table)

    assert said.code == 0, said.err
    assert said.err.splitlines() == [
        "80 tests, training a model and explaining 5 of them ...",
        "training with the 2 strongest features ...",
        "training with the 1 strongest features ...",
    ]


def test_the_study_of_metrics_draws_its_steps_on_a_terminal(table, say, terminal, monkeypatch):
    pytest.importorskip("statsmodels", reason="needs flakehound[study]")
    monkeypatch.setattr("flakehound.cli.progress._LIVE_INTERVAL_S", 0.0)

    with terminal.attached():
        say("study", "metrics", table)

    shown = terminal.received()
    assert "80 tests, 2 metrics ..." in shown
    assert "differences of metrics" in shown
    assert "2 of 3" in shown
