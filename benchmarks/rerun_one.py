"""N isolated reruns of one test: flakehound's forks against a loop of `python -m pytest ID`.

Both sides keep to one core, in an environment with pytest and no other plugin, and are asked as a user would ask,
with no option that spares them anything. Ours is charged for opening the suite (interpreter, imports, collection),
shared by its runs; the loop is linear in N, so fewer of its runs are enough.
"""

from __future__ import annotations

import subprocess
from functools import partial

from plugin_cost import make_environment
from running import engine_on, run_all, temporary_folder
from side_by_side import Row, arguments, at_least, in_turns, on_cores, told, wall_s
from suites import small_suite

from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Batch, Setting
from flakehound.engine.processes.launch import Target
from flakehound.hunt.limits import MAX_BATCH_SIZE


def rerun(test: str, times: int, seed: int) -> Batch:
    orders = ((NodeId(test),),) * times
    return Batch(orders=orders, why="rerun", setting=Setting.ALONE, seed=seed)


def forked_runs(target: Target, test: str, runs: int) -> None:
    # As many isolated runs as a hunt asks for at once, each a process of its own with a seed of its own.
    with engine_on(target, jobs=1) as opened:
        plans = [
            rerun(test, min(MAX_BATCH_SIZE, runs - first), seed=first) for first in range(0, runs, MAX_BATCH_SIZE)
        ]
        outcomes = [record.last for record in run_all(opened, plans)]
    assert outcomes == [Outcome.PASSED] * runs, outcomes


def plain_runs(target: Target, test: str, runs: int) -> None:
    for _ in range(runs):
        command = [target.python, "-m", "pytest", test]
        subprocess.run(command, cwd=target.cwd, stdout=subprocess.DEVNULL, check=True)


def measured(repeats: int, runs: int, peer_runs: int) -> list[Row]:
    with temporary_folder() as folder, on_cores(1):
        suite = folder / "suite"
        test = small_suite(suite)
        target = Target(python=str(make_environment(folder / "venv")), cwd=suite, pytest_args=())
        plain_runs(target, test, 2)  # compiles the files
        per_run = in_turns(
            repeats,
            {
                "ours": lambda: wall_s(partial(forked_runs, target, test, runs)) / runs,
                "peer": lambda: wall_s(partial(plain_runs, target, test, peer_runs)) / peer_runs,
                "opening": lambda: wall_s(partial(forked_runs, target, test, 1)),
            },
        )
    return [
        at_least(
            f"{runs} isolated reruns of one test of 50, one core, per run, opening included",
            ours=per_run["ours"], peer=per_run["peer"], times=30, unit="ms", scale=1e3,
        ),
        Row(
            job="opening the suite and one rerun, included above",
            ours=per_run["opening"].text("ms", 1e3),
            peer="–",
            measured="–",
        ),
    ]  # fmt: skip


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--runs", type=int, default=500, help="our reruns per turn (default %(default)s)")
    parser.add_argument("--peer-runs", type=int, default=10, help="the loop's (default %(default)s)")
    chosen = parser.parse_args()
    told(measured(chosen.repeats, chosen.runs, chosen.peer_runs), chosen.json)


if __name__ == "__main__":
    main()
