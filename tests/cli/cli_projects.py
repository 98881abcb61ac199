"""Tiny real suites, and the command line run on them as a user would."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import click

import flakehound
from flakehound.cli.main import COMMANDS, main

SRC = Path(flakehound.__file__).parent.parent
QUICK = ("--runs", "3", "--shuffles", "2", "--seed", "3")
LIMIT_S = 300.0  # many times what a command takes; a busy machine is no failure
WITH_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": ""}  # all that are installed, as in a user's shell

# One test of each kind; the victim comes before its polluter, so that the suite is green in the original order.
# The kind of each test of SHOP.
SHOP_KINDS = {
    "test_victim": "victim",
    "test_ban": "steady",
    "test_steady": "steady",
    "test_again": "non-idempotent",
    "test_luck": "nod",
    "test_wrong": "failing",
    "test_open": "steady",
    "test_brittle": "brittle",
}
SHOP = {
    "state.py": "kept = {}\n",
    "test_shop.py": """
        import random
        import state

        def test_victim():
            assert "banned" not in state.kept

        def test_ban():
            state.kept["banned"] = True

        def test_steady():
            assert 1 + 1 == 2

        def test_again():
            assert "again" not in state.kept
            state.kept["again"] = True

        def test_luck():
            assert random.random() > 0.5

        def test_wrong():
            assert 1 + 1 == 3

        def test_open():
            state.kept["open"] = True

        def test_brittle():
            assert state.kept["open"]
    """,
}
# For `flakehound_with`: models that are fitted in a tenth of the time.
FEW_TREES = """
from dataclasses import replace
from flakehound.learn.measured import assisted_reruns
assisted_reruns.PIPELINE = replace(assisted_reruns.PIPELINE, trees=10)
"""
STEADY = {"test_calm.py": "def test_one():\n    pass\n\n\ndef test_two():\n    pass\n"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one call of the command line left behind."""

    code: int
    out: str
    err: str


def write_project(folder: Path, files: dict[str, str]) -> Path:
    """A project whose pytest keeps no cache, so that runs leave nothing behind."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {"pytest.ini": "[pytest]\naddopts = -p no:cacheprovider\n", **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
    return folder


def environment(**changes: str) -> dict[str, str]:
    """Ours on the path, and a named hash seed: it spares the runs with other ones, each a new interpreter.

    Without the plugins that are there to test beside: importing them takes most of a small session's time.
    """
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "COV_", "VIRTUAL_ENV"))
    }
    ours = {"PYTHONPATH": str(SRC), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    return {**env, **ours, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **changes}


def flakehound_in(folder: Path, *arguments: str, **changes: str) -> Said:
    """`flakehound ARGUMENTS` in a folder."""
    return _said(folder, [sys.executable, "-m", "flakehound", *arguments], **changes)


def pytest_in(folder: Path, *arguments: str, **changes: str) -> Said:
    """`pytest ARGUMENTS` in a folder, in its own order, with our plugin."""
    return _said(folder, [sys.executable, "-m", "pytest", "-p", "flakehound", *arguments], **changes)


def flakehound_with(patch: str, folder: Path, *arguments: str) -> Said:
    """The same, with a line of Python run first: for what cannot be brought about from outside."""
    code = f"{patch}\nfrom flakehound.cli.main import run\nrun()\n"
    return _said(folder, [sys.executable, "-c", code, *arguments])


def _said(folder: Path, command: list[str], **changes: str) -> Said:
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(**changes),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LIMIT_S,
    )
    return Said(code=done.returncode, out=done.stdout, err=done.stderr)


def paste(folder: Path, command: str, *more: str) -> Said:
    """Run a printed command as if it were pasted into a shell, with our own package behind `flakehound`."""
    ours = f"{shlex.quote(sys.executable)} -m flakehound"
    words = re.sub(r"(^|&& )flakehound\b", lambda match: match[1] + ours, command)
    shown = " ".join([words, *map(shlex.quote, more)])
    return _said(folder, ["/bin/sh", "-c", shown])


def remedy_in(said: Said) -> str:
    """The command an error offers."""
    offers = [line.removeprefix("try: ") for line in said.err.splitlines() if line.startswith("try: ")]
    assert len(offers) == 1, said.err
    return offers[0]


def commands_in(text: str) -> list[str]:
    """Every command of ours in an output: it stands at the end of its line."""
    return re.findall(r"flakehound (?:hunt|replay|explain|polluter|history|merge)\b.*$", text, flags=re.MULTILINE)


def parsed(command: str) -> click.Context:
    """A command, fed back through our own parser; raises where a shell or the parser would complain.

    What comes before it in the same line (`cd FOLDER && `) is left out.
    """
    program, name, *arguments = shlex.split(command.rpartition("&& ")[2])
    assert program == "flakehound"
    assert name in COMMANDS, f"{name!r} is no command of ours"
    with click.Context(main, info_name="flakehound") as context:
        found = main.get_command(context, name)
        assert found is not None
        return found.make_context(name, arguments, parent=context)
