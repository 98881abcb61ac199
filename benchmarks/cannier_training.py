"""Make the table of the default model of `hunt --policy cannier`: real hunts that measure, in real suites.

Suites are the prepared subjects, examples/shaky, and sdists from PyPI: projects of Gruber et al. (2021) that the
static table names, those with the most flaky tests first, in turns with a few others. Each sdist gets packages of
the study's time. For each suite: a fresh copy of its tree, one plain run, `flakehound hunt --measure`, `flakehound
data export`. Labels are what these hunts saw, never what the study saw. What cannot be installed or run is left
out; `skipped.csv` says why.

    python benchmarks/cannier_training.py --work DIR [--most 60] [--seconds 2400] [--join] [NAME ...]
"""

from __future__ import annotations

import argparse
import configparser
import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, zip_longest
from pathlib import Path

from index_of_day import index_before
from prepared import prepared_subject, subject_keys
from running import own_environment

from flakehound.learn.measured.table import FILE, pack_table
from flakehound.learn.static.table import shipped_bytes, shipped_samples

OUT = Path(__file__).parents[1] / "src" / "flakehound" / "learn" / "facts" / FILE
_SHAKY = Path(__file__).parents[1] / "examples" / "shaky"
DAY = "2021-01-01"  # the study's commits are of 2020
PYTHON = "3.9"  # the newest that had wheels of most packages by then
PYTEST_ARGS = ("-p", "no:cacheprovider", "-o", "addopts=")
# What suites of that time need beside the package itself; nobody lists it in one way.
KIT = (
    *(
        "pytest",
        "coverage",
        "setuptools<52",
        "wheel",
        "mock",
        "six",
        "pytest-mock",
        "pytest-asyncio",
        "requests-mock",
    ),
    *("responses", "freezegun", "hypothesis", "parameterized", "httpretty", "testfixtures", "nose", "ddt"),
)
TOO_LARGE = re.compile(r"\b(tensorflow|torch|mxnet|keras|pyspark|opencv|mpi4py)\b", re.IGNORECASE)
INSTALL_S, PLAIN_S, HUNT_S = 300.0, 60.0, 300.0  # limits
SLOWEST_S = 5.0  # a suite that takes longer is left out: its hunt takes some 60 suite times
MOST_TESTS = 1200
# Not of the study, as its NOD tests are few: packages about time, chance, threads, files and queues, whose tests
# are the likeliest to be NOD. Whether they are, the hunts say.
MORE = (
    *(
        "async-timeout",
        "asyncio-throttle",
        "codetiming",
        "pyswarms",
        "timeout-decorator",
        "ratelimiter",
        "polling2",
    ),
    *(
        "circuitbreaker",
        "contexttimer",
        "pyinstrument",
        "waiting",
        "token-bucket",
        "pybreaker",
        "watchdog",
        "stopit",
    ),
    *("bayesian-optimization", "retry", "simanneal", "watchgod", "sh", "noisyopt", "curio", "emcee", "mimesis"),
    *("aiostream", "aiolimiter", "janus", "persist-queue", "diskcache", "filelock", "humanize", "boltons", "glom"),
    *(
        "structlog",
        "loguru",
        "names",
        "APScheduler",
        "simpy",
        "pyrate-limiter",
        "cachelib",
        "expiringdict",
        "pyee",
    ),
    *("tenacity", "backoff", "cachetools", "schedule", "toolz", "retrying", "func-timeout", "aiocache", "arrow"),
)
COUNTED = ("--runs", "20", "--shuffles", "20", "--jobs", "1")  # one at a time, as others would disturb it
SEED = "1"
AHEAD = 5  # suites that are prepared before their turn


class Skipped(Exception):
    """A suite that cannot be used, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A tree that can be hunted."""

    name: str
    tree: Path
    python: str
    pytest_args: tuple[str, ...] = PYTEST_ARGS
    env: Mapping[str, str] = field(default_factory=dict)


def clean_environment() -> dict[str, str]:
    """Ours without what would change a stranger's suite, or where pip looks."""
    ours = ("PYTHONPATH", "PYTHONHASHSEED", "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PIP_FIND_LINKS")
    return {name: value for name, value in os.environ.items() if name not in ours}


