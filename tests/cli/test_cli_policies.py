"""`flakehound hunt --policy`: what each policy says and does in a real suite."""

from __future__ import annotations

import json
import random

import pytest
from cli_projects import FEW_TREES, SHOP, flakehound_in, flakehound_with, parsed, write_project

HEAD = (
    "id,project,original_passed,original_failed,shuffled_passed,shuffled_failed,polluter,cost_s,luck,leaks,reads\n"
)
SEVERAL = {
    "test_several.py": """
        import random

        def test_luck():
            assert random.random() > 0.3

        def test_slow_and_sure():
            assert sum(number * number for number in range(300_000))

        def test_small():
            pass
    """
}

COUNTED = ("--runs", "20", "--shuffles", "2")  # enough for `test_luck`, however slow the machine is


def training_rows(seed=1):
    """Tests of two projects, each kind told by one feature with a little noise."""
    rng = random.Random(seed)
    for number in range(240):
        kind = ("nod", "victim", "polluter", *["steady"] * 5)[number % 8]
        counts = {"nod": "150,50,150,50", "victim": "200,0,150,50"}.get(kind, "200,0,200,0")
        told = [rng.random() + 0.6 * (kind == name) for name in ("nod", "polluter", "victim")]
        features = ",".join(f"{value:.3f}" for value in told)
        project, blamed = number // 8 % 2, int(kind == "polluter")
        yield f"test_{number},project{project},{counts},{blamed},0.01,{features}"


@pytest.fixture
def modelled(tmp_path):
    """The shop with one test of each kind, a table to learn from, and features that tell its tests apart."""
    folder = write_project(tmp_path / "shop", SHOP)
    (folder / "training.csv").write_text(HEAD + "\n".join(training_rows()) + "\n")
    high = {"test_luck": "luck", "test_ban": "leaks", "test_victim": "reads"}
    names = [line.split("(")[0].split()[1] for line in SHOP["test_shop.py"].splitlines() if "def test" in line]
    rows = [
        ",".join([f"test_shop.py::{name}", *(str(1.1 if high.get(name) == f else 0.2) for f in HEADS)])
        for name in names
    ]
    (folder / "features.csv").write_text("\n".join([f"id,{','.join(HEADS)}", *rows]) + "\n")
    return folder


HEADS = ("luck", "leaks", "reads")
CANNIER = ("--policy", "cannier", "--training", "training.csv", "--features", "features.csv")


def alone_runs(report, name):
    return next(t for t in report["tests"] if t["id"].endswith(f"::{name}"))["runs"]["alone"]["n"]


def report_in(folder):
    return json.loads((folder / "report.json").read_text())


# index


def test_a_hunt_by_index_ends_when_nothing_more_is_expected_and_reports_the_forecast_only_in_json(project):
    said = flakehound_in(
        project, "hunt", "--policy", "index", "--budget", "40s", "--seed", "3", "--json", "report.json"
    )

    assert said.code == 0, said.err
    assert "is expected to show" not in said.err
    assert "the hunt ended before its time" in said.out
    assert "flaky tests" not in said.out  # an estimate is no finding
    assert 0 <= report_in(project)["forecast"]["flaky_tests"] < 0.1
    assert report_in(project)["never_ran"]["tests"] == 0
    assert report_in(project)["spent"]["wall_s"] < 30
    assert all(0 < test["prior"] < 0.02 for test in report_in(project)["tests"])


def test_a_second_hunt_starts_from_what_the_first_one_saw(tmp_path):
    folder = write_project(tmp_path / "several", SEVERAL)
    words = ("hunt", *COUNTED, "--seed", "3", "--quiet")
    flakehound_in(folder, *words)

    said = flakehound_in(folder, *words, "--json", "report.json")

    prior = {test["id"].rpartition("::")[2]: test["prior"] for test in report_in(folder)["tests"]}
    assert said.code == 1
    assert prior["test_luck"] > 0.4
    assert prior["test_slow_and_sure"] < 0.005


# cannier


def test_a_model_decides_which_tests_are_rerun_and_which_are_paired(modelled):
    words = ("hunt", *COUNTED, "--seed", "3", *CANNIER, "--budget", "4m", "--json", "report.json")
    said = flakehound_with(FEW_TREES, modelled, *words)

    report = report_in(modelled)
    kinds = {test["id"].rpartition("::")[2]: test["kind"] for test in report["tests"]}
    assert said.code == 1, said.err
    assert "of 8 tests are rerun" in said.out
    assert "reruns of single tests were saved" in " ".join(said.out.split())
    assert "tests need no proof of victim or NOD" in " ".join(said.out.split())
    # Either the runs prove the kind, or the model is so sure that they are saved.
    assert kinds["test_luck"] == "nod" or "takes it for a NOD test" in " ".join(said.out.split())
    assert kinds["test_victim"] == "victim" or "takes it for a victim" in " ".join(said.out.split())
    assert alone_runs(report, "test_luck") > alone_runs(report, "test_steady")


@pytest.mark.parametrize(
    ("words", "about"),
    [
        (("--policy", "cannier", "--training", "training.csv"), "--features is needed"),
        (("--detection", "0.9"), "is for --policy cannier"),
        ((*CANNIER, "--detection", "0.9", "--cost", "0.5"), "not both"),
        (("--policy", "cannier", "--training", "training.csv", "--features", "training.csv"), ""),
        (("--policy", "cannier", "--training", "no.csv", "--features", "features.csv"), "cannot read the table"),
    ],
)
def test_what_a_model_lacks_is_told_before_the_suite_is_started(modelled, words, about):
    if not about:
        (modelled / "training.csv").write_text("id,project\n")
        about = "column"

    said = flakehound_in(modelled, "hunt", *words)

    assert said.code in (2, 3), said.out + said.err
    assert about in said.err
    remedy = next((line for line in said.err.splitlines() if "flakehound " in line), None)
    assert remedy is None or parsed(remedy[remedy.index("flakehound ") :])
    assert not (modelled / ".flakehound").exists()


# calls


def test_only_tests_that_call_a_characteristic_function_or_are_small_are_rerun(tmp_path):
    folder = write_project(tmp_path / "several", SEVERAL)
    words = ("hunt", "--policy", "calls", *COUNTED, "--seed", "3", "--json", "report.json")

    said = flakehound_in(folder, *words)

    report = report_in(folder)
    assert said.code == 1, said.err
    assert "of 3 tests are rerun" in said.out
    assert "calls: 3 of 3 tests" not in said.out
    assert alone_runs(report, "test_luck") > alone_runs(report, "test_slow_and_sure")
