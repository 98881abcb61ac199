"""Make the training table of the default models of `hunt --policy cannier`, by hunts that measure real suites.

Suites are the prepared subjects, examples/shaky, and sdists from PyPI: projects of Gruber et al. (2021) that the
static table names, those with the most flaky tests first, alternating with a few others. Each sdist gets packages
of the study's time. For each suite: a fresh copy of its tree, one plain run, `flakehound hunt --measure`,
`flakehound data export`. The labels are the results of these hunts, not those of the study. A suite that cannot be
installed or run is skipped; `skipped.csv` has the reason.

    python benchmarks/cannier_training.py --work DIR [--most 60] [--seconds 2400] [--join] [NAME ...]
"""

from __future__ import annotations

import argparse
import csv
import re
import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path

from old_sdist_suites import (
    MAX_SUITE_S,
    PLAIN_RUN_LIMIT_S,
    STUDY_DATE,
    Suite,
    SuiteMaker,
    SuiteSkipped,
    clean_environment,
    output_of,
    process_suites,
    run_with_limit,
    skipped_suites,
)
from prepared_subjects import subject_keys
from pypi_before_date import serve_index_before
from running import environment_with_flakehound

from flakehound.learn.measured.table import TABLE_FILE, pack_table
from flakehound.learn.static.table import shipped_bytes, shipped_samples

OUT = Path(__file__).parents[1] / "src" / "flakehound" / "learn" / "facts" / TABLE_FILE
HUNT_LIMIT_S = 300.0
MAX_TESTS = 1200
# Not from the study, which has few NOD tests: packages about time, randomness, threads, files and queues, whose
# tests are the most likely to be NOD. The hunts decide whether they are.
EXTRA_PROJECTS = (
    *("async-timeout", "asyncio-throttle", "codetiming", "pyswarms", "timeout-decorator", "ratelimiter"),
    *("polling2", "circuitbreaker", "contexttimer", "pyinstrument", "waiting", "token-bucket", "pybreaker"),
    *("watchdog", "stopit", "bayesian-optimization", "retry", "simanneal", "watchgod", "sh", "noisyopt"),
    *("curio", "emcee", "mimesis", "aiostream", "aiolimiter", "janus", "persist-queue", "diskcache"),
    *("filelock", "humanize", "boltons", "glom", "structlog", "loguru", "names", "APScheduler", "simpy"),
    *("pyrate-limiter", "cachelib", "expiringdict", "pyee", "tenacity", "backoff", "cachetools", "schedule"),
    *("toolz", "retrying", "func-timeout", "aiocache", "arrow"),
)
HUNT_OPTIONS = ("--runs", "20", "--shuffles", "20", "--jobs", "1")  # one job: runs must not disturb each other
SEED = "1"


def flaky_projects() -> list[str]:
    """Projects of the study, those with the most flaky tests first; NOD tests are rare and count three times."""
    scores: Counter[str] = Counter()
    for sample in shipped_samples(shipped_bytes()):
        scores[sample.project] += 3 * sample.nod + sample.order_dependent
    return sorted(scores, key=lambda name: (-scores[name], name))


def alternate(*groups: Sequence[str]) -> list[str]:
    """The first of each group, then the second of each, and so on."""
    return [name for names in zip_longest(*groups) for name in names if name is not None]


def hunt_and_export(suite: Suite, work: Path) -> str:
    """Hunt in a fresh copy and export its table; returns a sentence about it."""
    tables = work / "tables" / suite.name
    shutil.rmtree(work / "trees" / suite.name, ignore_errors=True)
    tables.mkdir(parents=True, exist_ok=True)
    tree, home = work / "trees" / suite.name / suite.name, work / "trees" / suite.name / "home"
    home.mkdir(parents=True)
    shutil.copytree(suite.tree, tree, symlinks=True)
    env = {**clean_environment(), **suite.env, "HOME": str(home)}
    _check_plain_run(suite, tree, env)
    ours = environment_with_flakehound({})
    options = {"cwd": tree, "env": {**ours, **env, "PYTHONPATH": ours["PYTHONPATH"]}}
    store = tables / "runs.db"
    store.unlink(missing_ok=True)
    hunt = ["hunt", "-q", "--measure", *HUNT_OPTIONS, "--seed", SEED, "--python", suite.python, "--store", store]
    command = [sys.executable, "-m", "flakehound", *hunt, "--", *suite.pytest_args]
    done = run_with_limit(command, HUNT_LIMIT_S, **options)
    (tables / "report.txt").write_text(done.stdout)
    if done.returncode not in (0, 1):
        first_line = done.stdout.strip().partition("\n")[0][:160]
        raise SuiteSkipped(f"hunt: {first_line or done.returncode}")
    export = ["data", "export", "--store", store, "--pairs", tables / "pairs.csv", tables / "tests.csv"]
    message = output_of([sys.executable, "-m", "flakehound", *export], PLAIN_RUN_LIMIT_S, **options)
    shutil.rmtree(work / "trees" / suite.name, ignore_errors=True)
    return message.strip()