def run(command: Sequence[str | Path], limit_s: float, **options: object) -> subprocess.CompletedProcess[str]:
    """A command in a session of its own, which ends with it, whatever it started."""
    words = list(map(str, command))
    with subprocess.Popen(  # type: ignore[call-overload]
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace",
        start_new_session=True, **{"env": clean_environment(), **options},
    ) as process:  # fmt: skip
        try:
            said, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired as late:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise Skipped(f"{Path(words[0]).name} {words[1]} {words[2]} took more than {limit_s:g} s") from late
    return subprocess.CompletedProcess(words, process.returncode, said)


def checked(command: Sequence[str | Path], limit_s: float, **options: object) -> str:
    """What a command says; what it says last is why a suite is skipped where it fails."""
    done = run(command, limit_s, **options)
    if done.returncode:
        told = [
            line.strip()
            for line in done.stdout.splitlines()
            if re.search(r"error|No module|Could not", line, re.I)
        ]
        raise Skipped((told or ["it failed without a word"])[-1][:160])
    return done.stdout


# ------------------------------------------------------------------ suites


def flaky_projects() -> list[str]:
    """Projects of the study with flaky tests in their sdist, the most first; NOD ones are rare and count more."""
    seen: Counter[str] = Counter()
    for sample in shipped_samples(shipped_bytes()):
        seen[sample.project] += 3 * sample.nod + sample.order_dependent
    return sorted(seen, key=lambda name: (-seen[name], name))


def in_turns(*groups: Sequence[str]) -> list[str]:
    """One of each group, the next of each, and so on."""
    return [name for names in zip_longest(*groups) for name in names if name is not None]


def wait_while(pause: Path | None) -> None:
    """Until nobody minds."""
    while pause is not None and pause.exists():
        time.sleep(5)


class Maker:
    """Makes suites ready in a folder; what is there already is used again."""

    def __init__(self, work: Path, index: str, pause: Path | None) -> None:
        self._pause = pause
        self._work = work
        self._index = index
        self._pip = work / "tool" / "bin" / "python"
        if not self._pip.exists():
            checked([interpreter(PYTHON), "-m", "venv", work / "tool"], INSTALL_S)
        self._kit = work / "kit"  # an environment with what all suites get, to be copied
        if not (self._kit / "ready").exists():
            checked([interpreter(PYTHON), "-m", "venv", "--without-pip", self._kit], INSTALL_S)
            self._install(self._kit / "bin" / "python", *KIT)
            (self._kit / "ready").touch()

    def subject(self, key: str) -> Suite:
        """A prepared subject, in an environment that can also trace lines."""
        found = prepared_subject(key, self._work / "subjects")
        checked([found.python, "-m", "pip", "install", "-q", "coverage"], INSTALL_S)
        # Under another name than the PyPI project's, a later one would count it twice.
        name = key.rpartition("-")[0]
        return Suite(name=name, tree=found.tree, python=found.python, pytest_args=found.pytest_args, env=found.env)

    def shaky(self) -> Suite:
        """Our own example."""
        return Suite(name="shaky", tree=_SHAKY, python=sys.executable)

    def sdist(self, name: str) -> Suite:
        """The newest sdist before the day, installed with what it needs."""
        home = self._work / "sdists" / name
        tree, python = home / "tree", home / "venv" / "bin" / "python"
        if not (home / "ready").exists():
            wait_while(self._pause)
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir(parents=True)
            self._fetch(name, home, tree)
            shutil.copytree(self._kit, home / "venv", symlinks=True)
            self._install(python, f"{tree}[test,tests,testing,dev]")
            for extra in _listed_requirements(tree):
                run(self._installing(python, "-r", str(extra)), INSTALL_S)  # half of them is better than none
            for extra in _tox_requirements(tree):
                run(self._installing(python, extra), INSTALL_S)
            (home / "ready").touch()
        return Suite(name=name, tree=tree, python=str(python))

    def _fetch(self, name: str, home: Path, tree: Path) -> None:
        sources = (
            "download",
            "-q",
            "--no-deps",
            "--no-binary",
            name,
            "-i",
            self._index,
            "-d",
            home / "archive",
            name,
        )
        checked([self._pip, "-m", "pip", *sources], INSTALL_S, env=_no_settings())
        (archive,) = (home / "archive").iterdir()
        shutil.unpack_archive(archive, home / "unpacked")
        (unpacked,) = (home / "unpacked").iterdir()
        large = TOO_LARGE.search("\n".join(_requirement_texts(unpacked)))
        if large:
            raise Skipped(f"needs {large.group()}, which is too large")
        unpacked.rename(tree)

    def _installing(self, python: Path, *words: str) -> list[str | Path]:
        return [self._pip, "-m", "pip", "--python", python, "install", "-q", "-i", self._index, *words]

    def _install(self, python: Path, *words: str) -> None:
        checked(self._installing(python, *words), INSTALL_S, env=_no_settings())


