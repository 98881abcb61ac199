"""Virtual environments with other Pythons and other packages, made once and kept."""

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
_OURS = ("PYTHONPATH", "VIRTUAL_ENV", "XDG_CACHE_HOME")  # pip's own cache is kept from run to run
_PYENV = Path.home() / ".pyenv" / "versions"


def python_with(*packages: str, version: str | None = None) -> str:
    """An interpreter that has just these packages; skips the test where there is none to be had.

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
    """By uv, which is quick; else by our own pip, or where that is too new for that Python, by its own."""
    python, uv = str(folder / "bin" / "python"), str(Path(sys.executable).with_name("uv"))
    bare = [base, "-m", "venv", "--without-pip", str(folder)]
    ways = (
        (bare, [uv, "pip", "install", "-q", "--python", python]),
        (bare, [sys.executable, "-m", "pip", "--python", python, "install", "-q"]),
        ([base, "-m", "venv", str(folder)], [python, "-m", "pip", "install", "-q"]),
    )
    trouble = ""
    for make, install in ways:
        shutil.rmtree(folder, ignore_errors=True)
        trouble = _trouble(make) or _trouble([*install, *packages])
        if not trouble:
            (folder / "ready").touch()
            return
    shutil.rmtree(folder, ignore_errors=True)
    pytest.skip(f"no environment with {', '.join(packages)}: {trouble}")


def _trouble(command: list[str]) -> str:
    """What a command that failed has said; empty where it did not fail."""
    env = {name: value for name, value in os.environ.items() if name not in _OURS}
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        return str(missing)
    return done.stderr.strip()[-300:] or "nothing" if done.returncode else ""
