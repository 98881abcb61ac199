"""Small suites, run by a real pytest in a separate process, with a stand-in for the controller."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

from pytest_sessions import SessionServer

import flakehound

SOURCES = Path(flakehound.__file__).parents[1]
STAND_IN = Path(__file__).with_name("stand_in.py")
# Another interpreter can be given here, to test with another version of pytest.
PYTHON = os.environ.get("FLAKEHOUND_PLUGIN_PYTHON", sys.executable)
# Every warning is an error, also of objects that are not closed and of bytes that are taken for text. With -X dev,
# forks of Python 3.8 abort at their end, whatever they ran.
STRICT = ("-W", "error", "-bb") if "python3.8" in os.path.realpath(PYTHON) else ("-X", "dev", "-W", "error", "-bb")
# The pytest that runs this test has set some of these; the rest would change what is tested.
_OWN_VARIABLES = ("PYTEST_", "COV_CORE_", "FLAKEHOUND", "STAND_IN")
# The plugin of each option, by the beginning of the option. No other plugins are loaded, because that takes time.
_PLUGINS = {
    "-n": "xdist",
    "--cov": "pytest_cov",
    "--force-flaky": "flaky",
    "--randomly": "randomly",
    "--reruns": "rerunfailures",
    "--timeout": "timeout",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestResult:
    """The result of one run of pytest."""

    code: int
    out: str
    err: str
    facts: dict[str, Any] | None  # None: the controller was not asked

    def failure(self, name: str) -> dict[str, Any]:
        """The facts about the failed test whose id ends with this name."""
        assert self.facts is not None, self.out + self.err
        [found] = [failure for failure in self.facts["failures"] if failure["id"].endswith(name)]
        return found

    def reruns(self, name: str) -> list[str]:
        """Stage and outcome of each rerun of a failed test."""
        return [
            rerun["stage"] + " " + rerun["outcome"] + (" same state" if rerun.get("same_state") else "")
            for rerun in self.failure(name)["reruns"]
        ]

    @property
    def outcomes(self) -> str:
        """The last line of the terminal, without the time."""
        lines = [line.strip("= ") for line in self.out.splitlines() if " in " in line and "s" in line]
        return lines[-1].rpartition(" in ")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A folder of tests."""

    folder: Path
    flags: tuple[str, ...] = ()  # of the interpreter

    def write(self, files: dict[str, str]) -> Suite:
        """Write files into the folder."""
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text), encoding="utf-8")
        return self

    def run(self, *arguments: str, **variables: str) -> PytestResult:
        """Run the suite with `--flakehound`, in its original order."""
        return self.plain("--flakehound", *arguments, **variables)

    def plain(self, *arguments: str, **variables: str) -> PytestResult:
        """Run the suite without options of ours."""
        place = self.folder / "facts.json"
        place.unlink(missing_ok=True)
        out, err = self.folder.parent / "out.txt", self.folder.parent / "err.txt"
        code = session_server(self.flags).run(
            pytest_arguments(*arguments), self.folder, environment(self.folder, **variables), out, err
        )
        facts = json.loads(place.read_text()) if place.exists() else None
        return PytestResult(code=code, out=_text_of(out), err=_text_of(err), facts=facts)

    def command(self, *arguments: str) -> list[str]:
        """The command that starts pytest in a new interpreter, with the plugins that the arguments need."""
        return [PYTHON, *self.flags, "-m", "pytest", *pytest_arguments(*arguments)]

    def lines(self, name: str = "calls.txt") -> list[str]:
        """The lines that the suite has written to a file; the file is removed."""
        path = self.folder / name
        text = path.read_text() if path.exists() else ""
        path.unlink(missing_ok=True)
        return text.splitlines()


def _text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


@functools.lru_cache
def session_server(flags: tuple[str, ...]) -> SessionServer:
    """The server of this process for these flags; it ends when this process closes its pipe."""
    return SessionServer(environment(Path()), PYTHON, flags)


def pytest_arguments(*arguments: str) -> list[str]:
    """The arguments, with our plugin and those that they need."""
    wanted = {plugin for option, plugin in _PLUGINS.items() for word in arguments if word.startswith(option)}
    plugins = ["flakehound_inside.plugin", *sorted(wanted)]
    return [*(word for plugin in plugins for word in ("-p", plugin)), *arguments]


def environment(folder: Path, **variables: str) -> dict[str, str]:
    """An environment without variables of the pytest that runs these tests."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(_OWN_VARIABLES)}
    return {
        **clean,
        "PYTHONPATH": str(SOURCES),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "FLAKEHOUND_TRIAGE_COMMAND": json.dumps([sys.executable, "-S", "-E", str(STAND_IN)]),
        "STAND_IN_FACTS": str(folder / "facts.json"),
        **variables,
    }


@functools.lru_cache
def has(module: str) -> bool:
    """Whether the interpreter of the suites can import a module."""
    return subprocess.run([PYTHON, "-c", "import " + module], capture_output=True, check=False).returncode == 0


@functools.lru_cache
def pytest_version() -> tuple[int, ...]:
    """The version of pytest that runs the suites."""
    said = subprocess.run(
        [PYTHON, "-c", "import pytest; print(pytest.__version__)"], capture_output=True, text=True, check=True
    )
    return tuple(int(part) for part in said.stdout.split(".")[:2])


# Passes in all calls except the first of a process.
FLAKY = """
    calls = []

    def test_flaky():
        calls.append(1)
        assert len(calls) > 1
"""
BROKEN = """
    def test_broken():
        assert 1 == 2, "one is not two"
"""
STEADY = """
    def test_steady():
        pass
"""
