"""How long tests of real suites take: one plain pytest run of each, set-up and tear-down included.

The suites are the prepared subjects and well-known packages whose sdists ship their tests; the list was fixed
before any was run. What cannot be installed or run within its time is left out and told. The seconds are the costs
of `flakehound study policies --costs measured`.

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
from pathlib import Path

from plain_check import PlainCheck
from prepared import SUBJECTS, prepared_subject, subject_keys
from running import temporary_folder

import flakehound.learn
from flakehound.learn.evaluation.duration_samples import MEASURED_FILE

_OUT = Path(flakehound.learn.__file__).parent / "facts" / MEASURED_FILE
PACKAGES = (
    *("attrs", "boltons", "more-itertools", "humanize", "marshmallow", "cachetools", "tabulate", "toolz", "click"),
    *("jinja2", "sortedcontainers", "pyparsing", "werkzeug", "itsdangerous", "python-dateutil", "tenacity"),
    *("rich", "jsonschema", "networkx", "pluggy", "httpx", "structlog", "arrow", "wrapt"),
)
# What their suites need beside the package itself; nobody lists it in one way.
KIT = ("pytest<9", "hypothesis", "freezegun", "pytest-asyncio", "trio", "cloudpickle", "simplejson", "pytz", "six")
INSTALL_S, RUN_S = 300.0, 240.0
LEAST_TESTS = 5


class Unusable(Exception):
    """A suite that gives no times, and why."""


def times_of(command: Sequence[str], tree: Path, more: Mapping[str, str]) -> list[float]:
    """Seconds of every test that passed in one run."""
    with temporary_folder() as folder:
        report = folder / "junit.xml"
        words = [*command, f"--junitxml={report}", "-o", "junit_duration_report=total", "-p", "no:randomly"]
        env = {**{name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, **more}
        try:
            subprocess.run(words, cwd=tree, env=env, capture_output=True, timeout=RUN_S, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise Unusable(f"takes more than {RUN_S:.0f} s") from None
        if not report.exists():
            raise Unusable("pytest wrote no report")
        cases = ElementTree.parse(report).iter("testcase")
        found = [float(case.get("time", "0")) for case in cases if len(case) == 0]
    if len(found) < LEAST_TESTS:
        raise Unusable(f"{len(found)} tests passed")
    return found


def of_subject(key: str) -> list[float]:
    subject = prepared_subject(key, SUBJECTS)
    check = PlainCheck(subject)
    with temporary_folder() as folder:
        tree = check.copy_into(folder)
        command = [subject.python, "-m", "pytest", "-q", *subject.pytest_args]
        return times_of(command, tree, check.environment_of(tree))


def of_package(name: str, work: Path) -> list[float]:
    home = work / name
    python = home / "venv" / "bin" / "python"
    if not python.exists():
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        _installed(name, home)
    (tree,) = (one for one in (home / "tree").iterdir() if one.is_dir())
    return times_of([str(python), "-m", "pytest", "-q", "-o", "addopts="], tree, {})


def _installed(name: str, home: Path) -> None:
    _ran(sys.executable, "-m", "venv", str(home / "venv"))
    pip = [str(home / "venv" / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "-qq"]
    _ran(*pip, "download", "--no-deps", "--no-binary", ":all:", "-d", str(home), name)
    (sdist,) = home.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(home / "tree", filter="data")
    (tree,) = (home / "tree").iterdir()
    _ran(*pip, "install", str(tree), *KIT)


def _ran(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=INSTALL_S, stdin=subprocess.DEVNULL)
    except subprocess.SubprocessError as problem:
        raise Unusable(f"{' '.join(command[1:5])}: {type(problem).__name__}") from problem


def all_times(work: Path) -> Iterator[tuple[str, list[float]]]:
    asked = [(key, lambda key=key: of_subject(key)) for key in subject_keys()]
    asked += [(name, lambda name=name: of_package(name, work)) for name in PACKAGES]
    for name, measure in asked:
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
    asked = parser.parse_args()
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("suite", "seconds"))
    for name, seconds in all_times(asked.work):
        writer.writerows((name, f"{one:.3g}") for one in sorted(seconds))
    with suppress(FileNotFoundError):
        asked.out.unlink()
    asked.out.write_bytes(gzip.compress(text.getvalue().encode(), 9, mtime=0))
    print(asked.out)


if __name__ == "__main__":
    main()
