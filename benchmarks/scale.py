"""Memory, store size and time of a suite of 20,000 tests, against fixed limits.

Memory is the sum of the proportional set sizes (PSS: shared pages divided by the number of sharing processes) of
the controller and its descendants, sampled while they run. The store has 100 whole runs in 100 different orders:
the first ones are real, the others are generated from them (a new order, each duration varied by 10 %), which
compresses no better.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import psutil
from running import (
    NO_OTHER_PLUGINS,
    PYTEST_ARGS,
    environment_with_flakehound,
    open_collected_suite,
    run_all,
    run_plain_pytest,
    target_in,
    temporary_folder,
)
from side_by_side import Row, benchmark_parser, report_results, wall_s
from suites import write_large_suite

from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Order, Setting, SingleRun, Suite
from flakehound.core.records import RunRecord
from flakehound.store import SessionInfo, Store

TESTS = 20_000
JOBS = 2
MEMORY_LIMIT_GB = 1.5
STORE_LIMIT_MB = 50.0
STORED_RUNS = 100
MAX_BUDGETS = 2  # after this many budgets a hunt is interrupted


class MemoryWatch:
    """Samples the memory of a process and its descendants while the block runs."""

    def __init__(self, pid: int, interval_s: float = 0.5) -> None:
        self._root = psutil.Process(pid)
        self._interval_s = interval_s
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.peak_bytes = 0

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stopped.set()
        self._thread.join()

    @property
    def peak(self) -> str:
        """The highest sum of all samples."""
        return f"{self.peak_bytes / 1e9:.2f} GB"

    def _sample(self) -> None:
        while not self._stopped.wait(self._interval_s):
            self.peak_bytes = max(self.peak_bytes, sum(map(pss_bytes, self._processes())))

    def _processes(self) -> list[psutil.Process]:
        try:
            return [self._root, *self._root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []


def pss_bytes(process: psutil.Process) -> int:
    """Proportional set size of one process; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def run_suite(folder: Path, runs: int) -> tuple[Suite, list[RunRecord], list[Row]]:
    """Collect the suite and run it, in the original order and shuffled."""
    with MemoryWatch(os.getpid()) as memory:
        began = time.perf_counter()
        with open_collected_suite(target_in(folder), jobs=JOBS) as opened:
            opening_s = time.perf_counter() - began
            suite = opened.suite
            assert len(suite.tests) == TESTS, len(suite.tests)
            running = time.perf_counter()
            records = list(run_all(opened, _plans(suite.order, runs)))
            run_s = (time.perf_counter() - running) / runs
    assert {outcome for record in records for outcome in record.outcomes} == {Outcome.PASSED}
    plain_s = wall_s(partial(run_plain_pytest, folder))
    return suite, records, [
        Row(
            job=f"{runs} whole-suite runs on {JOBS} jobs, per run",
            ours=f"opening {opening_s:.1f} s, then {run_s:.1f} s per run",
            peer=f"one plain run {plain_s:.1f} s",
            measured=f"{plain_s / run_s:.2f} ×",
        ),
        _memory_row("peak memory of these runs", memory),
    ]  # fmt: skip


def _plans(order: Order, runs: int) -> Iterator[SingleRun]:
    yield SingleRun(order=order, why="original order", setting=Setting.ORIGINAL, seed=0)
    for number in range(1, runs):
        yield SingleRun(order=shuffled(order, number), why="another order", setting=Setting.SHUFFLED, seed=number)


def shuffled(order: Order, seed: int) -> Order:
    """The tests in another order."""
    return tuple(random.Random(seed).sample(order, len(order)))


