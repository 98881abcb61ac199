"""Suites of sdists from PyPI, installed with packages of the time of the study of Gruber et al. (2021).

Used by `cannier_training.py`, `measured_training.py` and `field.py`. A suite that cannot be installed or
run is skipped; `skipped.csv` in the work folder has the reasons.
"""

from __future__ import annotations

import configparser
import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

from prepared_subjects import prepare_subject

EXAMPLE_SUITE = Path(__file__).parents[1] / "examples" / "shaky"
STUDY_DATE = "2021-01-01"  # the study's commits are of 2020
PYTHON = "3.9"  # the newest version for which most packages had wheels by then
PYTEST_ARGS = ("-p", "no:cacheprovider", "-o", "addopts=")
# What suites of that time need in addition to the package itself; projects have no common way to list it.
TEST_PACKAGES = (
    *("pytest", "coverage", "setuptools<52", "wheel", "mock", "six", "pytest-mock", "pytest-asyncio"),
    *("requests-mock", "responses", "freezegun", "hypothesis", "parameterized", "httpretty", "testfixtures"),
    *("nose", "ddt"),
)
TOO_LARGE = re.compile(r"\b(tensorflow|torch|mxnet|keras|pyspark|opencv|mpi4py)\b", re.IGNORECASE)
INSTALL_LIMIT_S = 300.0
PLAIN_RUN_LIMIT_S = 60.0
MAX_SUITE_S = 5.0  # slower suites are skipped, because a hunt takes about 60 times as long
PREPARED_AHEAD = 5  # suites that are prepared before their turn


class SuiteSkipped(Exception):
    """A suite that cannot be used, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A source tree that can be hunted."""

    name: str
    tree: Path
    python: str
    pytest_args: tuple[str, ...] = PYTEST_ARGS
    env: Mapping[str, str] = field(default_factory=dict)


# ------------------------------------------------------------------ commands


def clean_environment() -> dict[str, str]:
    """Our environment without the variables that would change a suite, or where pip searches."""
    removed = ("PYTHONPATH", "PYTHONHASHSEED", "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PIP_FIND_LINKS")
    return {name: value for name, value in os.environ.items() if name not in removed}


def run_with_limit(
    command: Sequence[str | Path], limit_s: float, **options: object
) -> subprocess.CompletedProcess[str]:
    """Run a command in a new session, and kill the whole session when the time is over."""
    words = list(map(str, command))
    with subprocess.Popen(  # type: ignore[call-overload]
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace",
        start_new_session=True, **{"env": clean_environment(), **options},
    ) as process:  # fmt: skip
        try:
            output, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired as timeout:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            shown = f"{Path(words[0]).name} {words[1]} {words[2]}"
            raise SuiteSkipped(f"{shown} took more than {limit_s:g} s") from timeout
    return subprocess.CompletedProcess(words, process.returncode, output)


def output_of(command: Sequence[str | Path], limit_s: float, **options: object) -> str:
    """Run a command and return its output; its last error line is the reason to skip the suite if it fails."""
    done = run_with_limit(command, limit_s, **options)
    if done.returncode:
        lines = [line.strip() for line in done.stdout.splitlines()]
        errors = [line for line in lines if re.search(r"error|No module|Could not", line, re.I)]
        raise SuiteSkipped((errors or ["it failed without a message"])[-1][:160])
    return done.stdout


