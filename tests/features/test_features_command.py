"""`flakehound features` as a user calls it."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from git_histories import commit, git
from probes import write_files

from flakehound.store import Store

PROJECT = {
    "shop.py": "def total(prices):\n    return sum(prices)\n",
    "test_shop.py": """
        import os

        import pytest
        from shop import total


        @pytest.mark.parametrize("prices", [[], [1]])
        def test_total(prices):
            assert total(prices) == len(prices)


        def test_dies():
            os.abort()


        def test_after_the_dying():
            assert total([2]) == 2
        """,
}


@pytest.fixture
def project(tmp_path):
    write_files(tmp_path / "project", PROJECT)
    return (tmp_path / "project").resolve()


def flakehound_features(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return flakehound(folder, "features", *arguments)


def flakehound(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV", "GIT"))}
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # importing them takes most of a small session's time
    command = [sys.executable, "-m", "flakehound", *arguments]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False)


def test_every_test_has_a_row_even_after_one_that_kills_its_process(project):
    commit(project, {})
    commit(project, {"shop.py": "def total(prices):\n    return sum(prices, 0)\n"})

    done = flakehound_features(
        project, "--runs", "2", "--csv", "features.csv", "--json", "features.json", "--seed", "1"
    )

    assert done.returncode == 0, done.stderr
    rows = {row["id"]: row for row in csv.DictReader((project / "features.csv").open())}
    after = rows["test_shop.py::test_after_the_dying"]
    assert (after["source_covered_lines"], after["covered_changes"], after["assertions"]) == ("1", "3", "1")
    assert rows["test_shop.py::test_total[prices0]"]["covered_lines"] == "2"
    assert rows["test_shop.py::test_dies"]["run_time_s"] == ""
    assert "were not measured, such as test_shop.py::test_dies" in done.stdout
    assert json.loads((project / "features.json").read_text())["schema"] == "flakehound/features/1"
    with Store.open(project / ".flakehound" / "flakehound.db") as store:
        (session,) = store.sessions()
        assert store.source_features(session.id)["test_shop.py::test_total"]["assertions"] == 1
        assert sum(bool(record.measures) for record in store.records(session.id)) == 4


def test_without_git_the_changes_are_unknown_and_the_reason_is_printed(project):
    done = flakehound_features(project, "--runs", "1", "--quiet", "--csv", "features.csv", "-k", "total")

    assert done.returncode == 2  # options of pytest must follow two dashes
    done = flakehound_features(project, "--runs", "1", "--quiet", "--csv", "features.csv", "--", "-k", "total")

    assert done.returncode == 0, done.stderr
    assert f"covered_changes is not known: {project} is in no git repository" in done.stdout
    assert {row["covered_changes"] for row in csv.DictReader((project / "features.csv").open())} == {""}
    assert git(project, "version")


def test_a_file_that_cannot_be_written_is_an_error_before_any_test_runs(project):
    done = flakehound_features(project, "--csv", "nowhere/features.csv")

    assert done.returncode == 2
    assert "cannot write 'nowhere/features.csv'" in done.stderr
    assert "try: flakehound features --csv flakehound.csv" in done.stderr


def test_a_hunt_can_measure_features_and_an_export_has_them_with_the_counts(project):
    hunted = flakehound(
        project, "hunt", "--measure", "--runs", "2", "--shuffles", "0", "-q", "--json", "report.json"
    )
    exported = flakehound(project, "data", "export", "tests.csv")

    assert hunted.returncode == 0, hunted.stderr  # the test that kills its process always fails
    assert exported.returncode == 0, exported.stderr
    rows = {row["id"]: row for row in csv.DictReader((project / "tests.csv").open())}
    total = rows["test_shop.py::test_total[prices0]"]
    assert (total["covered_lines"], total["assertions"]) == ("2.0", "1")
    # Measured runs do not count as evidence.
    reported = {test["id"]: test for test in json.loads((project / "report.json").read_text())["tests"]}
    assert int(total["original_passed"]) == reported[total["id"]]["runs"]["original"]["n"]
