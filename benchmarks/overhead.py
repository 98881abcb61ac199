"""What running costs beyond the tests themselves: tests of 20, 50 and 100 ms, asleep and computing, on two jobs.

The limit is the sum of the test times divided by the cores. Whole-suite runs and isolated runs of each test
alone are timed after the suite is open, since a hunt opens it once. The peer is one plain pytest run, opening
included. Last, a whole hunt by the command, opening, planning and storing included: its limit counts the
tests that ran, as its store tells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from running import bare, engine_on, flakehound_command, plain_pytest, run_all, temporary_folder
from side_by_side import Row, Series, arguments, at_most, in_turns, ratio, told, wall_s
from suites import timed_suite

from flakehound.core.costs import DEFAULT_FORK_S
from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Batch, Order, RunPlan, Setting, SingleRun
from flakehound.engine.suite.open_suite import OpenSuite
from flakehound.hunt.diagnosis.minimal_prefix import split
from flakehound.hunt.limits import MAX_BATCH_S
from flakehound.store import Store

JOBS = 2
SUITE_S = 2.0  # the sum of the test times of one suite


def whole_suites(order: Order, times: int) -> Iterator[RunPlan]:
    for number in range(times):
        yield SingleRun(order=order, why="whole", setting=Setting.ORIGINAL, seed=number)


def each_alone(order: Order) -> Iterator[RunPlan]:
    for test in order:
        yield SingleRun(order=(test,), why="alone", setting=Setting.ALONE, seed=0)


def batches_alone(order: Order, test_s: float) -> Iterator[RunPlan]:
    """Each test alone, about a second's worth of them per request, as the hunt does it.

    The same number of batches for each job: a hunt has other work for a job that would idle at the end.
    """
    rounds = math.ceil(len(order) * (DEFAULT_FORK_S + test_s) / MAX_BATCH_S / JOBS)
    for batch in split(order, rounds * JOBS):
        orders = tuple((test,) for test in batch)
        yield Batch(orders=orders, why="alone", setting=Setting.ALONE, seed=0)


def run_plans(opened: OpenSuite, plans: Iterator[RunPlan]) -> None:
    outcomes = {outcome for record in run_all(opened, plans) for outcome in record.outcomes}
    assert outcomes == {Outcome.PASSED}, outcomes


def measured(folder: Path, test_s: float, busy: bool, repeats: int) -> list[Row]:
    timed_suite(folder, test_s=test_s, tests=round(SUITE_S / test_s), busy=busy)
    plain_pytest(folder)  # compiles the files
    with engine_on(bare(folder), jobs=JOBS) as opened:
        order = opened.suite.order
        took = in_turns(
            repeats,
            {
                "whole": lambda: wall_s(partial(run_plans, opened, whole_suites(order, 2 * JOBS))),
                "alone": lambda: wall_s(partial(run_plans, opened, each_alone(order))),
                "batched": lambda: wall_s(partial(run_plans, opened, batches_alone(order, test_s))),
                "peer": lambda: wall_s(partial(plain_pytest, folder)),
            },
        )
    sort = "computing" if busy else "asleep"
    name = f"{len(order)} tests of {test_s * 1e3:g} ms {sort}"
    peer = took["peer"]
    limit_s = test_s * len(order) / JOBS
    return [
        _row(f"{name}: {2 * JOBS} whole-suite runs", took["whole"], 2 * JOBS * limit_s, peer),
        _row(f"{name}: each alone, a request each", took["alone"], limit_s, peer),
        _row(f"{name}: each alone, in batches as the hunt does", took["batched"], limit_s, peer),
    ]


def hunted(test_s: float, busy: bool, budget_s: int) -> Row:
    """One whole hunt within a budget."""
    with temporary_folder() as folder:
        timed_suite(folder, test_s=test_s, tests=round(SUITE_S / test_s), busy=busy)
        store = folder / "hunt.db"
        wishes = ("hunt", "--budget", f"{budget_s}s", "--jobs", str(JOBS), "--store", str(store))
        took = wall_s(partial(flakehound_command, folder, *wishes))
        with Store.open(store, create=False) as opened:
            (session,) = opened.sessions()
            spent_s = test_s * sum(run.executed for run in opened.records(session.id))
    sort = "computing" if busy else "asleep"
    return at_most(
        f"tests of {test_s * 1e3:g} ms {sort}: `flakehound hunt --budget {budget_s}s`, all included, {JOBS} jobs",
        ours=f"{took:.1f} s",
        peer=f"the tests themselves {spent_s:.1f} s / {JOBS}",
        figure=ratio(Series(values=(took,)), Series(values=(spent_s / JOBS,))),
        limit=1.25,
    )


def _row(job: str, took: Series, limit_s: float, peer: Series) -> Row:
    share = ratio(took, Series(values=(limit_s,) * len(took.values)))
    peer_text = f"one plain run {peer.text()}"
    return at_most(f"{job}, {JOBS} jobs", ours=took.text(), peer=peer_text, figure=share, limit=1.25)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--budget", type=int, default=40, help="seconds of each hunt (default %(default)s)")
    chosen = parser.parse_args()
    rows = [hunted(0.02, busy, chosen.budget) for busy in (False, True)]
    for busy in (False, True):
        for test_s in (0.02, 0.05, 0.1):
            with temporary_folder() as folder:
                rows += measured(folder, test_s, busy, chosen.repeats)
    told(rows, chosen.json)


if __name__ == "__main__":
    main()
