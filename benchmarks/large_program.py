"""The flakehound that is judged: that of this checkout, or the command of another one."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from running import environment_with_flakehound

import flakehound

HERE = Path(__file__).resolve().parent
_FIND_SOURCE = "import flakehound; print(flakehound.__file__)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A command `flakehound`, with the interpreter that can import its code."""

    command: tuple[str, ...]
    python: str
    source: Path  # the folder with both packages
    is_own: bool  # that of this checkout, which need not be installed

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """The variables of a process that imports its code."""
        if self.is_own:
            return environment_with_flakehound(env)
        return {name: value for name, value in env.items() if name != "PYTHONPATH"}

    def digest(self) -> str:
        """A digest of its source, so that results of another version are not taken for those of this one."""
        return _digest(self.source)

    def facts_of_store(self, database: Path, truth: Path, began_s: float) -> dict[str, Any]:
        """What `large_store.py` reads; by its own code, because the store's format may differ from ours."""
        done = subprocess.run(
            [self.python, str(HERE / "large_store.py"), str(database), str(truth), str(began_s)],
            env=self.environment(os.environ),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return dict(json.loads(done.stdout))


def program_of(path: Path | None) -> Program:
    """The program at this path, such as /other/.venv/bin/flakehound; None: ours."""
    if path is None:
        source = Path(flakehound.__file__).resolve().parents[1]
        command = (sys.executable, "-m", "flakehound")
        return Program(command=command, python=sys.executable, source=source, is_own=True)
    path = path.absolute()
    python = path.with_name("python")
    for needed in (path, python):
        assert needed.exists(), f"{needed} does not exist; give such as /other/.venv/bin/flakehound"
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(python), "-c", _FIND_SOURCE], env=env, cwd="/", capture_output=True, text=True, check=True
    )
    source = Path(done.stdout.strip()).resolve().parents[1]
    return Program(command=(str(path),), python=str(python), source=source, is_own=False)


@lru_cache
def _digest(source: Path) -> str:
    digest = hashlib.sha256()
    for package in ("flakehound", "flakehound_inside"):
        for path in sorted((source / package).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:10]