def find_interpreter(version: str) -> str:
    """A Python of that version, from pyenv or the path."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [str(path / "bin" / "python") for path in sorted(root.glob(f"{version}.*"))]
    return found[-1] if found else shutil.which(f"python{version}") or sys.exit(f"no Python {version} here")


def wait_while_paused(pause: Path | None) -> None:
    """Wait until the file is removed."""
    while pause is not None and pause.exists():
        time.sleep(5)


# ------------------------------------------------------------------ suites


class SuiteMaker:
    """Prepares suites in a work folder; what is already there is used again."""

    def __init__(self, work: Path, index: str, pause: Path | None) -> None:
        self._pause = pause
        self._work = work
        self._index = index
        self._pip = work / "tool" / "bin" / "python"
        if not self._pip.exists():
            output_of([find_interpreter(PYTHON), "-m", "venv", work / "tool"], INSTALL_LIMIT_S)
        self._template = work / "kit"  # an environment with the test packages, copied for each suite
        if not (self._template / "ready").exists():
            output_of([find_interpreter(PYTHON), "-m", "venv", "--without-pip", self._template], INSTALL_LIMIT_S)
            self._install(self._template / "bin" / "python", *TEST_PACKAGES)
            (self._template / "ready").touch()

    def subject(self, key: str) -> Suite:
        """A prepared subject, with coverage installed so that lines can be traced."""
        subject = prepare_subject(key, self._work / "subjects")
        output_of([subject.python, "-m", "pip", "install", "-q", "coverage"], INSTALL_LIMIT_S)
        # The name of the PyPI project: under another name the project would count twice.
        name = key.rpartition("-")[0]
        return Suite(
            name=name,
            tree=subject.tree,
            python=subject.python,
            pytest_args=subject.pytest_args,
            env=subject.env,
        )

    def example(self) -> Suite:
        """Our own example suite."""
        return Suite(name="shaky", tree=EXAMPLE_SUITE, python=sys.executable)

    def sdist(self, name: str) -> Suite:
        """The newest sdist before the study date, installed with its requirements."""
        home = self._work / "sdists" / name
        tree, python = home / "tree", home / "venv" / "bin" / "python"
        if not (home / "ready").exists():
            wait_while_paused(self._pause)
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir(parents=True)
            self._fetch(name, home, tree)
            shutil.copytree(self._template, home / "venv", symlinks=True)
            self._install(python, f"{tree}[test,tests,testing,dev]")
            # These may fail: a suite with some of its requirements is better than none.
            for file in _requirement_files(tree):
                run_with_limit(self._install_command(python, "-r", str(file)), INSTALL_LIMIT_S)
            for requirement in _tox_requirements(tree):
                run_with_limit(self._install_command(python, requirement), INSTALL_LIMIT_S)
            (home / "ready").touch()
        return Suite(name=name, tree=tree, python=str(python))

    def _fetch(self, name: str, home: Path, tree: Path) -> None:
        download = ("download", "-q", "--no-deps", "--no-binary", name, "-i", self._index, "-d", home / "archive")
        output_of([self._pip, "-m", "pip", *download, name], INSTALL_LIMIT_S, env=_without_pip_settings())
        (archive,) = (home / "archive").iterdir()
        shutil.unpack_archive(archive, home / "unpacked")
        (unpacked,) = (home / "unpacked").iterdir()
        large = TOO_LARGE.search("\n".join(_requirement_texts(unpacked)))
        if large:
            raise SuiteSkipped(f"needs {large.group()}, which is too large")
        unpacked.rename(tree)

    def _install_command(self, python: Path, *words: str) -> list[str | Path]:
        return [self._pip, "-m", "pip", "--python", python, "install", "-q", "-i", self._index, *words]

    def _install(self, python: Path, *words: str) -> None:
        output_of(self._install_command(python, *words), INSTALL_LIMIT_S, env=_without_pip_settings())


def _without_pip_settings() -> dict[str, str]:
    return {**clean_environment(), "PIP_CONFIG_FILE": os.devnull}


def _requirement_texts(tree: Path) -> Iterator[str]:
    for path in (*tree.glob("setup.*"), *tree.glob("*requirements*.txt"), *tree.glob("pyproject.toml")):
        yield path.read_text(encoding="utf-8", errors="replace")


def _requirement_files(tree: Path) -> list[Path]:
    return sorted(
        {*tree.glob("*requirements*.txt"), *tree.glob("requirements/*.txt"), *tree.glob("tests/req*.txt")}
    )[:4]


def _tox_requirements(tree: Path) -> list[str]:
    """The plain package names that tox installs for the tests."""
    settings = configparser.RawConfigParser(strict=False)
    try:
        settings.read(tree / "tox.ini", encoding="utf-8")
        deps = settings.get("testenv", "deps", fallback="")
    except (configparser.Error, UnicodeDecodeError):
        return []
    return [line.strip() for line in deps.splitlines() if re.fullmatch(r"\s*[A-Za-z][\w.-]*\s*", line)][:8]


# ------------------------------------------------------------------ one suite after the other


def process_suites(
    suites: Sequence[tuple[str, partial[Suite]]],
    step: Callable[[Suite], str],
    work: Path,
    seconds: float,
    pause: Path | None,
) -> None:
    """Prepare suites in the background and take one step with each; `step` returns a sentence to print.

    No suite is started after `seconds`. The reasons of skipped suites are appended to `skipped.csv`.
    """
    deadline, rest = time.monotonic() + seconds, iter(suites)
    with ThreadPoolExecutor(2) as pool:
        ahead = deque((name, pool.submit(make)) for name, make in islice(rest, PREPARED_AHEAD))
        while ahead and time.monotonic() < deadline:
            name, future = ahead.popleft()
            ahead += [(another, pool.submit(make)) for another, make in islice(rest, 1)]
            try:
                suite = future.result()
                wait_while_paused(pause)
                message = step(suite)
            except (SuiteSkipped, OSError, shutil.ReadError, ValueError, subprocess.SubprocessError) as problem:
                message = f"skipped: {problem}"
                with (work / "skipped.csv").open("a", newline="", encoding="utf-8") as file:
                    csv.writer(file).writerow([name, str(problem)])
            print(f"{time.strftime('%H:%M:%S')} {name}: {message}", flush=True)
        pool.shutdown(cancel_futures=True)


def skipped_suites(work: Path) -> set[str]:
    """The names of the suites that were skipped before."""
    path = work / "skipped.csv"
    return {line.partition(",")[0] for line in path.read_text().splitlines()} if path.exists() else set()
