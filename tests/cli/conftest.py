"""Projects that several tests read and none changes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from cli_projects import QUICK, SHOP, STEADY, Said, flakehound_in, write_project
from fitted_models import fit_lint_model

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


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> HuntedProject:
    """A suite with one test of each kind, hunted once."""
    folder = write_project(tmp_path_factory.mktemp("shop"), SHOP)
    said = flakehound_in(folder, "hunt", *QUICK, "--json", "report.json")
    return HuntedProject(folder=folder, said=said, json_file=folder / "report.json")


@pytest.fixture(scope="session")
def calm(tmp_path_factory: pytest.TempPathFactory) -> HuntedProject:
    """A suite without a fault, hunted once and quietly."""
    folder = write_project(tmp_path_factory.mktemp("calm"), STEADY)
    said = flakehound_in(folder, "hunt", *QUICK, "--quiet", "--json", "report.json")
    return HuntedProject(folder=folder, said=said, json_file=folder / "report.json")


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
