"""Time of runs relative to the time of their tests, for tests of 20, 50 and 100 ms on two jobs.

The tests sleep or compute. The lower limit is the sum of the test times divided by the number of jobs. Whole-suite
runs and isolated runs of each test are timed after the suite is open, because a hunt opens it once. The peer is
one plain pytest run, start included. The hunts are whole commands with start, planning and storing; their limit
counts the tests that ran, which the store has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from running import open_collected_suite, run_all, run_flakehound, run_plain_pytest, target_in, temporary_folder
from side_by_side import (
    Row,
    Series,
    benchmark_parser,
    limit_row,
    measure_in_turns,
    ratio_per_turn,
    report_results,
    wall_s,
)
from suites import write_fixed_duration_suite

from flakehound.core.costs import DEFAULT_FORK_S
from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Batch, Order, RunPlan, Setting, SingleRun
from flakehound.engine.suite.open_suite import OpenSuite
from flakehound.hunt.diagnosis.minimal_prefix import split
from flakehound.hunt.limits import MAX_BATCH_S
from flakehound.store import Store

JOBS = 2
SUITE_S = 2.0  # the sum of the test times of one suite
MAX_RATIO = 1.25
TEST_TIMES_S = (0.02, 0.05, 0.1)


def whole_suite_plans(order: Order, times: int) -> Iterator[RunPlan]:
    """Runs of the whole suite in the original order."""
    for number in range(times):
        yield SingleRun(order=order, why="whole", setting=Setting.ORIGINAL, seed=number)


def single_test_plans(order: Order) -> Iterator[RunPlan]:
    """Each test alone, one request each."""
    for test in order:
        yield SingleRun(order=(test,), why="alone", setting=Setting.ALONE, seed=0)


def batch_plans(order: Order, test_s: float) -> Iterator[RunPlan]:
    """Each test alone, in batches of about a second, as in a hunt.

    Every job gets the same number of batches, because in a hunt other work follows and no job waits at the end.
    """
    rounds = math.ceil(len(order) * (DEFAULT_FORK_S + test_s) / MAX_BATCH_S / JOBS)
    for batch in split(order, rounds * JOBS):
        orders = tuple((test,) for test in batch)
        yield Batch(orders=orders, why="alone", setting=Setting.ALONE, seed=0)


def run_plans(opened: OpenSuite, plans: Iterator[RunPlan]) -> None:
    """Run the plans; every test must pass."""
    outcomes = {outcome for record in run_all(opened, plans) for outcome in record.outcomes}
    assert outcomes == {Outcome.PASSED}, outcomes


def measure_runs(folder: Path, test_s: float, busy: bool, repeats: int) -> list[Row]:
    """The rows of one suite with tests of one duration."""
    write_fixed_duration_suite(folder, test_s=test_s, tests=round(SUITE_S / test_s), busy=busy)
    run_plain_pytest(folder)  # compiles the files
    with open_collected_suite(target_in(folder), jobs=JOBS) as opened:
        order = opened.suite.order
        took = measure_in_turns(
            repeats,
            {
                "whole": lambda: wall_s(partial(run_plans, opened, whole_suite_plans(order, 2 * JOBS))),
                "alone": lambda: wall_s(partial(run_plans, opened, single_test_plans(order))),
                "batched": lambda: wall_s(partial(run_plans, opened, batch_plans(order, test_s))),
                "peer": lambda: wall_s(partial(run_plain_pytest, folder)),
            },
        )
    name = f"{len(order)} tests of {_kind(test_s, busy)}"
    peer = took["peer"]
    limit_s = test_s * len(order) / JOBS
    # The shortest tests are the hardest case.
    is_longer, is_longest = test_s > min(TEST_TIMES_S), test_s == max(TEST_TIMES_S)
    whole = f"{name}: {2 * JOBS} whole-suite runs"
    return [
        _row(whole, took["whole"], 2 * JOBS * limit_s, peer, is_detail=is_longer),
        _row(f"{name}: alone, one request each", took["alone"], limit_s, peer, is_detail=True),
        _row(f"{name}: alone, in batches as in a hunt", took["batched"], limit_s, peer, is_detail=is_longest),
    ]


def _kind(test_s: float, busy: bool) -> str:
    return f"{test_s * 1e3:g} ms, {'computing' if busy else 'sleeping'}"


def measure_hunt(test_s: float, busy: bool, budget_s: int) -> Row:
    """One whole hunt within a budget."""
    with temporary_folder() as folder:
        write_fixed_duration_suite(folder, test_s=test_s, tests=round(SUITE_S / test_s), busy=busy)
        store = folder / "hunt.db"
        command = ("hunt", "--budget", f"{budget_s}s", "--jobs", str(JOBS), "--store", str(store))
        took_s = wall_s(partial(run_flakehound, folder, *command))
        with Store.open(store, create=False) as opened:
            (session,) = opened.sessions()
            spent_s = test_s * sum(run.executed for run in opened.records(session.id))
    return limit_row(
        f"tests of {_kind(test_s, busy)}: `flakehound hunt --budget {budget_s}s`",
        ours=f"{took_s:.1f} s",
        peer=f"tests alone {spent_s:.1f} s / {JOBS}",
        figure=ratio_per_turn(Series(values=(took_s,)), Series(values=(spent_s / JOBS,))),
        limit=MAX_RATIO,
    )


def _row(job: str, took: Series, limit_s: float, peer: Series, *, is_detail: bool = False) -> Row:
    figure = ratio_per_turn(took, Series(values=(limit_s,) * len(took.values)))
    peer_text = f"plain run {peer.text()}"
    return limit_row(job, ours=took.text(), peer=peer_text, figure=figure, limit=MAX_RATIO, is_detail=is_detail)


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--budget", type=int, default=40, help="seconds of each hunt (default %(default)s)")
    options = parser.parse_args()
    rows = [measure_hunt(min(TEST_TIMES_S), busy, options.budget) for busy in (False, True)]
    for busy in (False, True):
        for test_s in TEST_TIMES_S:
            with temporary_folder() as folder:
                rows += measure_runs(folder, test_s, busy, options.repeats)
    report_results(rows, options.json)


if __name__ == "__main__":
    main()
