"""The public API: what `import flakehound` offers to programs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import flakehound
from flakehound.core.plans import Setting
from flakehound.report.hunt.as_json import report_json
from flakehound.store import Store

SUITE = """
seen = []

def test_polluter():
    seen.append("dirt")

def test_victim():
    assert not seen

def test_steady():
    pass
"""
VICTIM = "test_shop.py::test_victim"


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_shop.py").write_text(SUITE)
    return folder


@pytest.fixture(scope="module")
def result(project) -> flakehound.HuntResult:
    return flakehound.hunt(project, runs=2, shuffles=2, techniques=["idflakies"], seed=3, jobs=2)


def in_new_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_hunt_gives_every_test_a_verdict_and_prints_nothing(result, capfd):
    verdicts = {verdict.id: verdict for verdict in result.verdicts}

    assert list(verdicts) == ["test_shop.py::test_polluter", VICTIM, "test_shop.py::test_steady"]
    assert verdicts[VICTIM].kind is flakehound.Kind.VICTIM
    assert verdicts[VICTIM].polluters == ("test_shop.py::test_polluter",)
    assert result.flaky == [verdicts[VICTIM]]
    assert capfd.readouterr() == ("", "")


def test_a_hunt_of_another_folder_leaves_its_store_there(result, project):
    assert (project / ".flakehound" / "flakehound.db").is_file()
    assert result.store is None


def test_a_stored_report_is_read_back(result, project):
    from_folder = flakehound.read_report(project)

    assert [verdict.kind for verdict in from_folder.verdicts] == [verdict.kind for verdict in result.verdicts]
    assert from_folder.verdicts[1].replay == result.verdicts[1].replay
    assert from_folder.suite == result.suite
    assert flakehound.read_report(project / ".flakehound" / "flakehound.db") == from_folder


def test_a_report_file_holds_what_its_result_held(result, tmp_path):
    file = tmp_path / "report.json"
    file.write_text(report_json(result))

    found = flakehound.read_report(file)

    assert found.flaky[0].evidence == result.flaky[0].evidence
    assert found.flaky[0].tallies[Setting.ORIGINAL] == result.flaky[0].tallies[Setting.ORIGINAL]
    assert (found.seed, found.complete, dict(found.runs)) == (result.seed, result.complete, dict(result.runs))


@pytest.mark.parametrize("text", ["", "[]", '{"schema": "flakehound/report/1"}', '{"schema": "other"}'])
def test_what_is_no_report_is_an_error_that_says_so(tmp_path, text):
    file = tmp_path / "report.json"
    file.write_text(text)

    with pytest.raises(flakehound.FlakehoundError, match="is no"):
        flakehound.read_report(file)


def test_a_folder_that_was_never_hunted_has_no_report(tmp_path):
    with pytest.raises(flakehound.FlakehoundError, match="nothing was hunted yet"):
        flakehound.read_report(tmp_path)


def test_a_resumed_hunt_keeps_its_seed_and_repeats_no_seed_of_a_run(project, tmp_path):
    options = {"path": project, "store": tmp_path / "own.db", "techniques": ["idflakies"], "jobs": 1}
    first = flakehound.hunt(**options, runs=1, shuffles=1, seed=3)
    with Store.open(tmp_path / "own.db") as store:
        made_before = [record.seed for record in store.records(1)]

    resumed = flakehound.hunt(**options, runs=3, shuffles=3, resume=True)

    with Store.open(tmp_path / "own.db") as store:
        made_after = [record.seed for record in store.records(1)][len(made_before) :]
    assert resumed.seed == first.seed == 3
    assert {seed for seed in made_after if seed is not None}.isdisjoint(made_before)
    assert [verdict.kind for verdict in resumed.flaky] == [flakehound.Kind.VICTIM]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": "no such folder"}, "is not a folder"),
        ({"policy": "luck"}, "is no policy"),
        ({"techniques": ["prayer"]}, "is no technique"),
        ({"isolation": "thread"}, "is no isolation"),
        ({"budget": "soon"}, "is not a time"),
        ({"jobs": 0}, "at least 1"),
        ({"python": "no such python"}, "is not an interpreter"),
        ({"resume": True}, "to resume"),
    ],
)
def test_wrong_options_are_errors_of_ours(tmp_path, options, message):
    with pytest.raises(flakehound.FlakehoundError, match=message):
        flakehound.hunt(**{"path": tmp_path, **options})


def test_lint_returns_typed_findings(tmp_path):
    (tmp_path / "test_clock.py").write_text("import time\n\ndef test_now():\n    assert time.time() % 2 < 1\n")

    found = flakehound.lint(tmp_path, score="rules", jobs=1, cache=False)

    assert [prediction.id for prediction in found.flagged] == ["test_clock.py::test_now"]
    assert {finding.cause for finding in found.findings} == {flakehound.Cause.TIME}


def test_lint_can_be_limited_to_files(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"test_{name}.py").write_text("def test_it():\n    pass\n")

    found = flakehound.lint(tmp_path, files=["test_b.py"], score="rules", jobs=1, cache=False)

    assert [prediction.id for prediction in found.predictions] == ["test_b.py::test_it"]


def test_importing_the_package_imports_nothing_else_of_ours_and_no_library():
    code = """
import sys
before = set(sys.modules)
import flakehound
print(sorted(name for name in set(sys.modules) - before if name.split(".")[0] not in sys.stdlib_module_names))
"""
    assert in_new_process(code).strip() == "['flakehound']"


def test_the_functions_stay_what_they_are_when_the_subpackages_of_their_names_are_imported():
    code = """
import warnings
warnings.simplefilter("error")
import flakehound.hunt.limits, flakehound.lint.baseline
from flakehound import hunt, lint
import flakehound
print(hunt.__module__, lint.__module__, flakehound.hunt is hunt)
"""
    assert in_new_process(code).split() == ["flakehound.app.api", "flakehound.app.api", "True"]


def test_everything_public_can_be_imported_and_is_listed():
    assert set(flakehound.__all__) <= set(dir(flakehound))
    assert all(getattr(flakehound, name) is not None for name in flakehound.__all__)
    with pytest.raises(AttributeError, match="no attribute 'hound'"):
        flakehound.hound  # noqa: B018


@pytest.mark.slow
def test_a_type_checker_knows_the_results(tmp_path):
    mypy = pytest.importorskip("mypy.api")
    sample = tmp_path / "sample.py"
    sample.write_text(
        "import flakehound\n"
        "from flakehound import hunt, lint\n"
        "reveal_type(hunt('.').flaky[0].kind)\n"
        "reveal_type(flakehound.lint().findings[0].line)\n"
        "reveal_type(flakehound.read_report('r.json').verdicts)\n"
    )

    said, _errors, _status = mypy.run([str(sample), "--strict", "--cache-dir", str(tmp_path / "cache")])

    assert [line.split("Revealed type is ")[1] for line in said.splitlines() if "Revealed" in line] == [
        '"flakehound.core.verdicts.Kind"',
        '"int"',
        '"tuple[flakehound.core.verdicts.Verdict, ...]"',
    ], json.dumps(said)
