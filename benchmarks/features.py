"""What measuring features costs, against plain runs, on the attrs 25.3.0 suite and on one that reads and writes.

Ours: the measured runs of `flakehound features` (three by default) in forks of a collected session, against as
many plain runs there. The peer: one pytest session with the scheme of the published plugin, against a plain one.
Processor time counts; the clock is told beside it. Neither side computes churn: an sdist has no history, see
churn.py.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from revisions import CACHE, environment, sdist
from running import temporary_folder
from side_by_side import Row, Series, arguments, at_most, in_turns, ratio, told

from flakehound.app.measure import lines_interval
from flakehound.core.plans import Isolation, Setting, SingleRun
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.suite.open_suite import OpenSuite, open_suite

RUNS = 3
LIMIT = 1.5
REQUIREMENTS = ("hypothesis", "cloudpickle")
IO_SUITE = """
import json
import os
import sqlite3
import time

import pytest


@pytest.mark.parametrize("number", range(40))
def test_files(tmp_path, number):
    for n in range(60):
        path = tmp_path / f"{n}.json"
        path.write_text(json.dumps({"n": n, "many": list(range(50))}))
        assert json.loads(path.read_text())["n"] == n
    assert len(os.listdir(tmp_path)) == 60


@pytest.mark.parametrize("number", range(20))
def test_database(tmp_path, number):
    connection = sqlite3.connect(tmp_path / "shop.db")
    connection.execute("CREATE TABLE item (name TEXT, price INTEGER)")
    for n in range(20):
        with connection:
            connection.execute("INSERT INTO item VALUES (?, ?)", (f"item {n}", n))
    assert connection.execute("SELECT SUM(price) FROM item").fetchone() == (190,)
    connection.close()


@pytest.mark.parametrize("number", range(20))
def test_pipe_and_wait(number):
    reading, writing = os.pipe()
    for n in range(200):
        os.write(writing, b"x" * 100)
        assert len(os.read(reading, 100)) == 100
    time.sleep(0.002)
    os.close(reading), os.close(writing)
"""


def attrs_suite(folder: Path) -> tuple[Path, dict[str, str], tuple[str, ...]]:
    """The suite in the sdist, with its source on the path."""
    with tarfile.open(sdist(CACHE, "attrs", "25.3.0")) as archive:
        archive.extractall(folder, filter="data")
    tree = folder / "attrs-25.3.0"
    return tree, {"PYTHONPATH": str(tree / "src")}, ("-p", "no:cacheprovider", "--hypothesis-seed=1", "tests")


def io_suite(folder: Path) -> tuple[Path, dict[str, str], tuple[str, ...]]:
    """A suite that mostly reads and writes."""
    folder.mkdir(exist_ok=True)
    (folder / "test_io.py").write_text(IO_SUITE)
    return folder, {}, ("-p", "no:cacheprovider")


def measured(
    name: str, folder: Path, env: Mapping[str, str], args: tuple[str, ...], repeats: int, python: str
) -> list[Row]:
    """Ours and the peer, each as a ratio to its own plain run."""
    target = Target(python=python, cwd=folder, pytest_args=args, env=dict(env))
    opened = open_suite(
        target, jobs=1, isolation=Isolation.FORK, hash_seed=0, limits=Limits(), with_reference=False
    )
    walls: dict[str, list[float]] = {}
    try:
        _fork_runs(opened, True, {}, 1)  # imports coverage
        sides = {
            "plain forks": partial(_fork_runs, opened, False, walls),
            "measured forks": partial(_fork_runs, opened, True, walls),
            "plain session": partial(_session, python, folder, env, args, False),
            "peer": partial(_session, python, folder, env, args, True),
        }
        found = in_turns(repeats, sides)
    finally:
        opened.close()
    version, tests = opened.handshake.python, len(opened.suite.tests)
    times = found["peer"], found["plain session"]
    clock = ratio(*(Series(values=tuple(walls[side])) for side in ("measured", "plain")))
    return [
        at_most(
            f"{name}, {tests} tests, Python {version}: {RUNS} measured runs",
            ours=f"{found['measured forks'].text()} of processor, clock {clock.text('×')}",
            peer=f"plain {found['plain forks'].text()}; published scheme {ratio(*times).text('×')} its plain run",
            figure=ratio(found["measured forks"], found["plain forks"]),
            limit=LIMIT,
        )
    ]


def _fork_runs(opened: OpenSuite, measure: bool, walls: dict[str, list[float]], runs: int = RUNS) -> float:
    """Processor time of so many runs of the whole suite."""
    cpu_s = wall_s = 0.0
    for number in range(runs):
        plan = SingleRun(
            order=opened.suite.order,
            why="features",
            setting=Setting.ORIGINAL,
            measure_features=measure,
            measure_lines=number % lines_interval(opened.handshake.python) == 0,
            seed=1,
        )
        (record,) = opened.pool.run_now(plan, Limits(test_limit_s=600.0))
        assert bool(record.measures) == measure, record.ended
        cpu_s += record.usage.cpu_s
        wall_s += record.usage.wall_s
    walls.setdefault("measured" if measure else "plain", []).append(wall_s)
    return cpu_s


def _session(python: str, folder: Path, env: Mapping[str, str], args: tuple[str, ...], peer: bool) -> float:
    """Processor time of one pytest session."""
    with temporary_folder() as place:
        path = os.pathsep.join([str(Path(__file__).parent), env.get("PYTHONPATH", "")])
        own = {**os.environ, **env, "PYTHONPATH": path} | ({"PEER_RESULT": str(place / "rows")} if peer else {})
        command = [python, "-m", "pytest", "-q", *(["-p", "peer_published_features"] if peer else []), *args]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=folder, env=own, stdout=subprocess.DEVNULL, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert not peer or (place / "rows").exists()
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = arguments(__doc__, repeats=3)
    parser.add_argument(
        "--python", help="an interpreter with pytest, coverage, psutil, hypothesis and cloudpickle"
    )
    parser.add_argument("--only", choices=["attrs", "io"], help="one of the suites")
    chosen = parser.parse_args()
    python = chosen.python or str(environment(CACHE, f"features-{sys.version_info[1]}", REQUIREMENTS))
    rows: list[Row] = []
    with temporary_folder() as folder:
        for name, prepare in {"attrs": attrs_suite, "io": io_suite}.items():
            if chosen.only in (None, name):
                rows += measured(name, *prepare(folder / name), chosen.repeats, python)
    told(rows, chosen.json)


if __name__ == "__main__":
    main()
