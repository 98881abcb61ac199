"""`flakehound lint`: what is said, in every format, and what is not."""

from __future__ import annotations

import csv
import json
import subprocess

import pytest

RISKY = """
import random
import time


def test_dice():
    assert random.randint(1, 6) != 6


def test_wait():
    time.sleep(1)


def test_calm():
    assert 1 + 1 == 2
"""


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "risky"
    folder.mkdir()
    (folder / "test_risky.py").write_text(RISKY)
    return folder


def test_each_remark_is_a_line_with_its_place_and_rule(say):
    said = say("lint")

    assert said.code == 1
    assert "test_risky.py:7:12 FH101 random.randint()" in said.out
    assert "test_risky.py:11:5 FH301 time.sleep()" in said.out
    assert "3 tests read: 2 tests with 2 remarks" in said.out


def test_a_calm_project_is_told_with_zero(say, project):
    (project / "test_risky.py").write_text("def test_calm():\n    assert True\n")

    said = say("lint")

    assert said.code == 0
    assert "1 test read: 0 tests with 0 remarks" in said.out


def test_json_is_the_contracts(say):
    told = json.loads(say("lint", "--format", "json").out)

    assert told["schema"] == "flakehound/lint/1"
    dice = next(test for test in told["tests"] if test["id"] == "test_risky.py::test_dice")
    assert (dice["path"], dice["line"]) == ("test_risky.py", 6)
    assert 0 < dice["score"] < 1
    (finding,) = dice["findings"]
    assert {"rule", "cause", "path", "line", "message"} <= finding.keys()
    assert (finding["rule"], finding["cause"], finding["line"]) == ("FH101", "randomness", 7)


def test_sarif_has_rules_places_and_fingerprints_that_outlive_moved_lines(say, project):
    before = json.loads(say("lint", "--format", "sarif").out)
    (project / "test_risky.py").write_text("# moved\n\n" + RISKY)
    after = json.loads(say("lint", "--format", "sarif").out)

    (run,) = before["runs"]
    assert before["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["FH101", "FH301"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "test_risky.py"
    assert place["region"]["startLine"] == 7
    prints = [[result["partialFingerprints"] for result in told["runs"][0]["results"]] for told in (before, after)]
    assert prints[0] == prints[1]


def test_github_gets_annotations(say):
    said = say("lint", "--format", "github")

    assert "::warning file=test_risky.py,line=7,col=12,title=FH101 " in said.out


def test_rules_are_chosen_and_left_out(say):
    assert "FH301" not in say("lint", "--select", "FH1").out
    assert "FH101" not in say("lint", "--ignore", "FH101").out


def test_an_unknown_rule_is_an_error_with_the_nearest(say):
    said = say("lint", "--select", "FH999")

    assert said.code == 2
    assert "there is no rule 'FH999'" in said.err
    assert "try: flakehound lint --explain FH9" in said.err


def test_settings_of_the_project_are_heeded(say, project):
    (project / "pyproject.toml").write_text('[tool.flakehound.lint]\nignore = ["FH3"]\n')

    assert "FH301" not in say("lint").out


def test_a_comment_with_a_reason_silences_and_one_without_is_told(say, project):
    text = RISKY.replace("!= 6", "!= 6  # flakehound: ignore[FH101] a dice is a dice")
    (project / "test_risky.py").write_text(text.replace("sleep(1)", "sleep(1)  # flakehound: ignore[FH301]"))

    said = say("lint")

    assert "FH101 random" not in said.out
    assert "FH001 FH301 is ignored without a reason" in said.out


def test_a_baseline_lets_a_team_start_clean_and_notices_what_is_new(say, project, tmp_path):
    known = str(tmp_path / "known.json")
    say("lint", "--write-baseline", known)

    clean = say("lint", "--baseline", known)
    (project / "test_risky.py").write_text(RISKY + "\n\ndef test_more():\n    time.sleep(2)\n")
    later = say("lint", "--baseline", known)

    assert (clean.code, later.code) == (0, 1)
    assert "2 in the baseline" in clean.out
    assert "FH301" in later.out
    assert "FH101 random" not in later.out


def test_a_baseline_that_is_not_there_is_an_error_that_says_how_to_make_one(say):
    said = say("lint", "--baseline", "known.json")

    assert said.code == 2
    assert "--write-baseline known.json" in said.err


def test_metrics_are_a_table_with_named_columns(say, tmp_path):
    sheet = tmp_path / "metrics.csv"

    say("lint", "--metrics", str(sheet))

    rows = list(csv.DictReader(sheet.open(encoding="utf-8")))
    assert rows[0]["id"] == "test_risky.py::test_dice"
    assert {"tloc", "assertion_density", "wmc", "maintainability"} <= rows[0].keys()
    assert rows[0]["assertions"] == "1"


def test_only_what_changed_since_a_commit_is_told(say, project):
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=project, check=True)
    (project / "test_new.py").write_text("import time\n\n\ndef test_new():\n    time.sleep(1)\n")

    said = say("lint", "--changed-since", "HEAD")

    assert "test_new.py:5:5 FH301" in said.out
    assert "test_risky.py" not in said.out


def test_a_file_that_does_not_parse_is_told_and_the_others_are_read(say, project):
    (project / "test_broken.py").write_text("def test_(:\n")

    said = say("lint")

    assert "test_broken.py:1:1 not read" in said.out
    assert "FH101" in said.out


def test_a_rule_explains_itself(say):
    said = say("lint", "--explain", "unseeded-randomness")

    assert said.code == 0
    assert said.out.startswith("FH101 unseeded-randomness")
    assert "Bad:" in said.out
    assert "Good:" in said.out


def test_nothing_is_imported_or_run(say, project):
    (project / "conftest.py").write_text("raise RuntimeError('imported')\n")

    assert "FH101" in say("lint").out
