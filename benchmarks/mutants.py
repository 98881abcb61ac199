"""Failures that mutants of real projects cause: `pytest --flakehound` must not call them flaky or unrelated.

Each project's sdist becomes a git repository with one commit. A mutant is one small uncommitted change of its code
or data. For each mutant that makes a test fail under plain pytest, the files of the failing tests are run with
`--flakehound`, and every verdict must be `likely-real` or `undecided`. The store has a run in which the tests
passed at the commit, because no failure is called unrelated without one.
"""

from __future__ import annotations

import json
import os
import queue
import random
import shutil
import signal
import subprocess
import tarfile
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from plugin_cost import write_installed_flakehound
from revisions import CACHE, ensure_environment, fetch_sdist
from running import temporary_folder
from side_by_side import Row, benchmark_parser, report_results
from source_mutants import Mutant, changes_program, data_mutants_of, mutants_of

PYTEST = ("-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider")
PLAIN_LIMIT_S = 120.0
TRIAGE_LIMIT_S = 300.0
MAX_TEST_FILES = 2  # files of failing tests that are run per mutant
MAX_FAILING_TESTS = 10  # of these files; with more failures a triage reruns and judges none
FAILING_TESTS_BY_NAME = 5  # run by name when there are more
MAX_DIFF = 3000  # characters of a change that are shown
FORBIDDEN_VERDICTS = ("flaky", "unrelated")
_DATA_SUFFIXES = (".json", ".txt", ".csv", ".yaml", ".yml", ".ini", ".po", ".mo", ".html", ".xml")
_EXCLUDED_NAMES = ("test", "doc", "setup.py", "conftest", "example", "misc", "bench", "conf.py")
# A plugin that writes the ids of failed tests, because they cannot be read from pytest's output verbatim.
_FAILURE_LISTENER = """
import os

def pytest_runtest_logreport(report):
    if report.failed:
        with open(os.environ["FAILED_TESTS"], "a", encoding="utf-8") as file:
            file.write(report.nodeid + "\\n")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A release of a project, and the folders of its modules and tests in the sdist."""

    name: str
    version: str
    requirements: tuple[str, ...] = ()
    source: str = "."  # added to PYTHONPATH
    tests: str = "tests"


RELEASES = (
    Release(name="boltons", version="26.2.0"),
    Release(name="humanize", version="4.16.0", requirements=("freezegun",), source="src"),
    Release(name="cachetools", version="8.0.0", source="src"),
    Release(name="toolz", version="1.2.0", tests="toolz/tests"),
    Release(name="tabulate", version="0.10.0", requirements=("wcwidth",), tests="test"),
    Release(name="natsort", version="8.4.0", requirements=("hypothesis", "pytest-mock")),
    Release(name="xmltodict", version="1.0.4"),
    Release(name="h11", version="0.16.0", tests="h11/tests"),
)


# ---- a project as a repository


