"""Virtual environments with other Pythons and other packages, created once and cached."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CACHE = Path.home() / ".cache" / "flakehound-tests"
_OWN_VARIABLES = ("PYTHONPATH", "VIRTUAL_ENV", "XDG_CACHE_HOME")  # pip's own cache is kept from run to run
_PYENV = Path.home() / ".pyenv" / "versions"


def python_with(*packages: str, version: str | None = None) -> str:
    """An interpreter that has only these packages; skips the test if it cannot be created.

    `version` is one such as "3.8"; None means the Python that runs this.
    """
    base = sys.executable if version is None else _interpreter(version)
    label = "-".join([version or f"{sys.version_info[0]}.{sys.version_info[1]}", *packages])
    folder = CACHE / re.sub(r"[^\w.=-]", "_", label)
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(folder.name + ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several workers may want it at once
        if not (folder / "ready").exists():
            _make(base, folder, packages)
    return str(folder / "bin" / "python")


def _interpreter(version: str) -> str:
    pyenv = sorted(_PYENV.glob(f"{version}.*/bin/python"))
    found = str(pyenv[-1]) if pyenv else shutil.which(f"python{version}")
    if found is None:
        pytest.skip(f"Python {version} is not on this machine")
    return found


def _make(base: str, folder: Path, packages: tuple[str, ...]) -> None:
    """Create it with uv, which is fast; else with our pip, or its own pip if ours is too new for that Python."""
    python, uv = str(folder / "bin" / "python"), str(Path(sys.executable).with_name("uv"))
    bare = [base, "-m", "venv", "--without-pip", str(folder)]
    ways = (
        (bare, [uv, "pip", "install", "-q", "--python", python]),
        (bare, [sys.executable, "-m", "pip", "--python", python, "install", "-q"]),
        ([base, "-m", "venv", str(folder)], [python, "-m", "pip", "install", "-q"]),
    )
    error = ""
    for make, install in ways:
        shutil.rmtree(folder, ignore_errors=True)
        error = _error_of(make) or _error_of([*install, *packages])
        if not error:
            (folder / "ready").touch()
            return
    shutil.rmtree(folder, ignore_errors=True)
    pytest.skip(f"no environment with {', '.join(packages)}: {error}")


def _error_of(command: list[str]) -> str:
    """The error output of a command; empty if it succeeded."""
    env = {name: value for name, value in os.environ.items() if name not in _OWN_VARIABLES}
    try:
        process = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        return str(missing)
    return process.stderr.strip()[-300:] or "nothing" if process.returncode else ""
