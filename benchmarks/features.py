"""CPU time of measuring features relative to plain runs, on attrs 25.3.0 and on a suite that does I/O.

Ours: the measured runs of `flakehound features` (three by default) in forks of a collected session, relative to as
many plain forks. The peer: one pytest session with the scheme of the published plugin, relative to a plain
session. The goal is about CPU time; wall time is reported in addition. Neither side computes churn, because an
sdist has no history: see churn.py.
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

from revisions import CACHE, ensure_environment, fetch_sdist
from running import temporary_folder
from side_by_side import Row, Series, benchmark_parser, limit_row, measure_in_turns, ratio_per_turn, report_results

from flakehound.app.measure import lines_interval
from flakehound.core.plans import Isolation, Setting, SingleRun
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.suite.open_suite import OpenSuite, open_suite

RUNS = 3
MAX_RATIO = 1.5
REQUIREMENTS = ("hypothesis", "cloudpickle", "psutil")  # psutil: for the peer
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


def unpack_attrs_suite(folder: Path) -> tuple[Path, dict[str, str], tuple[str, ...]]:
    """Unpack the sdist; return its tree, environment and pytest arguments."""
    with tarfile.open(fetch_sdist(CACHE, "attrs", "25.3.0")) as archive:
        archive.extractall(folder, filter="data")
    tree = folder / "attrs-25.3.0"
    return tree, {"PYTHONPATH": str(tree / "src")}, ("-p", "no:cacheprovider", "--hypothesis-seed=1", "tests")


def write_io_suite(folder: Path) -> tuple[Path, dict[str, str], tuple[str, ...]]:
    """Write a suite that mostly reads and writes; return its folder, environment and pytest arguments."""
    folder.mkdir(exist_ok=True)
    (folder / "test_io.py").write_text(IO_SUITE)
    return folder, {}, ("-p", "no:cacheprovider")


def measure(
    name: str, folder: Path, env: Mapping[str, str], args: tuple[str, ...], repeats: int, python: str
) -> list[Row]:
    """Measure our side and the peer, each relative to its own plain runs."""
    target = Target(python=python, cwd=folder, pytest_args=args, env=dict(env))
    opened = open_suite(
        target, jobs=1, isolation=Isolation.FORK, hash_seed=0, limits=Limits(), with_reference=False
    )
    wall_times_s: dict[str, list[float]] = {}
    try:
        _run_forks(opened, True, {}, 1)  # the first measured run imports coverage
        sides = {
            "plain forks": partial(_run_forks, opened, False, wall_times_s),
            "measured forks": partial(_run_forks, opened, True, wall_times_s),
            "plain session": partial(_run_session, python, folder, env, args, False),
            "peer": partial(_run_session, python, folder, env, args, True),
        }
        took = measure_in_turns(repeats, sides)
    finally:
        opened.close()
    version, tests = opened.handshake.python, len(opened.suite.tests)
    peer = ratio_per_turn(took["peer"], took["plain session"])
    wall = ratio_per_turn(*(Series(values=tuple(wall_times_s[side])) for side in ("measured", "plain")))
    return [
        limit_row(
            f"{name}, {tests} tests, {RUNS} runs, Python {version}",
            ours=took["measured forks"].text(),
            peer=f"plain {took['plain forks'].text()}; published {peer.text('×')}",
            figure=ratio_per_turn(took["measured forks"], took["plain forks"]),
            limit=MAX_RATIO,
        ),
        Row(job=f"{name}, wall time", ours="–", peer="–", measured=wall.text("×"), is_detail=True),
    ]


def _run_forks(opened: OpenSuite, measure: bool, wall_times_s: dict[str, list[float]], runs: int = RUNS) -> float:
    """Run the whole suite `runs` times; return the CPU time and add the wall time to `wall_times_s`."""
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
    wall_times_s.setdefault("measured" if measure else "plain", []).append(wall_s)
    return cpu_s


def _run_session(python: str, folder: Path, env: Mapping[str, str], args: tuple[str, ...], peer: bool) -> float:
    """CPU time of one pytest session."""
    with temporary_folder() as result_folder:
        path = os.pathsep.join([str(Path(__file__).parent), env.get("PYTHONPATH", "")])
        session_env = {**os.environ, **env, "PYTHONPATH": path} | (
            {"PEER_RESULT": str(result_folder / "rows")} if peer else {}
        )
        command = [python, "-m", "pytest", "-q", *(["-p", "peer_published_features"] if peer else []), *args]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=folder, env=session_env, stdout=subprocess.DEVNULL, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert not peer or (result_folder / "rows").exists()
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = benchmark_parser(__doc__, repeats=3)
    parser.add_argument(
        "--python", help="an interpreter with pytest, coverage, psutil, hypothesis and cloudpickle"
    )
    parser.add_argument("--only", choices=["attrs", "io"], help="measure only this suite")
    options = parser.parse_args()
    python = options.python or str(ensure_environment(CACHE, f"features-{sys.version_info[1]}", REQUIREMENTS))
    rows: list[Row] = []
    with temporary_folder() as folder:
        for name, prepare in {"attrs": unpack_attrs_suite, "io": write_io_suite}.items():
            if options.only in (None, name):
                rows += measure(name, *prepare(folder / name), options.repeats, python)
    report_results(rows, options.json)


if __name__ == "__main__":
    main()