class Repository:
    """A copy of a project that contains one mutant at a time."""

    def __init__(self, release: Release, folder: Path, python: Path, ours: Path) -> None:
        self.release, self.folder = release, folder
        self._python, self._ours = python, ours
        path = os.pathsep.join([str(folder / release.source), str(ours)])
        self._env = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        self._env.pop("PYTEST_ADDOPTS", None)
        self.deselected: tuple[str, ...] = ()

    def commit(self) -> None:
        """Make a git repository with one commit."""
        git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false"]
        for words in (["init", "-q", "-b", "main"], ["add", "-A", "-f"], ["commit", "-q", "-m", "as released"]):
            subprocess.run([*git, *words], cwd=self.folder, check=True)

    def failing_tests(self) -> tuple[str, ...] | None:
        """The tests that fail under plain pytest; None if it hangs or does not collect."""
        failed_file = self.folder.parent / f"{self.folder.name}.failed"
        failed_file.unlink(missing_ok=True)
        env = {**self._env, "FAILED_TESTS": str(failed_file)}
        words = [*PYTEST, "-p", "no:flakehound", "-p", "failure_listener", self.release.tests]
        if self._run(words, env, PLAIN_LIMIT_S) not in (0, 1):
            return None
        return tuple(dict.fromkeys(failed_file.read_text().splitlines())) if failed_file.exists() else ()

    def store_green_run(self) -> None:
        """Run the tests once at the commit, with a store."""
        self._run([*PYTEST, "--flakehound", self.release.tests], self._env, PLAIN_LIMIT_S)

    def triage(self, tests: Sequence[str]) -> list[dict[str, Any]] | None:
        """Run the files of failing tests with `--flakehound`; the verdicts, or None if there is no answer."""
        answer = self.folder.parent / f"{self.folder.name}.json"
        answer.unlink(missing_ok=True)
        words = [*PYTEST, "--flakehound", "--flakehound-json", str(answer)]
        self._run([*words, *self._files_or_tests(tests)], self._env, TRIAGE_LIMIT_S)
        failures: list[dict[str, Any]] | None = None
        if answer.exists():
            failures = json.loads(answer.read_text())["failures"]
        return failures

    def _files_or_tests(self, tests: Sequence[str]) -> list[str]:
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))[:MAX_TEST_FILES]
        inside = [test for test in tests if test.partition("::")[0] in files]
        return files if len(inside) <= MAX_FAILING_TESTS else list(tests[:FAILING_TESTS_BY_NAME])

    def copy_to(self, folder: Path) -> Repository:
        """A copy in another folder, with a green run in its own store, because stores know runs by folder."""
        shutil.copytree(self.folder, folder, symlinks=True)
        copy = Repository(self.release, folder, self._python, self._ours)
        copy.deselected = self.deselected
        copy.store_green_run()
        return copy

    def diff(self) -> str:
        """The uncommitted change."""
        done = subprocess.run(["git", "diff", "-U1"], cwd=self.folder, capture_output=True, text=True, check=True)
        return done.stdout[:MAX_DIFF]

    def _run(self, words: Sequence[str], env: dict[str, str], limit_s: float) -> int | None:
        deselect = [word for test in self.deselected for word in ("--deselect", test)]
        process = subprocess.Popen(
            [str(self._python), *words, *deselect],
            cwd=self.folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _kill_group(process)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
    finally:
        process.wait()


def make_repository(release: Release, cache: Path, folder: Path, ours: Path) -> Repository:
    """Unpack and commit the release; tests that fail without a mutant are deselected."""
    tree = folder / release.name
    with tarfile.open(fetch_sdist(cache, release.name, release.version)) as archive:
        archive.extractall(folder / "x", filter="data")
    (unpacked,) = (folder / "x").iterdir()
    unpacked.rename(tree)
    python = ensure_environment(cache, f"mutants-{release.name}", release.requirements)
    repository = Repository(release, tree, python, ours)
    repository.commit()
    failing = repository.failing_tests()
    assert failing is not None, f"{release.name} does not collect"
    repository.deselected = failing
    repository.store_green_run()
    return repository


def shuffled_mutants(repository: Repository, seed: int) -> list[Mutant]:
    """All mutants of a project in random order, the kinds in turn."""
    by_kind: dict[str, list[Mutant]] = {}
    for path in sorted(repository.folder.rglob("*")):
        name = path.relative_to(repository.folder).as_posix()
        if not path.is_file() or name.startswith(".") or any(word in name for word in _EXCLUDED_NAMES):
            continue
        if path.suffix == ".py":
            mutants = mutants_of(name, path.read_bytes())
        elif path.suffix in _DATA_SUFFIXES and "/" in name and ".egg-info" not in name:
            mutants = data_mutants_of(name, path.read_bytes())
        else:
            continue
        for mutant in mutants:
            by_kind.setdefault(mutant.kind, []).append(mutant)
    rng = random.Random(seed)
    for kind in sorted(by_kind):
        rng.shuffle(by_kind[kind])
    shuffled: list[Mutant] = []
    while any(by_kind.values()):
        shuffled += [by_kind[kind].pop() for kind in sorted(by_kind) if by_kind[kind]]
    return shuffled


# ---- the check


@dataclass(slots=True)
class Tally:
    """Counts of the mutants of one project."""

    name: str
    tried: int = 0
    unusable: int = 0  # hang, or do not collect
    survived: int = 0
    judged: int = 0  # make a test fail, and have verdicts
    verdicts: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)


_M = TypeVar("_M")