def _check_plain_run(suite: Suite, tree: Path, env: Mapping[str, str]) -> None:
    """Skip the suite unless most tests pass in one plain run and the run is fast enough."""
    command = [suite.python, "-m", "pytest", "-q", *suite.pytest_args]
    output = run_with_limit(command, PLAIN_RUN_LIMIT_S, cwd=tree, env=env).stdout
    took_s = max(map(float, re.findall(r" in ([\d.]+)s", output[-400:])), default=PLAIN_RUN_LIMIT_S)
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|errors?)", output[-400:])}
    passed, others = counts.pop("passed", 0), sum(counts.values())
    if passed + others > MAX_TESTS:
        raise SuiteSkipped(f"{passed + others} tests are too many")
    if passed < 2 or passed < others:
        missing = re.findall(r"(No module named \S+|unrecognized arguments.*)", output)
        raise SuiteSkipped(f"{passed} tests pass, {others} do not{': ' + missing[0] if missing else ''}")
    if took_s > MAX_SUITE_S:
        raise SuiteSkipped(f"one run takes {took_s:.0f} s")


def join_tables(work: Path, out: Path) -> str:
    """Write one table of all suites; returns a sentence about it."""
    folders = sorted(path.parent for path in (work / "tables").glob("*/tests.csv"))
    rows = [row for folder in folders for row in _rows(folder / "tests.csv")]
    pairs = [row for folder in folders for row in _rows(folder / "pairs.csv")]
    content = pack_table(rows, pairs)
    out.write_bytes(content)
    return f"{len(rows)} tests of {len(folders)} projects, {len(pairs)} pairs, {len(content):,} bytes: {out}"


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def suites_to_hunt(maker: SuiteMaker, names: Sequence[str], done: set[str]) -> list[tuple[str, partial[Suite]]]:
    """The example, the subjects and the named sdists, each project once, without those that are done."""
    suites = [
        ("shaky", partial(maker.example)),
        *((key.rpartition("-")[0], partial(maker.subject, key)) for key in subject_keys()),
    ]
    prepared = {name.lower() for name, _make in suites}
    suites += [(name, partial(maker.sdist, name)) for name in names if name.lower() not in prepared]
    return [(name, make) for name, make in suites if name not in done]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="projects on PyPI (default: those of the study)")
    parser.add_argument("--work", type=Path, required=True, help="folder for downloads and measurements")
    parser.add_argument("--most", type=int, default=80, help="projects of the study to try (default %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=7200, help="start no suite after this time (default %(default)s)"
    )
    parser.add_argument("--pause", type=Path, help="start nothing while this file exists")
    parser.add_argument("--join", action="store_true", help="only join the tables that exist")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    work = options.work.resolve()
    if not options.join:
        work.mkdir(parents=True, exist_ok=True)
        with serve_index_before(STUDY_DATE) as index:
            maker = SuiteMaker(work, index, options.pause)
            done = {path.parent.name for path in (work / "tables").glob("*/tests.csv")} | skipped_suites(work)
            names = options.names or alternate(flaky_projects(), EXTRA_PROJECTS)[: options.most]
            suites = suites_to_hunt(maker, names, done)
            process_suites(suites, partial(hunt_and_export, work=work), work, options.seconds, options.pause)
    print(join_tables(work, options.out))


if __name__ == "__main__":
    main()
