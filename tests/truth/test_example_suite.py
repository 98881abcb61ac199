"""`flakehound hunt` on the bundled example: every planted test has the right kind and polluter."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SHAKY = Path(__file__).resolve().parents[2] / "examples" / "shaky"


@pytest.mark.slow
def test_hunt_finds_every_planted_test_and_accuses_no_steady_one(tmp_path):
    tree = tmp_path / "shaky"
    shutil.copytree(SHAKY, tree, ignore=shutil.ignore_patterns(".flakehound", "__pycache__", ".pytest_cache"))
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "flakehound", "hunt", "--quiet", "--budget", "90s", "--json", str(report)]

    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=300)

    assert done.returncode == 1, done.stderr
    found = {test["id"]: test for test in json.loads(report.read_text())["tests"]}
    truth = json.loads((SHAKY / "truth.json").read_text())
    assert found.keys() == truth.keys()
    wrong = {
        test: (planted, _told(found[test])) for test, planted in truth.items() if not _agrees(planted, found[test])
    }
    assert not wrong


def _told(test: dict) -> dict:
    return {key: test[key] for key in ("kind", "polluters", "state_setters", "evidence")}


def _agrees(planted: dict, told: dict) -> bool:
    return (
        planted["kind"] == told["kind"]
        and sorted(planted.get("polluters", [])) == sorted(told["polluters"])
        and sorted(planted.get("state_setters", [])) == sorted(told["state_setters"])
    )
