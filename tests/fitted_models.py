"""Models that many tests read, each fitted once for all workers of a test run."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FIT_LIMIT_S = 600.0  # many times what it takes; a busy machine is no failure
_FIT = "from flakehound.app.lint.model_file import default_model; default_model()"


def fit_lint_model() -> None:
    """Put lint's default model into the cache, by a process in which coverage does not watch every sum."""
    with _one_worker_at_a_time("lint-model"):
        subprocess.run([sys.executable, "-c", _FIT], check=True, timeout=FIT_LIMIT_S)


@contextmanager
def _one_worker_at_a_time(name: str) -> Iterator[None]:
    folder = Path(os.environ["XDG_CACHE_HOME"])  # one for all workers; tests/conftest.py makes it
    with open(folder / f"{name}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
