"""The suite and interpreter that the options name; an earlier hunt gives the defaults."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from flakehound.app.sessions.default_paths import current_folder
from flakehound.app.sessions.suite_options import SuiteOptions
from flakehound.core.errors import UsageError, same_command
from flakehound.core.plans import Isolation
from flakehound.engine.processes.launch import Target

if TYPE_CHECKING:
    from flakehound.store import SessionInfo

_SIZES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_MIN_PYTHON = (3, 8)  # the oldest that flakehound_inside supports
_VERSION_CHECK = f"import sys; print(sys.version_info >= {_MIN_PYTHON})"


def target_from(suite: SuiteOptions, earlier: Target | None = None, *, folder: Path | None = None) -> Target:
    """The suite in a folder, by default the current one; options that are not given are as in the earlier hunt."""
    limit = suite.memory_limit
    usual = earlier or Target(python=default_python(), cwd=folder or current_folder())
    return Target(
        python=_named_python(suite, earlier) or usual.python,
        cwd=usual.cwd,
        pytest_args=suite.pytest_args or usual.pytest_args,
        keep_plugins=suite.keep_plugins or usual.keep_plugins,
        memory_bytes=usual.memory_bytes if limit is None else size_in_bytes(limit),
    )


def _named_python(suite: SuiteOptions, earlier: Target | None) -> str | None:
    if suite.python is not None:
        return python_path(suite.python)
    return python_path(earlier.python) if earlier is not None else None  # checked again: it may be gone


def target_of(session: SessionInfo) -> Target:
    """The suite and interpreter of a stored session."""
    settings = session.settings
    return Target(
        python=settings.python,
        cwd=Path(session.rootdir),
        pytest_args=settings.pytest_args,
        keep_plugins=settings.keep_plugins,
        memory_bytes=settings.memory_bytes,
    )


def default_python() -> str:
    """The active virtual environment's interpreter, else our own."""
    active = os.environ.get("VIRTUAL_ENV")
    if active and os.path.realpath(active) != os.path.realpath(sys.prefix):
        python = os.path.join(active, "bin", "python")
        if os.access(python, os.X_OK):
            return python
    return sys.executable


def python_path(named: str) -> str:
    """The interpreter the user named: a program on the path, or a file."""
    found = shutil.which(named) or (named if os.access(named, os.X_OK) and os.path.isfile(named) else None)
    if found is None:
        raise _no_interpreter(named, "no such program can be run")
    path = os.path.abspath(found)
    if not _is_python(path):
        raise _no_interpreter(named, f"it is no Python {'.'.join(map(str, _MIN_PYTHON))} or newer")
    return path


def _no_interpreter(named: str, why: str) -> UsageError:
    return UsageError(f"{named!r} is not an interpreter: {why}", remedy=same_command(python=default_python()))


def _is_python(path: str) -> bool:
    # -I -S: takes a quarter of the time and imports nothing of the suite's environment.
    command = [path, "-I", "-S", "-c", _VERSION_CHECK]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.split()[-1:] == [b"True"]


def isolation_from(suite: SuiteOptions) -> Isolation | None:
    """How runs are isolated; None: fork where a fork behaves like a new process."""
    return Isolation(suite.isolation) if suite.isolation else None


def jobs_from(suite: SuiteOptions) -> int:
    """How many processes run at once; by default one for each core."""
    from flakehound.engine.suite.parallelism import usable_cores

    return suite.jobs or usable_cores()


def test_limit_from(suite: SuiteOptions) -> float | None:
    """The user's time limit for one test; None: not given."""
    if suite.test_timeout is None:
        return None
    from flakehound.engine.suite.budget import seconds_in

    return seconds_in(suite.test_timeout, remedy=same_command(test_timeout="30s"))


def size_in_bytes(text: str) -> int:
    """The number of bytes of a size such as `2G` or `512M`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmg]?)i?b?", text.strip().lower())
    if match is None or float(match[1]) <= 0:
        raise UsageError(f"{text!r} is not a size", remedy=same_command(memory_limit="2G"))
    return int(float(match[1]) * _SIZES[match[2]])


def seed_from(suite: SuiteOptions) -> int:
    """The user's seed, or a random one."""
    return suite.seed if suite.seed is not None else secrets.randbelow(2**31)


def plain_arguments(pytest_args: Iterable[str], switched_off: Iterable[str]) -> tuple[str, ...]:
    """The user's pytest arguments, and `-p no:randomly` if the hunt switched pytest-randomly off."""
    without_randomly = ("-p", "no:randomly") if "pytest-randomly" in switched_off else ()
    return (*pytest_args, *without_randomly)


def commit_of(folder: Path) -> str | None:
    """The checked-out commit, with "-dirty" if files differ from it; None without git."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude", "*"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=20,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
