"""Isolated runs of a suite of 60 tests, against a loop of `python -m pytest` and against pytest-flakefinder.

All sides use one core. pytest-flakefinder from PyPI isolates nothing: one process runs each test N times in a row,
so it starts and collects only once, and a run can disturb the next.

The suite has 60 tests of about 2 ms and imports 17 modules of the standard library (asyncio, ssl, sqlite3,
unittest.mock, multiprocessing.pool, …); a second suite also waits 1 s at import, like suites that import numerical
libraries or web frameworks.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

from running import NO_OTHER_PLUGINS, open_collected_suite, run_all, run_plain_pytest, target_in, temporary_folder
from side_by_side import Row, benchmark_parser, measure_in_turns, on_cores, report_results, speedup_row, wall_s
from suites import write_heavy_import_suite

from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Setting, SingleRun

FLAKEFINDER = "pytest-flakefinder"


def install_flakefinder(folder: Path) -> Path:
    """Install the peer in a folder, so that no environment is changed."""
    command = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--target", str(folder), FLAKEFINDER]
    subprocess.run(command, check=True)
    return folder


def run_forks(folder: Path, runs: int) -> None:
    """Open the suite and run it in forks; every test must pass."""
    with open_collected_suite(target_in(folder), jobs=1) as opened:
        order = opened.suite.order
        plans = (
            SingleRun(order=order, why="rerun", setting=Setting.ORIGINAL, seed=number) for number in range(runs)
        )
        outcomes = {outcome for record in run_all(opened, plans) for outcome in record.outcomes}
    assert outcomes == {Outcome.PASSED}, outcomes


def run_plain_loop(folder: Path, runs: int) -> None:
    """The peer: start pytest once per run."""
    for _ in range(runs):
        assert run_plain_pytest(folder) == 0


def run_flakefinder(folder: Path, runs: int, installed: Path) -> None:
    """The second peer: one pytest session that repeats each test."""
    path = os.pathsep.join([str(installed), *filter(None, [os.environ.get("PYTHONPATH")])])
    options = ("-p", "pytest_flakefinder", "--flake-finder", f"--flake-runs={runs}")
    assert run_plain_pytest(folder, *options, env={**NO_OTHER_PLUGINS, "PYTHONPATH": path}) == 0


def measure(repeats: int, runs: int, import_wait_s: float, installed: Path) -> list[Row]:
    """The rows of one suite."""
    with temporary_folder() as folder, on_cores(1):
        write_heavy_import_suite(folder, import_wait_s=import_wait_s)
        run_plain_pytest(folder)  # compiles the files
        per_run = measure_in_turns(
            repeats,
            {
                "ours": lambda: wall_s(partial(run_forks, folder, runs)) / runs,
                "peer": lambda: wall_s(partial(run_plain_loop, folder, runs)) / runs,
                "flakefinder": lambda: wall_s(partial(run_flakefinder, folder, runs, installed)) / runs,
            },
        )
    name = f"heavy imports and a wait of {import_wait_s:g} s" if import_wait_s else "heavy imports"
    ours, peer, flakefinder = per_run["ours"], per_run["peer"], per_run["flakefinder"]
    return [
        speedup_row(
            f"{name}: {runs} runs, per run, opening included",
            ours=ours, peer=peer, times=1.5,
        ),
        speedup_row(f"{name}: against pytest-flakefinder", ours=ours, peer=flakefinder, times=1.5),
    ]  # fmt: skip


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--runs", type=int, default=10, help="runs per turn and side (default %(default)s)")
    options = parser.parse_args()
    with temporary_folder() as folder:
        installed = install_flakefinder(folder)
        suites = [measure(options.repeats, options.runs, wait_s, installed) for wait_s in (0.0, 1.0)]
    report_results([row for rows in suites for row in rows], options.json)


if __name__ == "__main__":
    main()