def measure_store(folder: Path, suite: Suite, real: Sequence[RunRecord]) -> Row:
    """Write and read a store of 100 whole runs."""
    path = folder / "store" / "flakehound.db"
    info = SessionInfo(rootdir=str(folder), python="", pytest="", base_seed=0, started_s=time.time())
    began = time.perf_counter()
    with Store.open(path) as store:
        session = store.begin(info, suite)
        assert session.id is not None
        for record in itertools.chain(real, _generated_records(real, STORED_RUNS - len(real))):
            store.append(session.id, [record])
        session_id = session.id
    writing_s = time.perf_counter() - began
    with Store.open(path) as store:
        began = time.perf_counter()
        assert sum(1 for _record in store.records(session_id)) == STORED_RUNS
        reading_s = time.perf_counter() - began
    megabytes = sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*")) / 1e6
    return Row(
        job=f"store of {STORED_RUNS} whole runs, {len(real)} of them real",
        ours=f"written in {writing_s:.1f} s, read in {reading_s:.1f} s",
        peer="–",
        measured=f"{megabytes:.1f} MB",
        goal=f"< {STORE_LIMIT_MB:g} MB",
        met=megabytes < STORE_LIMIT_MB,
    )


def _generated_records(real: Sequence[RunRecord], runs: int) -> Iterator[RunRecord]:
    for number in range(runs):
        rng = random.Random(number)
        source = real[number % len(real)]
        took_s = dict(zip(source.order, source.durations_s, strict=True))
        order = shuffled(source.order, 1000 + number)
        yield replace(
            source,
            order=order,
            durations_s=[took_s[test] * rng.uniform(0.9, 1.1) for test in order],
            setting=Setting.SHUFFLED,
            seed=number,
            usage=replace(source.usage, wall_s=source.usage.wall_s * rng.uniform(0.9, 1.1)),
        )


def measure_hunt(folder: Path, budget_s: int) -> list[Row]:
    """Run a whole hunt by the command, whose history grows; it is interrupted after twice its budget."""
    hunt = ["hunt", "--quiet", "--budget", f"{budget_s}s", "--", *PYTEST_ARGS]
    command = [sys.executable, "-m", "flakehound", *hunt]
    env = environment_with_flakehound(NO_OTHER_PLUGINS)
    began = time.perf_counter()
    with (
        subprocess.Popen(
            command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as hunting,
        MemoryWatch(hunting.pid) as memory,
    ):
        try:
            output, _ = hunting.communicate(timeout=MAX_BUDGETS * budget_s)
            end = "ended by itself"
        except subprocess.TimeoutExpired:
            hunting.send_signal(signal.SIGINT)
            output, _ = hunting.communicate()
            end = "interrupted by us"
    hunt_s = time.perf_counter() - began
    assert hunting.returncode in (0, 130), output.decode()[-2000:]
    return [
        _memory_row(f"peak memory of `flakehound hunt --budget {budget_s}s`", memory),
        Row(
            job="time of this hunt",
            ours=f"{hunt_s:.0f} s, {end}",
            peer="–",
            measured=f"{hunt_s / budget_s:.2f} × the budget",
            goal="≤ 1.1 × the budget",
            met=hunt_s <= 1.1 * budget_s,
        ),
    ]


def _memory_row(job: str, memory: MemoryWatch) -> Row:
    return Row(
        job=job,
        ours=memory.peak,
        peer="–",
        measured=memory.peak,
        goal=f"< {MEMORY_LIMIT_GB:g} GB",
        met=memory.peak_bytes < MEMORY_LIMIT_GB * 1e9,
    )


def main() -> None:
    parser = benchmark_parser(__doc__, repeats=1)
    parser.add_argument("--runs", type=int, default=4, help="real whole-suite runs (default %(default)s)")
    parser.add_argument("--budget", type=int, default=240, help="seconds of the hunt (default %(default)s)")
    options = parser.parse_args()
    with temporary_folder() as folder:
        write_large_suite(folder, tests=TESTS)
        suite, records, rows = run_suite(folder, options.runs)
        rows.append(measure_store(folder, suite, records))
        del records  # frees memory for the hunt
        rows += measure_hunt(folder, options.budget)
    report_results(rows, options.json)


if __name__ == "__main__":
    main()
