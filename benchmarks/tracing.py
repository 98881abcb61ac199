"""CPU time that tracing calls adds to a run of tests that do little except call functions.

One forked run of the whole suite, traced, relative to the same run untraced. The peer is `sys.setprofile` with a
Python function that does nothing, set around each test's function: the published tracer cannot cost less. Two
suites: tests of about 10 ms, to which the goals apply, and tests of about 0.3 ms, where pytest's own work per test
counts as much.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from running import NO_OTHER_PLUGINS, PYTEST_ARGS, temporary_folder
from side_by_side import Row, Series, benchmark_parser, measure_in_turns, ratio_per_turn, report_results
from suites import write_call_heavy_suite

from flakehound.calls.characteristic_functions import default_functions
from flakehound.core.calls import TraceMode, TraceOptions
from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Setting, SingleRun
from flakehound.engine.processes.forkserver import ForkServer
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits

KNOWN = default_functions()
PATTERNS = {"patterns": KNOWN.patterns, "neutral": KNOWN.neutral}
TRACE_OPTIONS = {
    "plain": None,
    "characteristic": TraceOptions(mode=TraceMode.CHARACTERISTIC, **PATTERNS),
    "all": TraceOptions(mode=TraceMode.ALL, **PATTERNS),
    "all, counted": TraceOptions(mode=TraceMode.ALL, counts=True, **PATTERNS),
}
SUITES = {"tests of 10 ms": {"tests": 6, "rounds": 200}, "tests of 0.3 ms": {"tests": 20, "rounds": 1}}


@contextmanager
def fork_server(folder: Path, python: str, **env: str) -> Iterator[ForkServer]:
    """A collected session of the suite, from which runs are forked."""
    with temporary_folder() as work:
        target = Target(python=python, cwd=folder, pytest_args=PYTEST_ARGS, env={**NO_OTHER_PLUGINS, **env})
        server = ForkServer(target, work / "s", slots=1, hash_seed=0)
        server.wait_until_collected()
        try:
            yield server
        finally:
            server.close()


def run_cpu_s(server: ForkServer, options: TraceOptions | None) -> float:
    """Run the suite once and return its CPU time."""
    plan = SingleRun(order=tuple(server.item_numbers), why="cost", setting=Setting.ORIGINAL, seed=1, trace=options)
    (record,) = server.slots[0].run(plan, Limits(), ())
    assert set(record.outcomes) == {Outcome.PASSED}, record.ended
    assert bool(record.calls) == (options is not None)
    return record.usage.cpu_s


def measure(python: str, name: str, repeats: int) -> list[Row]:
    """The rows of one interpreter and suite."""
    version = _version(python)
    is_new = version >= (3, 12)
    with temporary_folder() as folder, ExitStack() as stack:
        write_call_heavy_suite(folder, **SUITES[name])
        server = stack.enter_context(fork_server(folder, python))
        peer = stack.enter_context(fork_server(folder, python, EMPTY_PROFILER="1"))
        # Before Python 3.12 a profiler needs minutes for millions of calls, and always counts.
        fewer = ("plain", "characteristic") if name == next(iter(SUITES)) else ("plain", "characteristic", "all")
        modes = TRACE_OPTIONS if is_new else {side: TRACE_OPTIONS[side] for side in fewer}
        sides = {side: partial(run_cpu_s, server, trace) for side, trace in modes.items()}
        sides["empty profiler"] = partial(run_cpu_s, peer, None)
        for run in sides.values():
            run()  # the first run imports modules
        took = measure_in_turns(repeats, sides)
    limits = {"characteristic": 0.05 if is_new else 0.15, "all": 0.25 if is_new else None}
    goals = limits if name == next(iter(SUITES)) else {}
    empty = ratio_per_turn(took["empty profiler"], took["plain"])
    rows = []
    for side in list(modes)[1:]:
        added = Series(values=tuple(value - 1.0 for value in ratio_per_turn(took[side], took["plain"]).values))
        limit = goals.get(side)
        rows.append(
            Row(
                job=f"Python {version[0]}.{version[1]}, {name}: {side}",
                ours=took[side].text(),
                peer=f"plain {took['plain'].text()}; empty profiler +{(empty.median - 1) * 100:.0f} %",
                measured=added.text("%", 100),
                goal="" if limit is None else f"≤ {limit * 100:g} %",
                met=None if limit is None else added.median <= limit,
                is_detail=side == "all, counted",
            )
        )
    return rows


def _version(python: str) -> tuple[int, int]:
    command = [python, "-c", "import sys, pytest; print(*sys.version_info[:2])"]
    major, minor = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return int(major), int(minor)


def main() -> None:
    parser = benchmark_parser(__doc__, repeats=7)
    parser.add_argument(
        "--python",
        action="append",
        metavar="PATH",
        help="interpreter with pytest; may be repeated (default: the one that runs this)",
    )
    options = parser.parse_args()
    rows = []
    for python in options.python or [sys.executable]:
        for name in SUITES:
            rows += measure(python, name, options.repeats)
    report_results(rows, options.json)


if __name__ == "__main__":
    main()
