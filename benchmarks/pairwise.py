"""PAIRWISE, 300 tiny tests by 10 victims: flakehound's snapshots against a loop that forks once per pair.

The peer (`peer_forking_loop.py`) uses one core by its nature; we run the same pairs on one core and on two.
The grouped form puts 12 tests before each victim and splits the groups that matter: far fewer processes, but
a cleaner within the group hides its polluter, and pairs within one group are not asked. How many it misses is
counted on a second suite.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from running import BARE, engine_on, plain_pytest, processor_s, run_all, temporary_folder
from side_by_side import Row, Series, arguments, at_least, in_turns, on_cores, told, wall_s
from suites import PlantedPair, victims_suite

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order, RunPlan, Setting
from flakehound.engine.opening import OpenSuite
from flakehound.hunt.shrink import shrink
from flakehound.hunt.sweeps import GROUP_SIZE

Pairs = set[tuple[str, str]]
# A cleaner so many places behind the polluter; 0 is none. Half of the pairs have one.
CLEANER_PLACES = (0, 1, 0, 2, 0, 4, 0, 8, 0, 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """What one search found, and what it cost."""

    pairs: Pairs
    cpu_s: float


def probe(before: Order, victims: Sequence[NodeId]) -> RunPlan:
    """The earlier tests once, then every victim in a copy of that process."""
    return RunPlan(
        order=before,
        branches=tuple((victim,) for victim in victims if victim not in before),
        why="does one test change the outcome of another?",
        setting=Setting.PROBE,
        seed=0,
    )


def failing_after(opened: OpenSuite, plans: Iterator[RunPlan]) -> list[Order]:
    """The orders, earlier tests and victim, in which the victim failed."""
    return [record.order for record in run_all(opened, plans) if record.last.is_failure]


def exact_pairs(folder: Path, victims: list[NodeId], jobs: int) -> Searched:
    began = processor_s()
    with engine_on(folder, jobs=jobs) as opened:
        plans = (probe((polluter,), victims) for polluter in opened.suite.order)
        pairs: Pairs = {(order[0], order[1]) for order in failing_after(opened, plans)}
        return Searched(pairs=pairs, cpu_s=processor_s() - began)


def grouped_pairs(folder: Path, victims: list[NodeId], jobs: int) -> Searched:
    began = processor_s()
    with engine_on(folder, jobs=jobs) as opened:
        tests = opened.suite.order
        groups = [tests[start : start + GROUP_SIZE] for start in range(0, len(tests), GROUP_SIZE)]
        guilty = failing_after(opened, (probe(group, victims) for group in groups))
        pairs: Pairs = {(polluter_in(opened, before, victim), victim) for *before, victim in guilty}
        return Searched(pairs=pairs, cpu_s=processor_s() - began)


def polluter_in(opened: OpenSuite, group: Sequence[NodeId], victim: NodeId) -> NodeId:
    """The test of the group that makes the victim fail, found as the hunt finds it."""

    def decides(candidates: Sequence[Order]) -> list[bool]:
        plans = (
            RunPlan(order=(*before, victim), why="split", setting=Setting.PROBE, seed=0) for before in candidates
        )
        failing = set(failing_after(opened, plans))
        return [(*before, victim) in failing for before in candidates]

    return shrink(tuple(group), decides)[-1]


def looped_pairs(folder: Path, victims: list[NodeId]) -> Searched:
    """The peer."""
    began = processor_s()
    asked, answer = folder / "victims.json", folder / "answer.json"
    asked.write_text(json.dumps(victims))
    here = str(Path(__file__).parent)
    env = {**BARE, "PYTHONPATH": here, "PEER_VICTIMS": str(asked), "PEER_RESULT": str(answer)}
    assert plain_pytest(folder, "-p", "peer_forking_loop", env=env) == 0
    pairs = {(polluter, victim) for polluter, victim in json.loads(answer.read_text())}
    return Searched(pairs=pairs, cpu_s=processor_s() - began)


class Bench:
    """One suite and the forms of PAIRWISE on it."""

    def __init__(self, folder: Path, planted: Sequence[PlantedPair]) -> None:
        self._folder = folder
        self.planted: Pairs = {(pair.polluter, pair.victim) for pair in planted}
        self._victims = [NodeId(victim) for victim in sorted({pair.victim for pair in planted})]
        self.found: dict[str, Pairs] = {}
        self._cpu_s: dict[str, list[float]] = {}

    def exact(self, name: str, jobs: int) -> float:
        """Every pair in its own process, on as many cores as jobs."""
        return self._timed(name, jobs, partial(exact_pairs, self._folder, self._victims, jobs))

    def grouped(self, name: str, jobs: int) -> float:
        """Groups, then splitting."""
        return self._timed(name, jobs, partial(grouped_pairs, self._folder, self._victims, jobs))

    def loop(self, name: str) -> float:
        """The peer, on one core."""
        return self._timed(name, 1, partial(looped_pairs, self._folder, self._victims))

    def _timed(self, name: str, cores: int, work: partial[Searched]) -> float:
        def keep() -> None:
            searched = work()
            self.found[name] = searched.pairs
            self._cpu_s.setdefault(name, []).append(searched.cpu_s)

        with on_cores(cores):
            return wall_s(keep)

    def cpu(self, name: str) -> Series:
        """Processor time of every turn."""
        return Series(values=tuple(self._cpu_s[name]))

    def share_found(self, name: str) -> str:
        """How many of the planted pairs, and how many others."""
        found = self.found[name]
        others = len(found - self.planted)
        return f"{len(found & self.planted)} of {len(self.planted)}" + (f" and {others} others" if others else "")


def speed(repeats: int) -> list[Row]:
    with temporary_folder() as folder:
        bench = Bench(folder, victims_suite(folder, tests=300, victims=10))
        plain_pytest(folder)  # compiles the files
        took = in_turns(
            repeats,
            {
                "two": lambda: bench.exact("two", 2),
                "peer": lambda: bench.loop("peer"),
                "one": lambda: bench.exact("one", 1),
                "grouped": lambda: bench.grouped("grouped", 2),
            },
        )
    assert bench.found["peer"] == bench.found["two"] == bench.found["one"] == bench.planted, bench.found
    pairs = "2,990 pairs ⟨p, v⟩"
    return [
        at_least(f"{pairs}, exact, two cores against the loop", ours=took["two"], peer=took["peer"], times=5),
        at_least(f"{pairs}, exact, one core each", ours=took["one"], peer=took["peer"], times=1),
        at_least(
            f"{pairs}, exact, one core each, processor time",
            ours=bench.cpu("one"), peer=bench.cpu("peer"), times=1,
        ),
        at_least(
            f"the same question, grouped by {GROUP_SIZE}, two cores (found {bench.share_found('grouped')})",
            ours=took["grouped"], peer=took["peer"], times=None,
        ),
    ]  # fmt: skip


def misses() -> list[Row]:
    """What the grouped form overlooks where cleaners stand near polluters."""
    with temporary_folder() as folder:
        planted = victims_suite(folder, tests=300, victims=10, polluters_each=4, cleaner_places=CLEANER_PLACES)
        bench = Bench(folder, planted)
        jobs = min(2, os.cpu_count() or 1)
        bench.exact("exact", jobs)
        bench.grouped("grouped", jobs)
        bench.loop("peer")
    cleaned = sum(pair.cleaner_after is not None for pair in planted)
    missed = [pair for pair in planted if (pair.polluter, pair.victim) not in bench.found["grouped"]]
    reasons = Counter(why_missed(pair) for pair in missed)
    return [
        Row(
            job=f"planted pairs found: {len(planted)}, {cleaned} with a cleaner 1–16 places behind the polluter",
            ours=f"exact {bench.share_found('exact')}; grouped {bench.share_found('grouped')}",
            peer=bench.share_found("peer"),
            measured=f"grouped misses {len(missed)}: " + ", ".join(f"{n} {why}" for why, n in reasons.items()),
            goal="exact misses none",
            met=bench.found["exact"] == bench.planted,
        )
    ]


def why_missed(pair: PlantedPair) -> str:
    """What about the groups hides a pair."""
    group = pair.polluter_place // GROUP_SIZE
    if pair.victim_place // GROUP_SIZE == group:
        return "in one group with the victim"
    if pair.cleaner_after is not None and (pair.polluter_place + pair.cleaner_after) // GROUP_SIZE == group:
        return "with the cleaner in the group"
    return "with another polluter in the group"


def main() -> None:
    chosen = arguments(__doc__).parse_args()
    told(speed(chosen.repeats) + misses(), chosen.json)


if __name__ == "__main__":
    main()
