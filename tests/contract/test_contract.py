"""What programs rely on is what it was: compared with answers that an earlier version gave (`record.py`)."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from commands import COMMANDS, OUTPUTS, RECORDED, lay_out, normalised
from surface import surface

from flakehound.cli.main import run

ANSWERS: dict[str, Any] = json.loads((RECORDED / "answers.json").read_text())
FOR_PROGRAMS = (
    "lint-json",
    "lint-sarif",
    "lint-github",
    "data-export",
)  # their standard output is read by programs


@pytest.fixture
def answer(tmp_path, monkeypatch, capsys):
    """Run one recorded command in a copy of the recorded project."""

    def run_one(name: str) -> dict[str, Any]:
        folder = (tmp_path / "project").resolve()
        folder.mkdir()
        lay_out(folder)
        monkeypatch.chdir(folder)
        for variable, value in (("TZ", "UTC"), ("COLUMNS", "80"), ("NO_COLOR", "1")):
            monkeypatch.setenv(variable, value)
        monkeypatch.setattr(sys, "argv", ["flakehound", *COMMANDS[name]])
        with pytest.raises(SystemExit) as left:
            run()
        told = capsys.readouterr()
        files = {out: (folder / out).read_text() for out in OUTPUTS if (folder / out).exists()}
        texts = {"out": told.out, "err": told.err}
        return {
            "code": int(left.value.code or 0),
            **{stream: normalised(text, folder, sys.executable) for stream, text in texts.items()},
            "files": {out: normalised(text, folder, sys.executable) for out, text in files.items()},
        }

    return run_one


@pytest.mark.parametrize("name", COMMANDS)
def test_a_recorded_command_answers_as_it_did(name, answer):
    before, now = ANSWERS[name], answer(name)

    assert now["code"] == before["code"]
    assert now["files"] == before["files"]
    if name in FOR_PROGRAMS:
        assert now["out"] == before["out"]
    else:
        assert (now["out"], now["err"]) == (before["out"], before["err"])


def test_options_exit_codes_and_tables_are_what_they_were(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["surface.py", str(tmp_path / "empty.db")])

    assert surface() == json.loads((RECORDED / "surface.json").read_text())
