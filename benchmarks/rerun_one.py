"""Isolated reruns of one test by flakehound's forks, against a loop of `python -m pytest ID`.

Both sides use one core and an environment with pytest and no other plugin, with the options of an ordinary user.
Our time per run includes a share of opening the suite (interpreter, imports, collection). The loop is linear in
the number of runs, so it makes fewer of them.
"""

from __future__ import annotations

import subprocess
from functools import partial

from plugin_cost import make_environment
from running import open_collected_suite, run_all, temporary_folder
from side_by_side import Row, benchmark_parser, measure_in_turns, on_cores, report_results, speedup_row, wall_s
from suites import write_small_suite

from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Batch, Setting
from flakehound.engine.processes.launch import Target
from flakehound.hunt.limits import MAX_BATCH_SIZE


def rerun_plan(test: str, runs: int, seed: int) -> Batch:
    """A batch of isolated runs of one test."""
    orders = ((NodeId(test),),) * runs
    return Batch(orders=orders, why="rerun", setting=Setting.ALONE, seed=seed)


def run_forks(target: Target, test: str, runs: int) -> None:
    """Open the suite and rerun the test in forks; every run must pass."""
    # In batches of the size that a hunt uses; each run has its own process and seed.
    with open_collected_suite(target, jobs=1) as opened:
        plans = [
            rerun_plan(test, min(MAX_BATCH_SIZE, runs - first), seed=first)
            for first in range(0, runs, MAX_BATCH_SIZE)
        ]
        outcomes = [record.last for record in run_all(opened, plans)]
    assert outcomes == [Outcome.PASSED] * runs, outcomes


def run_plain_loop(target: Target, test: str, runs: int) -> None:
    """The peer: start pytest once per run."""
    for _ in range(runs):
        command = [target.python, "-m", "pytest", test]
        subprocess.run(command, cwd=target.cwd, stdout=subprocess.DEVNULL, check=True)


def measure(repeats: int, runs: int, peer_runs: int) -> list[Row]:
    """The rows of this benchmark."""
    with temporary_folder() as folder, on_cores(1):
        suite = folder / "suite"
        test = write_small_suite(suite)
        target = Target(python=str(make_environment(folder / "venv")), cwd=suite, pytest_args=())
        run_plain_loop(target, test, 2)  # compiles the files
        per_run = measure_in_turns(
            repeats,
            {
                "ours": lambda: wall_s(partial(run_forks, target, test, runs)) / runs,
                "peer": lambda: wall_s(partial(run_plain_loop, target, test, peer_runs)) / peer_runs,
                "opening": lambda: wall_s(partial(run_forks, target, test, 1)),
            },
        )
    return [
        speedup_row(
            f"{runs} reruns of one test of 50, per run, opening included",
            ours=per_run["ours"], peer=per_run["peer"], times=30, unit="ms", scale=1e3,
        ),
        Row(
            job="opening the suite and one rerun",
            ours=per_run["opening"].text("ms", 1e3),
            peer="–",
            measured="–",
            is_detail=True,
        ),
    ]  # fmt: skip


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--runs", type=int, default=500, help="our reruns per turn (default %(default)s)")
    parser.add_argument(
        "--peer-runs", type=int, default=10, help="reruns of the loop per turn (default %(default)s)"
    )
    options = parser.parse_args()
    report_results(measure(options.repeats, options.runs, options.peer_runs), options.json)


if __name__ == "__main__":
    main()
