"""What we import into the user's process: no heavy modules, and only two modules until an option is used."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import flakehound
from flakehound.core.plans import Isolation, Setting, SingleRun
from flakehound.engine.processes.forkserver import ForkServer
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.processes.spawn import Spawner

SOURCES = Path(flakehound.__file__).parents[1]
WITHOUT_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # importing them takes most of a small session's time
HEAVY = {"numpy", "sklearn", "rich", "click", "sqlite3", "coverage", "psutil", "jinja2", "radon", "flakehound"}
RECORDER = """
import json, sys
def test_modules():
    with open("modules.json", "w") as file:
        json.dump(sorted(sys.modules), file)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "project" / "test_it.py").write_text(RECORDER)
    return tmp_path / "project"


def imported_modules(project: Path) -> set[str]:
    return set(json.loads((project / "modules.json").read_text()))


def plain_modules(project: Path, *arguments: str, **env: str) -> set[str]:
    command = [sys.executable, "-m", "pytest", "-q", *arguments]
    subprocess.run(
        command, cwd=project, env={**os.environ, **WITHOUT_PLUGINS, **env}, check=True, capture_output=True
    )
    return imported_modules(project)


def plan(isolation: Isolation) -> SingleRun:
    return SingleRun(order=("test_it.py::test_modules",), why="a test", setting=Setting.PROBE, isolation=isolation)


def forked_modules(project: Path, folder: Path) -> set[str]:
    server = ForkServer(
        Target(python=sys.executable, cwd=project, env=WITHOUT_PLUGINS), folder, slots=1, hash_seed=0
    )
    server.wait_until_collected()
    server.slots[0].run(plan(Isolation.FORK), Limits(), ())
    server.close()
    return imported_modules(project)


def spawned_modules(project: Path, folder: Path) -> set[str]:
    Spawner(Target(python=sys.executable, cwd=project, env=WITHOUT_PLUGINS), folder).run(
        plan(Isolation.SPAWN), Limits(), ()
    )
    return imported_modules(project)


@pytest.mark.parametrize("run", [forked_modules, spawned_modules])
def test_a_hunted_run_imports_only_our_inside_and_the_standard_library(project, tmp_path, run):
    plain = plain_modules(project)

    added = {name.partition(".")[0] for name in run(project, tmp_path / "ours") - plain}

    assert not added & HEAVY
    assert added - set(sys.stdlib_module_names) <= {"flakehound_inside"}


def test_an_installed_plugin_that_is_not_asked_imports_two_modules(project):
    plugin = "flakehound_inside.plugin"
    assert (
        f'[project.entry-points.pytest11]\nflakehound = "{plugin}"'
        in (SOURCES.parent / "pyproject.toml").read_text()
    )

    # As if installed, whether it is or not.
    seen = plain_modules(project, "-p", plugin, PYTHONPATH=str(SOURCES), PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")

    assert {name for name in seen if name.startswith("flakehound")} == {"flakehound_inside", plugin}
    assert not seen & HEAVY


def test_every_inside_module_compiles_as_python_3_8():
    for path in (SOURCES / "flakehound_inside").rglob("*.py"):
        ast.parse(path.read_text(), filename=str(path), feature_version=(3, 8))
