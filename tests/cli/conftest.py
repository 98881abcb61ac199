"""Projects that several tests read and none changes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from cli_projects import QUICK, SHOP, STEADY, Said, flakehound_in, write_project
from pseudo_terminal import Terminal
from shared_once import fit_lint_model, prepared_folder

from flakehound.cli.main import run


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntedProject:
    """A project, and what one hunt of it said."""

    folder: Path
    said: Said
    json_file: Path

    @property
    def store(self) -> Path:
        """Where its runs are kept."""
        return self.folder / ".flakehound" / "flakehound.db"


@pytest.fixture(scope="session", autouse=True)
def _fitted() -> None:
    """Lint's model is in the cache."""
    fit_lint_model()


def _hunted_once(name: str, files: dict[str, str], *options: str) -> HuntedProject:
    """A project that is hunted once for all workers."""

    def prepare(folder: Path) -> None:
        project = write_project(folder / name, files)
        said = flakehound_in(project, "hunt", *QUICK, *options, "--json", "report.json")
        (folder / "said.json").write_text(json.dumps(asdict(said)))

    folder = prepared_folder(name, prepare)
    said = Said(**json.loads((folder / "said.json").read_text()))
    return HuntedProject(folder=folder / name, said=said, json_file=folder / name / "report.json")


@pytest.fixture(scope="session")
def shop() -> HuntedProject:
    """A suite with one test of each kind, hunted once."""
    return _hunted_once("shop", SHOP)


@pytest.fixture(scope="session")
def calm() -> HuntedProject:
    """A suite without a fault, hunted once and quietly."""
    return _hunted_once("calm", STEADY, "--quiet")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A fresh suite without a fault."""
    return write_project(tmp_path / "project", STEADY)


@pytest.fixture
def say(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Our entry point in this very process: enough, and quick, where no suite is started."""

    def call(*arguments: str) -> Said:
        monkeypatch.chdir(project)
        monkeypatch.setattr(sys, "argv", ["flakehound", *arguments])
        with pytest.raises(SystemExit) as left:
            run()
        told = capsys.readouterr()
        return Said(code=int(left.value.code or 0), out=told.out, err=told.err)

    return call


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment without settings about colours."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    return monkeypatch


@pytest.fixture
def terminal(environment: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """A terminal that a test attaches to the streams."""
    terminal = Terminal()
    yield terminal
    terminal.close()
