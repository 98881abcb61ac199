"""Things that many tests read and none changes, made once for all workers of a test run."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

FIT_LIMIT_S = 600.0  # many times what it takes; a busy machine is no failure
_FIT = "from flakehound.app.lint.model_file import default_model; default_model()"


def fit_lint_model() -> None:
    """Put lint's default model into the cache."""
    with _one_worker_at_a_time("lint-model") as done:
        if not done.exists():
            subprocess.run([sys.executable, "-c", _FIT], check=True, timeout=FIT_LIMIT_S)
            done.touch()


def prepared_folder(name: str, prepare: Callable[[Path], None]) -> Path:
    """A folder that `prepare` fills; the worker that needs it first does that for all."""
    folder = _shared_folder() / name
    with _one_worker_at_a_time(name) as done:
        if not done.exists():
            folder.mkdir()
            prepare(folder)
            done.touch()
    return folder


def _shared_folder() -> Path:
    return Path(os.environ["FH_SHARED_BY_TESTS"])  # tests/conftest.py makes it


@contextmanager
def _one_worker_at_a_time(name: str) -> Iterator[Path]:
    """Hold a lock; yields the file that says the work is done."""
    with open(_shared_folder() / f"{name}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield _shared_folder() / f"{name}.done"
