"""What tracing calls costs on a suite that does little else than call functions.

Processor time of one forked run of the whole suite, traced, against the same run untraced. The peer is
`sys.setprofile` with a Python function that does nothing, set around each test's function: the least that the
source's tracer could cost. Two suites: tests of about 10 ms, for which the goals are, and tests of about 0.3 ms,
where what pytest does per test counts as much.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from running import BARE, PYTEST_ARGS, temporary_folder
from side_by_side import Row, Series, arguments, in_turns, ratio, told
from suites import call_heavy_suite

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
def session(folder: Path, python: str, **env: str) -> Iterator[ForkServer]:
    with temporary_folder() as ours:
        target = Target(python=python, cwd=folder, pytest_args=PYTEST_ARGS, env={**BARE, **env})
        server = ForkServer(target, ours / "s", slots=1, hash_seed=0)
        server.wait_until_collected()
        try:
            yield server
        finally:
            server.close()


def cpu_s(server: ForkServer, options: TraceOptions | None) -> float:
    plan = SingleRun(order=tuple(server.item_numbers), why="cost", setting=Setting.ORIGINAL, seed=1, trace=options)
    (record,) = server.slots[0].run(plan, Limits(), ())
    assert set(record.outcomes) == {Outcome.PASSED}, record.ended
    assert bool(record.calls) == (options is not None)
    return record.usage.cpu_s


def measured(python: str, name: str, repeats: int) -> list[Row]:
    version = _version(python)
    is_new = version >= (3, 12)
    with temporary_folder() as folder, ExitStack() as stack:
        call_heavy_suite(folder, **SUITES[name])
        server = stack.enter_context(session(folder, python))
        peer = stack.enter_context(session(folder, python, EMPTY_PROFILER="1"))
        # Before, a profiler takes minutes for millions of calls, and always counts.
        fewer = ("plain", "characteristic") if name == next(iter(SUITES)) else ("plain", "characteristic", "all")
        chosen = TRACE_OPTIONS if is_new else {side: TRACE_OPTIONS[side] for side in fewer}
        sides = {side: partial(cpu_s, server, options) for side, options in chosen.items()}
        sides["empty profiler"] = partial(cpu_s, peer, None)
        for side in sides.values():
            side()
        took = in_turns(repeats, sides)
    limits = {"characteristic": 0.05 if is_new else 0.15, "all": 0.25 if is_new else None}
    goals = limits if name == next(iter(SUITES)) else {}
    empty = ratio(took["empty profiler"], took["plain"])
    rows = []
    for side in list(chosen)[1:]:
        dearer = Series(values=tuple(value - 1.0 for value in ratio(took[side], took["plain"]).values))
        limit = goals.get(side)
        rows.append(
            Row(
                job=f"Python {version[0]}.{version[1]}, {name}: {side}",
                ours=took[side].text(),
                peer=f"plain {took['plain'].text()}; empty profiler +{(empty.median - 1) * 100:.0f} %",
                measured=dearer.text("%", 100),
                goal="" if limit is None else f"≤ {limit * 100:g} %",
                met=None if limit is None else dearer.median <= limit,
            )
        )
    return rows


def _version(python: str) -> tuple[int, int]:
    command = [python, "-c", "import sys, pytest; print(*sys.version_info[:2])"]
    major, minor = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return int(major), int(minor)


def main() -> None:
    parser = arguments(__doc__, repeats=7)
    parser.add_argument(
        "--python",
        action="append",
        metavar="PATH",
        help="interpreter with pytest; may be repeated (default: the one that runs this)",
    )
    chosen = parser.parse_args()
    rows = []
    for python in chosen.python or [sys.executable]:
        for name in SUITES:
            rows += measured(python, name, chosen.repeats)
    told(rows, chosen.json)


if __name__ == "__main__":
    main()
