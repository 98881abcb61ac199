"""`flakehound triage-facts` in this very process: facts in, verdicts out; pytest itself is real on both sides."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = "def total(prices):\n    return sum(prices)\n\n\ndef count(prices):\n    return len(prices)\n"
TESTS = """
import os
import shop


def test_polluter():
    if os.environ.get("POLLUTES"):
        os.environ["POLLUTED"] = "1"


def test_total():
    assert shop.total([1, 2]) == 3


def test_victim():
    assert "POLLUTED" not in os.environ


def test_down():
    assert not os.path.exists(os.environ["DOWN"])
"""
# Puts the facts where the test can read them, and answers as if nothing had failed.
LISTENER = """
import json, shutil, sys
shutil.copy(sys.argv[-2], {facts!r})
json.dump({{"triage": {{"failures": []}}, "summary": []}}, open(sys.argv[-1], "w"))
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "shop.py").write_text(SOURCE)
    (folder / "test_shop.py").write_text(TESTS)
    (folder / ".gitignore").write_text("__pycache__/\n.pytest_cache/\n")
    monkeypatch.setenv("DOWN", str(tmp_path / "down"))
    for name in list(os.environ):
        if name.startswith(("FLAKEHOUND", "PYTEST_", "COV_CORE")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # each of the many processes would load them
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], [*who, "commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


@pytest.fixture
def judged(project, tmp_path, say, monkeypatch):
    """Run pytest, then judge its failures here."""

    def run(*options: str, **environment: str) -> dict[str, object]:
        facts, answer = tmp_path / "facts.json", tmp_path / "answer.json"
        listener = [sys.executable, "-c", LISTENER.format(facts=str(facts))]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "flakehound_inside.plugin", "--flakehound"]
        command += options
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        env = {**os.environ, "FLAKEHOUND_TRIAGE_COMMAND": json.dumps(listener)}
        subprocess.run(command, cwd=project, env=env, capture_output=True, check=False)
        said = say("triage-facts", str(facts), str(answer))
        assert said.code == 0, said.err
        told = json.loads(answer.read_text())
        return {failure["id"].rpartition("::")[2]: failure for failure in told["triage"]["failures"]} | {"": told}

    return run


def replace(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))


def test_a_regression_is_likely_real_and_names_what_changed(project, judged):
    replace(project / "shop.py", "sum(prices)", "sum(prices) + 1")

    found = judged("--flakehound-check-base")

    assert found["test_total"]["verdict"] == "likely-real"
    assert found["test_total"]["touches"] == ["shop.py: total"]
    assert found[""]["triage"]["tolerable"] is False


def test_a_polluted_test_is_flaky_with_its_polluter(project, judged):
    replace(project / "shop.py", "len(prices)", "len([*prices])")

    found = judged(POLLUTES="1")

    assert (found["test_victim"]["verdict"], found["test_victim"]["kind"]) == ("flaky", "state-dependent")
    assert found["test_victim"]["polluters"] == ["test_shop.py::test_polluter"]


def test_a_failure_by_state_outside_the_project_is_undecided_because_the_change_may_have_written_it(
    project, judged, tmp_path
):
    replace(project / "shop.py", "len(prices)", "len([*prices])")
    (tmp_path / "down").touch()

    found = judged("--flakehound-check-base")

    assert found["test_down"]["verdict"] == "undecided"
    assert "20 of 20 runs alone here, 20 of 20 at" in found["test_down"]["evidence"]
    assert "down, which the change may have written" in found["test_down"]["evidence"]


def test_a_revision_that_is_not_there_costs_the_comparison_only(project, judged, tmp_path):
    (tmp_path / "down").touch()

    found = judged("--flakehound-since=nowhere")

    assert found["test_down"]["verdict"] == "undecided"
    assert "'nowhere' is no commit" in found["test_down"]["evidence"]


def test_a_store_that_cannot_be_used_is_a_note(project, judged, tmp_path):
    (tmp_path / "broken.db").write_bytes(b"not a database" * 100)
    (tmp_path / "down").touch()

    found = judged(f"--flakehound-store={tmp_path / 'broken.db'}", "--flakehound-no-intersect")

    assert found["test_down"]["verdict"] == "undecided"
    assert any("the store cannot be used" in note for note in found[""]["notes"])


@pytest.mark.parametrize("content", ["", "[]", '{"schema": "flakehound/triage-facts/9"}'])
def test_facts_that_are_none_are_an_error_without_a_traceback(say, tmp_path, content):
    facts = tmp_path / "facts.json"
    facts.write_text(content)

    said = say("triage-facts", str(facts), str(tmp_path / "answer.json"))

    assert said.code == 3
    assert str(facts) in said.err
    assert "Traceback" not in said.err
