"""20,000 tests: collected, run, hunted and stored; memory of all our processes together, and size of the store.

Memory is the sum of the proportional set sizes (PSS: shared pages divided among those who share them) of the
controller and everything it started, sampled while it runs. The store holds 100 whole runs in 100 different
orders: the first ones really run, the others drawn from them (a new shuffle, each test's duration varied by
10 %), which packs no better.
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
from running import BARE, PYTEST_ARGS, bare, engine_on, own_environment, plain_pytest, run_all, temporary_folder
from side_by_side import Row, arguments, told, wall_s
from suites import large_suite

from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Order, Setting, SingleRun, Suite
from flakehound.core.records import RunRecord
from flakehound.store import SessionInfo, Store

TESTS = 20_000
JOBS = 2
MEMORY_LIMIT_GB = 1.5
STORE_LIMIT_MB = 50.0
STORED_RUNS = 100
OVERRUN = 2  # budgets after which a hunt is taken to hang


class MemoryWatch:
    """Samples what a process and its descendants hold together, until it is told to stop."""

    def __init__(self, pid: int, every_s: float = 0.5) -> None:
        self._root = psutil.Process(pid)
        self._every_s = every_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.peak_bytes = 0

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def peak(self) -> str:
        """The most ever held."""
        return f"{self.peak_bytes / 1e9:.2f} GB"

    def _sample(self) -> None:
        while not self._over.wait(self._every_s):
            self.peak_bytes = max(self.peak_bytes, sum(map(pss_bytes, self._processes())))

    def _processes(self) -> list[psutil.Process]:
        try:
            return [self._root, *self._root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []


def pss_bytes(process: psutil.Process) -> int:
    """Memory of one process, shared pages in proportion; 0 when it has just ended."""
    try:
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def run_some(folder: Path, runs: int) -> tuple[Suite, list[RunRecord], list[Row]]:
    """Collect the suite and really run it, in the original order and shuffled."""
    with MemoryWatch(os.getpid()) as memory:
        began = time.perf_counter()
        with engine_on(bare(folder), jobs=JOBS) as opened:
            opening_s = time.perf_counter() - began
            suite = opened.suite
            assert len(suite.tests) == TESTS, len(suite.tests)
            running = time.perf_counter()
            records = list(run_all(opened, _plans(suite.order, runs)))
            run_s = (time.perf_counter() - running) / runs
    assert {outcome for record in records for outcome in record.outcomes} == {Outcome.PASSED}
    plain_s = wall_s(partial(plain_pytest, folder))
    return suite, records, [
        Row(
            job=f"{TESTS:,} tests: opening, then {runs} whole-suite runs on {JOBS} jobs, per run",
            ours=f"opening {opening_s:.1f} s, then {run_s:.1f} s a run",
            peer=f"one plain run {plain_s:.1f} s",
            measured=f"{plain_s / run_s:.2f} ×",
        ),
        _memory_row(f"peak memory of the engine ({runs} such runs)", memory),
    ]  # fmt: skip


def _plans(order: Order, runs: int) -> Iterator[SingleRun]:
    yield SingleRun(order=order, why="original order", setting=Setting.ORIGINAL, seed=0)
    for number in range(1, runs):
        yield SingleRun(order=shuffled(order, number), why="another order", setting=Setting.SHUFFLED, seed=number)


def shuffled(order: Order, seed: int) -> Order:
    return tuple(random.Random(seed).sample(order, len(order)))


def store_size(folder: Path, suite: Suite, real: Sequence[RunRecord]) -> Row:
    path = folder / "store" / "flakehound.db"
    info = SessionInfo(rootdir=str(folder), python="", pytest="", base_seed=0, started_s=time.time())
    began = time.perf_counter()
    with Store.open(path) as store:
        session = store.begin(info, suite)
        assert session.id is not None
        for record in itertools.chain(real, _drawn_from(real, STORED_RUNS - len(real))):
            store.append(session.id, [record])
        session_id = session.id
    writing_s = time.perf_counter() - began
    with Store.open(path) as store:
        began = time.perf_counter()
        assert sum(1 for _record in store.records(session_id)) == STORED_RUNS
        reading_s = time.perf_counter() - began
    megabytes = sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*")) / 1e6
    return Row(
        job=f"{TESTS:,} tests: store of {STORED_RUNS} whole runs, {len(real)} real, the others drawn from them",
        ours=f"written in {writing_s:.1f} s, read in {reading_s:.1f} s",
        peer="–",
        measured=f"{megabytes:.1f} MB",
        goal=f"< {STORE_LIMIT_MB:g} MB",
        met=megabytes < STORE_LIMIT_MB,
    )


def _drawn_from(real: Sequence[RunRecord], runs: int) -> Iterator[RunRecord]:
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


def hunted(folder: Path, budget_s: int) -> list[Row]:
    """A whole hunt by the command, whose history grows as it runs; one that overruns its budget is interrupted."""
    command = [
        sys.executable,
        "-m",
        "flakehound",
        "hunt",
        "--quiet",
        "--budget",
        f"{budget_s}s",
        "--",
        *PYTEST_ARGS,
    ]
    env = own_environment(BARE)
    began = time.perf_counter()
    with (
        subprocess.Popen(
            command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as hunting,
        MemoryWatch(hunting.pid) as memory,
    ):
        try:
            output, _ = hunting.communicate(timeout=OVERRUN * budget_s)
            ended = "ended by itself"
        except subprocess.TimeoutExpired:
            hunting.send_signal(signal.SIGINT)
            output, _ = hunting.communicate()
            ended = "interrupted by us"
    wall = time.perf_counter() - began
    assert hunting.returncode in (0, 130), output.decode()[-2000:]
    return [
        _memory_row(f"peak memory of `flakehound hunt --budget {budget_s}s`", memory),
        Row(
            job=f"{TESTS:,} tests: time of that hunt",
            ours=f"{wall:.0f} s, {ended}",
            peer="–",
            measured=f"{wall / budget_s:.2f} × the budget",
            goal="≤ 1.1 × the budget",
            met=wall <= 1.1 * budget_s,
        ),
    ]


def _memory_row(job: str, memory: MemoryWatch) -> Row:
    return Row(
        job=f"{TESTS:,} tests: {job}",
        ours=memory.peak,
        peer="–",
        measured=memory.peak,
        goal=f"< {MEMORY_LIMIT_GB:g} GB",
        met=memory.peak_bytes < MEMORY_LIMIT_GB * 1e9,
    )


def main() -> None:
    parser = arguments(__doc__, repeats=1)
    parser.add_argument("--runs", type=int, default=4, help="whole-suite runs really made (default %(default)s)")
    parser.add_argument("--budget", type=int, default=240, help="seconds of the hunt (default %(default)s)")
    chosen = parser.parse_args()
    with temporary_folder() as folder:
        large_suite(folder, tests=TESTS)
        suite, records, rows = run_some(folder, chosen.runs)
        rows.append(store_size(folder, suite, records))
        del records
        rows += hunted(folder, chosen.budget)
    told(rows, chosen.json)


if __name__ == "__main__":
    main()
