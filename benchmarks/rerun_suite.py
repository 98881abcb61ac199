"""N runs of a whole suite: flakehound's forks, each isolated, against a loop of `python -m pytest`.

A second peer is pytest-flakefinder from PyPI. It isolates nothing: one process runs each test N times in a row,
so that it pays for one start and one collection, and a run can disturb the next.

All sides keep to one core. The suite has 60 tests of about 2 ms behind 17 real imports of the standard
library (asyncio, ssl, sqlite3, unittest.mock, multiprocessing.pool, …); a second one also waits 1 s at
import, as suites do that import numerical libraries or web frameworks.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

from running import BARE, bare, engine_on, plain_pytest, run_all, temporary_folder
from side_by_side import Row, arguments, at_least, in_turns, on_cores, told, wall_s
from suites import heavy_suite

from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Setting, SingleRun

FLAKEFINDER = "pytest-flakefinder"


def install_flakefinder(folder: Path) -> Path:
    """The peer in a folder of its own, so that no environment is changed."""
    command = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--target", str(folder), FLAKEFINDER]
    subprocess.run(command, check=True)
    return folder


def forked_runs(folder: Path, runs: int) -> None:
    with engine_on(bare(folder), jobs=1) as opened:
        order = opened.suite.order
        plans = (
            SingleRun(order=order, why="rerun", setting=Setting.ORIGINAL, seed=number) for number in range(runs)
        )
        outcomes = {outcome for record in run_all(opened, plans) for outcome in record.outcomes}
    assert outcomes == {Outcome.PASSED}, outcomes


def plain_runs(folder: Path, runs: int) -> None:
    for _ in range(runs):
        assert plain_pytest(folder) == 0


def flakefinder_runs(folder: Path, runs: int, installed: Path) -> None:
    path = os.pathsep.join([str(installed), *filter(None, [os.environ.get("PYTHONPATH")])])
    options = ("-p", "pytest_flakefinder", "--flake-finder", f"--flake-runs={runs}")
    assert plain_pytest(folder, *options, env={**BARE, "PYTHONPATH": path}) == 0


def measured(repeats: int, runs: int, import_wait_s: float, installed: Path) -> list[Row]:
    with temporary_folder() as folder, on_cores(1):
        heavy_suite(folder, import_wait_s=import_wait_s)
        plain_pytest(folder)  # compiles the files
        per_run = in_turns(
            repeats,
            {
                "ours": lambda: wall_s(partial(forked_runs, folder, runs)) / runs,
                "peer": lambda: wall_s(partial(plain_runs, folder, runs)) / runs,
                "flakefinder": lambda: wall_s(partial(flakefinder_runs, folder, runs, installed)) / runs,
            },
        )
    wait = f" and a wait of {import_wait_s:g} s" if import_wait_s else ""
    ours, peer, flakefinder = per_run["ours"], per_run["peer"], per_run["flakefinder"]
    return [
        at_least(
            f"{runs} runs of a suite of 60 tests with heavy imports{wait}, one core, per run, opening included",
            ours=ours, peer=peer, times=1.5,
        ),
        at_least("the same against pytest-flakefinder, not isolated", ours=ours, peer=flakefinder, times=1.5),
    ]  # fmt: skip


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--runs", type=int, default=10, help="runs per turn and side (default %(default)s)")
    chosen = parser.parse_args()
    with temporary_folder() as folder:
        installed = install_flakefinder(folder)
        suites = [measured(chosen.repeats, chosen.runs, wait_s, installed) for wait_s in (0.0, 1.0)]
    told([row for rows in suites for row in rows], chosen.json)


if __name__ == "__main__":
    main()
