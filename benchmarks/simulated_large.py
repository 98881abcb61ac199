"""Simulated hunts in large suites: which planted tests a planner proves, without running anything.

The suites of `tests/hunt/large_suites.py` have 3,000 to 8,000 tests that take one to five minutes, and 19 planted
flaky tests; a simulated clock replaces the processes. Numbers of hunts in long suites are compared with it
(`hunt/long_limits.py`), because real hunts of ten minutes are too few for that.

    python benchmarks/simulated_large.py --suites 70-75 --budgets 10m,30m
    python benchmarks/simulated_large.py --suites 70-75 --budgets 10m --nights 3      one hunt after the other
    PYTHONPATH=/other/checkout/src python benchmarks/simulated_large.py …      the planner of another checkout
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "hunt"))

from large_suites import large_suite
from planted_suites import PlantedTest
from simulator import hunt

from flakehound.core.verdicts import Kind, Verdict

# What starting, concluding and looking for causes take of a real hunt.
OVERHEAD_S = 8.0
RARE = "NOD 2%"  # no goal is about it
RESULTS = ("proven", "kind only", "unresolved", "wrong kind", "missed")


@dataclass(slots=True)
class SimulatedHunt:
    """What one simulated hunt found."""

    number: int
    suite_s: float
    took_s: float  # of the simulation
    results: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))  # by kind of plant
    false_claims: int = 0


def simulated(number: int, budget_s: float, nights: int) -> SimulatedHunt:
    """Hunt in the suite with this number; each further night goes on from the runs so far."""
    began = time.perf_counter()
    large = large_suite(number, budget_s=budget_s)
    simulator, history = large.simulator(), None
    for _night in range(nights):
        found = hunt(
            simulator,
            history=history,
            max_plans=10**6,
            jobs=2,
            policy="index",
            endless=True,
            time_left_s=budget_s - OVERHEAD_S,
            background_reference=True,
        )
        history = found.history
    result = SimulatedHunt(number=number, suite_s=sum(large.test_s.values()), took_s=0.0)
    for test, plant in large.planted.items():
        result.results[plant.name][_result_of(plant, found.verdicts[test])] += 1
    claims = [verdict for verdict in found.verdicts.values() if verdict.kind.is_flaky]
    result.false_claims = sum(verdict.id not in large.planted for verdict in claims)
    result.took_s = time.perf_counter() - began
    return result


def _result_of(plant: PlantedTest, verdict: Verdict) -> str:
    if verdict.kind is plant.right:
        is_complete = plant.decisive <= {*verdict.polluters, *verdict.state_setters}
        return "proven" if is_complete else "kind only"
    if verdict.kind is Kind.STEADY:
        return "missed"
    return "unresolved" if verdict.kind is Kind.UNRESOLVED else "wrong kind"


def table_of(hunts: Sequence[SimulatedHunt]) -> str:
    """One line per kind of plant, and the sums."""
    kinds = sorted({name for hunt_ in hunts for name in hunt_.results})
    lines = [f"| planted | {' | '.join(RESULTS)} |", "|---" * (len(RESULTS) + 1) + "|"]
    total: Counter[str] = Counter()
    for kind in kinds:
        counts = sum((hunt_.results[kind] for hunt_ in hunts), Counter[str]())
        lines.append(f"| {kind} | " + " | ".join(str(counts[result]) for result in RESULTS) + " |")
        if kind != RARE:
            total += counts
    lines.append("| required | " + " | ".join(str(total[result]) for result in RESULTS) + " |")
    share = total["proven"] / max(1, sum(total.values()))
    false = sum(hunt_.false_claims for hunt_ in hunts)
    return "\n".join([*lines, f"{share:.1%} of the required tests, {false} false claims"])


def _seconds(label: str) -> float:
    matched = re.fullmatch(r"(\d+)([sm])", label)
    assert matched, f"not a budget: {label!r}; examples: 10m, 90s"
    return float(matched[1]) * {"s": 1.0, "m": 60.0}[matched[2]]


def _numbers(text: str) -> Iterator[int]:
    for part in text.split(","):
        first, _dash, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--suites", default="20-25", help="numbers of suites (default %(default)s)")
    parser.add_argument("--budgets", default="10m", help="such as 10m,30m (default %(default)s)")
    parser.add_argument("--nights", type=int, default=1, help="hunts in a row (default %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="simulations at once (default %(default)s)")
    options = parser.parse_args()
    numbers = list(_numbers(options.suites))
    with ProcessPoolExecutor(options.jobs) as pool:
        for label in options.budgets.split(","):
            hunts = list(pool.map(simulated, numbers, repeat(_seconds(label)), repeat(options.nights)))
            times = ", ".join(f"{found.number}: {found.suite_s:.0f} s" for found in hunts)
            took_s = sum(found.took_s for found in hunts)
            title = f"{options.nights} × {label}, suites {times}; simulated in {took_s:.0f} s of CPU"
            print(f"\n{title}\n{table_of(hunts)}", flush=True)


if __name__ == "__main__":
    main()
