"""Suites whose runs are in each other's way, hunted for real."""

from __future__ import annotations

import json

import pytest
from cli_projects import flakehound_in, write_project

# A lock that nothing but another run can hold: no file is written and no port bound, so only failures show it.
LOCKING = {
    "test_locks.py": """
        import fcntl, time
        import pytest

        @pytest.mark.parametrize("name", "abcdef")
        def test_locks(name):
            with open(__file__) as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                time.sleep(0.05)
        """
}


@pytest.fixture(scope="module")
def locking(tmp_path_factory):
    folder = write_project(tmp_path_factory.mktemp("locking") / "project", LOCKING)
    said = flakehound_in(
        folder, "hunt", "-q", "--seed", "1", "-j", "2", "--budget", "15s", "--json", "report.json"
    )
    return said, json.loads((folder / "report.json").read_text())


def test_no_test_that_fails_only_beside_other_runs_is_called_flaky(locking):
    said, report = locking

    assert said.code == 0, said.out
    assert {test["kind"] for test in report["tests"]} <= {"steady", "unresolved"}
    assert sum("undisturbed" in " ".join(test.get("evidence", [])) for test in report["tests"]) >= 3


def test_fewer_runs_go_at_once_and_the_report_says_so(locking):
    _said, report = locking

    assert [note for note in report["notes"] if "fewer runs at once since then" in note]