class MutantCheck(Generic[_M]):
    """Judges mutants of one project in several threads until there are enough."""

    def __init__(self, repository: Repository, wanted: int, jobs: int) -> None:
        self._wanted = wanted
        self._copies: queue.SimpleQueue[Repository] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self.tally = Tally(name=repository.release.name)
        for number in range(jobs):
            self._copies.put(repository.copy_to(repository.folder.with_name(f"{repository.folder.name}-{number}")))

    def run(self, mutants: Sequence[_M], jobs: int) -> Tally:
        """Try the mutants until enough of them are judged."""
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(self._try, mutants))
        return self.tally

    def _try(self, mutant: _M) -> None:
        if self.tally.judged >= self._wanted:
            return
        repository = self._copies.get()
        try:
            self._make_and_judge(repository, mutant)
        finally:
            self._copies.put(repository)

    def _make_and_judge(self, repository: Repository, mutant: _M) -> None:
        raise NotImplementedError

    def _judge(self, repository: Repository, mutant: Mutant) -> None:
        failing = repository.failing_tests()
        failures = repository.triage(failing) if failing else None
        with self._lock:
            self.tally.tried += 1
            if failing is None:
                self.tally.unusable += 1
            elif not failing:
                self.tally.survived += 1
            elif failures is None:
                self.tally.unanswered.append(f"{mutant.kind} in {mutant.path}: no answer\n{repository.diff()}")
            else:
                self._count(repository, mutant, failures)

    def _count(self, repository: Repository, mutant: Mutant, failures: Sequence[dict[str, Any]]) -> None:
        self.tally.judged += 1
        self.tally.kinds[mutant.kind] += 1
        for failure in failures:
            self.tally.verdicts[failure["verdict"]] += 1
            if failure["verdict"] in FORBIDDEN_VERDICTS:
                self.tally.violations.append(
                    f"{mutant.kind} in {mutant.path}: `{failure['id']}` is called {failure['verdict']}: "
                    f"{failure['evidence']}\n{repository.diff()}"
                )
        print(
            f"  {self.tally.name} {self.tally.judged} of {self._wanted}: {mutant.kind} in {mutant.path}, "
            f"{len(failures)} failures, {dict(self.tally.verdicts)}, violations: {len(self.tally.violations)}",
            flush=True,
        )


class SourceCheck(MutantCheck[Mutant]):
    """Judges mutants that replace a part of a file."""

    def _make_and_judge(self, repository: Repository, mutant: Mutant) -> None:
        file = repository.folder / mutant.path
        content = file.read_bytes()
        try:
            if changes_program(mutant, content):
                file.write_bytes(mutant.applied_to(content))
                self._judge(repository, mutant)
        finally:
            file.write_bytes(content)


def row(tally: Tally) -> Row:
    """The row of one project."""
    verdicts = ", ".join(f"{number} {verdict}" for verdict, number in sorted(tally.verdicts.items()))
    return Row(
        job=f"{tally.name}: {tally.judged} mutants",
        ours=f"{sum(tally.verdicts.values())} failures: {verdicts}",
        peer=f"{tally.tried} tried: {tally.survived} survive, {tally.unusable} hang or do not collect",
        measured=f"{len(tally.violations)} called flaky or unrelated",
        goal="0",
        met=not tally.violations and not tally.unanswered,
    )


def check_projects(
    description: str | None, releases: Sequence[Release], check_one: Callable[[Repository, int, int, int], Tally]
) -> None:
    """A benchmark as a command: `check_one` gets a repository, the number of mutants, their seed, and the jobs."""
    parser = benchmark_parser(description, repeats=1)
    parser.add_argument(
        "--mutants", type=int, default=100, help="mutants to judge in all projects (default %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the choice of mutants (default %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at once (default %(default)s)")
    parser.add_argument("--cache", type=Path, default=CACHE, help="sdists and environments (default %(default)s)")
    parser.add_argument("names", nargs="*", metavar="PROJECT", help="default: all")
    options = parser.parse_args()
    chosen = [release for release in releases if not options.names or release.name in options.names]
    tallies = []
    for number, release in enumerate(chosen):
        wanted = options.mutants * (number + 1) // len(chosen) - options.mutants * number // len(chosen)
        with temporary_folder() as folder:
            repository = make_repository(release, options.cache, folder, installed_plugins(folder))
            tallies.append(check_one(repository, wanted, options.seed, options.jobs))
    notes = [f"violation in {tally.name}: {text}" for tally in tallies for text in tally.violations]
    notes += [f"no answer in {tally.name}: {text}" for tally in tallies for text in tally.unanswered]
    notes += [f"{tally.name}: kinds {dict(sorted(tally.kinds.items()))}" for tally in tallies]
    report_results([row(tally) for tally in tallies], options.json, notes)


def installed_plugins(folder: Path) -> Path:
    """A folder for PYTHONPATH with flakehound as if installed, and the plugin that writes ids of failed tests."""
    ours = folder / "ours"
    ours.mkdir()
    write_installed_flakehound(ours)
    (ours / "failure_listener.py").write_text(_FAILURE_LISTENER)
    return ours


def check_source_mutants(repository: Repository, wanted: int, seed: int, jobs: int) -> Tally:
    """Judge mutants of one project's files until `wanted` of them make a test fail."""
    return SourceCheck(repository, wanted, jobs).run(shuffled_mutants(repository, seed), jobs)


def main() -> None:
    check_projects(__doc__, RELEASES, check_source_mutants)


if __name__ == "__main__":
    main()
