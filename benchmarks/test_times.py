"""Durations of the tests of real suites: one plain pytest run of each, set-up and tear-down included.

The suites are the prepared subjects and well-known packages whose sdists contain their tests; the list was fixed
before any of them was run. A suite that cannot be installed or run in time is left out, and the reason is printed.
The seconds are the costs of `flakehound study policies --costs measured`.

    python benchmarks/test_times.py [--work DIR] [--out FILE.csv.gz]
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from plain_check import PlainCheck
from prepared_subjects import SUBJECTS_FOLDER, prepare_subject, subject_keys
from running import temporary_folder

import flakehound.learn
from flakehound.learn.evaluation.duration_samples import MEASURED_FILE

_OUT = Path(flakehound.learn.__file__).parent / "facts" / MEASURED_FILE
PACKAGES = (
    *("attrs", "boltons", "more-itertools", "humanize", "marshmallow", "cachetools", "tabulate", "toolz", "click"),
    *("jinja2", "sortedcontainers", "pyparsing", "werkzeug", "itsdangerous", "python-dateutil", "tenacity"),
    *("rich", "jsonschema", "networkx", "pluggy", "httpx", "structlog", "arrow", "wrapt"),
)
# What their suites need in addition to the package itself; projects have no common way to list it.
TEST_PACKAGES = (
    "pytest<9",
    "hypothesis",
    "freezegun",
    "pytest-asyncio",
    "trio",
    "cloudpickle",
    "simplejson",
    "pytz",
    "six",
)
INSTALL_LIMIT_S, RUN_LIMIT_S = 300.0, 240.0
MIN_TESTS = 5


class Unusable(Exception):
    """A suite without usable durations, and why."""


def measure_durations_s(command: Sequence[str], tree: Path, extra_env: Mapping[str, str]) -> list[float]:
    """Run a suite once; the duration of every test that passed."""
    with temporary_folder() as folder:
        report = folder / "junit.xml"
        words = [*command, f"--junitxml={report}", "-o", "junit_duration_report=total", "-p", "no:randomly"]
        env = {**{name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, **extra_env}
        try:
            subprocess.run(
                words, cwd=tree, env=env, capture_output=True, timeout=RUN_LIMIT_S, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            raise Unusable(f"takes more than {RUN_LIMIT_S:.0f} s") from None
        if not report.exists():
            raise Unusable("pytest wrote no report")
        cases = ElementTree.parse(report).iter("testcase")
        durations_s = [float(case.get("time", "0")) for case in cases if len(case) == 0]
    if len(durations_s) < MIN_TESTS:
        raise Unusable(f"{len(durations_s)} tests passed")
    return durations_s


def measure_subject(key: str) -> list[float]:
    """Durations of the tests of a prepared subject."""
    subject = prepare_subject(key, SUBJECTS_FOLDER)
    check = PlainCheck(subject)
    with temporary_folder() as folder:
        tree = check.copy_into(folder)
        command = [subject.python, "-m", "pytest", "-q", *subject.pytest_args]
        return measure_durations_s(command, tree, check.environment_of(tree))


def measure_package(name: str, work: Path) -> list[float]:
    """Durations of the tests in the newest sdist of a package."""
    home = work / name
    python = home / "venv" / "bin" / "python"
    if not python.exists():
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        _install(name, home)
    (tree,) = (path for path in (home / "tree").iterdir() if path.is_dir())
    return measure_durations_s([str(python), "-m", "pytest", "-q", "-o", "addopts="], tree, {})


def _install(name: str, home: Path) -> None:
    _run(sys.executable, "-m", "venv", str(home / "venv"))
    pip = [str(home / "venv" / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "-qq"]
    _run(*pip, "download", "--no-deps", "--no-binary", ":all:", "-d", str(home), name)
    (sdist,) = home.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(home / "tree", filter="data")
    (tree,) = (home / "tree").iterdir()
    _run(*pip, "install", str(tree), *TEST_PACKAGES)


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=INSTALL_LIMIT_S, stdin=subprocess.DEVNULL)
    except subprocess.SubprocessError as problem:
        raise Unusable(f"{' '.join(command[1:5])}: {type(problem).__name__}") from problem


def measure_all(work: Path) -> Iterator[tuple[str, list[float]]]:
    """Name and durations of every usable suite."""
    suites = [(key, partial(measure_subject, key)) for key in subject_keys()]
    suites += [(name, partial(measure_package, name, work)) for name in PACKAGES]
    for name, measure in suites:
        try:
            seconds = measure()
        except Unusable as problem:
            print(f"{name}: left out, {problem}", flush=True)
            continue
        print(f"{name}: {len(seconds)} tests, {sum(seconds):.1f} s", flush=True)
        yield name, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", type=Path, default=Path.home() / ".cache" / "flakehound-times")
    parser.add_argument("--out", type=Path, default=_OUT)
    options = parser.parse_args()
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("suite", "seconds"))
    for name, seconds in measure_all(options.work):
        writer.writerows((name, f"{duration_s:.3g}") for duration_s in sorted(seconds))
    with suppress(FileNotFoundError):
        options.out.unlink()
    options.out.write_bytes(gzip.compress(text.getvalue().encode(), 9, mtime=0))
    print(options.out)


if __name__ == "__main__":
    main()