def _no_settings() -> dict[str, str]:
    return {**clean_environment(), "PIP_CONFIG_FILE": os.devnull}


def _requirement_texts(tree: Path) -> Iterator[str]:
    for path in (*tree.glob("setup.*"), *tree.glob("*requirements*.txt"), *tree.glob("pyproject.toml")):
        yield path.read_text(encoding="utf-8", errors="replace")


def _listed_requirements(tree: Path) -> list[Path]:
    return sorted(
        {*tree.glob("*requirements*.txt"), *tree.glob("requirements/*.txt"), *tree.glob("tests/req*.txt")}
    )[:4]


def _tox_requirements(tree: Path) -> list[str]:
    """Plain names among what tox installs for tests."""
    settings = configparser.RawConfigParser(strict=False)
    try:
        settings.read(tree / "tox.ini", encoding="utf-8")
        deps = settings.get("testenv", "deps", fallback="")
    except (configparser.Error, UnicodeDecodeError):
        return []
    return [line.strip() for line in deps.splitlines() if re.fullmatch(r"\s*[A-Za-z][\w.-]*\s*", line)][:8]


def interpreter(version: str) -> str:
    """A Python of that version, by pyenv or by the path."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [str(path / "bin" / "python") for path in sorted(root.glob(f"{version}.*"))]
    return found[-1] if found else shutil.which(f"python{version}") or sys.exit(f"no Python {version} here")


# ------------------------------------------------------------------ hunts


def measured(suite: Suite, work: Path) -> str:
    """Hunt in a fresh copy and write its table; gives a sentence on it."""
    place = work / "tables" / suite.name
    shutil.rmtree(work / "trees" / suite.name, ignore_errors=True)
    place.mkdir(parents=True, exist_ok=True)
    tree, home = work / "trees" / suite.name / suite.name, work / "trees" / suite.name / "home"
    home.mkdir(parents=True)
    shutil.copytree(suite.tree, tree, symlinks=True)
    env = {**clean_environment(), **suite.env, "HOME": str(home)}
    _check_plainly(suite, tree, env)
    ours = {**own_environment({}), **env, "PYTHONPATH": own_environment({})["PYTHONPATH"]}
    store = place / "runs.db"
    store.unlink(missing_ok=True)
    hunt = ["hunt", "-q", "--measure", *COUNTED, "--seed", SEED, "--python", suite.python, "--store", store]
    done = run([sys.executable, "-m", "flakehound", *hunt, "--", *suite.pytest_args], HUNT_S, cwd=tree, env=ours)
    (place / "report.txt").write_text(done.stdout)
    if done.returncode not in (0, 1):
        raise Skipped(
            f"hunt: {done.stdout.strip().splitlines()[0][:160] if done.stdout.strip() else done.returncode}"
        )
    out = ["data", "export", "--store", store, "--pairs", place / "pairs.csv", place / "tests.csv"]
    told = checked([sys.executable, "-m", "flakehound", *out], PLAIN_S, cwd=tree, env=ours)
    shutil.rmtree(work / "trees" / suite.name, ignore_errors=True)
    return told.strip()


def _check_plainly(suite: Suite, tree: Path, env: Mapping[str, str]) -> None:
    """One plain run: most tests pass, and it is quick enough."""
    said = run([suite.python, "-m", "pytest", "-q", *suite.pytest_args], PLAIN_S, cwd=tree, env=env).stdout
    took_s = max(map(float, re.findall(r" in ([\d.]+)s", said[-400:])), default=PLAIN_S)
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|errors?)", said[-400:])}
    passed, others = counts.pop("passed", 0), sum(counts.values())
    if passed + others > MOST_TESTS:
        raise Skipped(f"{passed + others} tests are too many")
    if passed < 2 or passed < others:
        missing = re.findall(r"(No module named \S+|unrecognized arguments.*)", said)
        raise Skipped(f"{passed} tests pass, {others} do not{': ' + missing[0] if missing else ''}")
    if took_s > SLOWEST_S:
        raise Skipped(f"one run takes {took_s:.0f} s")


def collected(
    suites: Sequence[tuple[str, partial[Suite]]],
    step: Callable[[Suite], str],
    work: Path,
    seconds: float,
    pause: Path | None,
) -> None:
    """Prepare in the background, take one suite after the other; every suite leaves a table or a reason."""
    until, rest = time.monotonic() + seconds, iter(suites)
    with ThreadPoolExecutor(2) as pool:
        ahead = deque((name, pool.submit(make)) for name, make in islice(rest, AHEAD))
        while ahead and time.monotonic() < until:
            name, future = ahead.popleft()
            ahead += [(another, pool.submit(make)) for another, make in islice(rest, 1)]
            try:
                suite = future.result()
                wait_while(pause)
                told = step(suite)
            except (Skipped, OSError, shutil.ReadError, ValueError, subprocess.SubprocessError) as problem:
                told = f"skipped: {problem}"
                with (work / "skipped.csv").open("a", newline="", encoding="utf-8") as file:
                    csv.writer(file).writerow([name, str(problem)])
            print(f"{time.strftime('%H:%M:%S')} {name}: {told}", flush=True)
        pool.shutdown(cancel_futures=True)


def joined(work: Path, out: Path) -> str:
    """One table of all suites."""
    places = sorted(path.parent for path in (work / "tables").glob("*/tests.csv"))
    rows = [row for place in places for row in _rows(place / "tests.csv")]
    pairs = [row for place in places for row in _rows(place / "pairs.csv")]
    content = pack_table(rows, pairs)
    out.write_bytes(content)
    return f"{len(rows)} tests of {len(places)} projects, {len(pairs)} pairs, {len(content):,} bytes: {out}"


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def skipped_before(work: Path) -> set[str]:
    path = work / "skipped.csv"
    return {line.partition(",")[0] for line in path.read_text().splitlines()} if path.exists() else set()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="projects on PyPI (default: those of the study)")
    parser.add_argument(
        "--work", type=Path, required=True, help="folder for everything that is fetched and measured"
    )
    parser.add_argument("--most", type=int, default=80, help="projects of the study to try (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=7200, help="start no suite later (default %(default)s)")
    parser.add_argument("--pause", type=Path, help="start nothing while this file is there")
    parser.add_argument("--join", action="store_true", help="only join what was measured")
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args()
    work = asked.work.resolve()
    if not asked.join:
        work.mkdir(parents=True, exist_ok=True)
        with index_before(DAY) as index:
            maker = Maker(work, index, asked.pause)
            known = {path.parent.name for path in (work / "tables").glob("*/tests.csv")} | skipped_before(work)
            names = asked.names or in_turns(flaky_projects(), MORE)[: asked.most]
            suites = [
                ("shaky", partial(maker.shaky)),
                *((key.rpartition("-")[0], partial(maker.subject, key)) for key in subject_keys()),
            ]
            taken = {name.lower() for name, _make in suites}
            suites += [(name, partial(maker.sdist, name)) for name in names if name.lower() not in taken]
            left = [one for one in suites if one[0] not in known]
            collected(left, partial(measured, work=work), work, asked.seconds, asked.pause)
    print(joined(work, asked.out))


if __name__ == "__main__":
    main()
