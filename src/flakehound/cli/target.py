"""Which suite, which interpreter, which store: options that several commands share."""

from __future__ import annotations

import functools
import os
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from flakehound.core.errors import UsageError
from flakehound.engine.launch import Target

DEFAULT_STORE = Path(".flakehound") / "flakehound.db"
_SIZES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


def store_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--store PATH`."""
    return click.option(
        "--store",
        "store_path",
        type=click.Path(path_type=Path),
        default=DEFAULT_STORE,
        show_default=True,
        help="Where runs are kept.",
    )(command)


def suite_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say how the suite's own process is started."""
    options = [
        click.option(
            "--python",
            "python",
            metavar="PATH",
            help="The suite's interpreter. Default: the active virtual environment's, else ours.",
        ),
        click.option(
            "--isolation",
            type=click.Choice(["fork", "spawn"]),
            help="fork: copy a collected session (fast, the default where it is faithful). "
            "spawn: a new interpreter for every run.",
        ),
        click.option(
            "--keep-plugin",
            "keep_plugins",
            multiple=True,
            metavar="NAME",
            help="Leave a plugin on that we would switch off (randomly, rerunfailures, xdist, cov, ...).",
        ),
        click.option(
            "--test-timeout",
            metavar="T",
            help="A test that takes longer hangs. Default: 20 times the slowest seen, at least 10s.",
        ),
        click.option(
            "--memory-limit",
            metavar="SIZE",
            help="Address space of one child, such as 2G. Default: none of ours.",
        ),
    ]
    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(options), command)


def target_from(
    pytest_args: tuple[str, ...],
    python: str | None,
    keep_plugins: tuple[str, ...] = (),
    memory_limit: str | None = None,
) -> Target:
    """The suite in the current folder."""
    return Target(
        python=python_path(python),
        cwd=Path.cwd(),
        pytest_args=pytest_args,
        keep_plugins=keep_plugins,
        memory_bytes=size_in_bytes(memory_limit) if memory_limit is not None else None,
    )


def python_path(named: str | None) -> str:
    """The suite's interpreter: as named, else the active virtual environment's, else our own."""
    if named is not None:
        found = shutil.which(named) or (named if os.access(named, os.X_OK) and os.path.isfile(named) else None)
        if found is None:
            raise UsageError(f"{named!r} is not an interpreter", remedy="flakehound hunt --python python3")
        return os.path.abspath(found)
    active = os.environ.get("VIRTUAL_ENV")
    if active and os.path.realpath(active) != os.path.realpath(sys.prefix):
        theirs = os.path.join(active, "bin", "python")
        if os.access(theirs, os.X_OK):
            return theirs
    return sys.executable


def test_limit_from(named: str | None, command: str) -> float | None:
    """The user's limit for one test, None when none is named."""
    if named is None:
        return None
    from flakehound.engine.budget import seconds

    return seconds(named, remedy=f"flakehound {command} --test-timeout 30s")


def size_in_bytes(text: str) -> int:
    """`2G`, `512M` as bytes."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmg]?)i?b?", text.strip().lower())
    if match is None or float(match[1]) <= 0:
        raise UsageError(f"{text!r} is not a size", remedy="flakehound hunt --memory-limit 2G")
    return int(float(match[1]) * _SIZES[match[2]])


def check_writable(json_file: Path | None) -> None:
    """Better before the runs than after them."""
    if json_file is None:
        return
    try:
        with open(json_file, "a"):
            pass
    except OSError as problem:
        raise UsageError(
            f"cannot write {str(json_file)!r}: {problem.strerror}", remedy="flakehound hunt --json flakehound.json"
        ) from problem


def seed_from(named: int | None) -> int:
    """The user's seed, or a fresh one that the report prints."""
    return named if named is not None else secrets.randbelow(2**31)


def plain_arguments(pytest_args: Iterable[str], switched_off: Iterable[str]) -> tuple[str, ...]:
    """The user's pytest arguments, and what keeps an order as it is given where we switched a shuffler off."""
    shuffled = ("-p", "no:randomly") if "pytest-randomly" in switched_off else ()
    return (*pytest_args, *shuffled)


def commit_of(folder: Path) -> str | None:
    """The checked-out commit, marked when files differ from it; None without git."""
    try:
        told = subprocess.run(
            ["git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude", "*"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=20,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return told.stdout.strip() or None if told.returncode == 0 else None
