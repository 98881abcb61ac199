"""PAIRWISE with 300 tiny tests and 10 victims, 2,990 pairs, against loops that fork once per pair.

Both peers can use only one core. `peer_published_loop.py` works as the published plugin does.
`peer_forking_loop.py` is an unpublished, faster one: one session for all victims, no hooks, no output. We run the
same pairs on one core and on two, exact (one process per pair) and chained. Pairs that chains miss are counted on
other suites: with cleaners among the other tests, and with victims that remove pollution themselves.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from running import (
    NO_OTHER_PLUGINS,
    open_collected_suite,
    run_all,
    run_plain_pytest,
    target_in,
    temporary_folder,
    total_cpu_s,
)
from side_by_side import (
    Row,
    Series,
    benchmark_parser,
    measure_in_turns,
    on_cores,
    report_results,
    speedup_row,
    wall_s,
)
from suites import PlantedPair, write_victims_suite

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, RunPlan
from flakehound.engine.suite.open_suite import OpenSuite
from flakehound.hunt.search.pairs import Case, Pairs

PairSet = set[tuple[str, str]]  # polluter, victim
# How many tests after its polluter a cleaner comes; 0: no cleaner. Half of the pairs have one.
CLEANER_DISTANCES = (0, 1, 0, 2, 0, 4, 0, 8, 0, 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The pairs that one search found, and its CPU time."""

    pairs: PairSet
    cpu_s: float


def search_pairs(
    folder: Path, victims: list[NodeId], jobs: int, form: Callable[[Pairs], Iterator[RunPlan]]
) -> SearchResult:
    """Search by one form of PAIRWISE, planned as in a hunt."""
    began = total_cpu_s()
    with open_collected_suite(target_in(folder), jobs=jobs) as opened:
        history = History(opened.suite)
        cases = [Case(test=victim, fails=True) for victim in victims]
        pairs = Pairs(history, cases, opened.suite.order, Isolation.FORK)
        run_and_record(history, opened, form(pairs))
        while plans := pairs.pairs_to_verify():
            run_and_record(history, opened, iter(plans))
        found = {
            (other, victim)
            for victim in victims
            for other in opened.suite.order
            if history.tally_after((other,), victim).failed
        }
        return SearchResult(pairs=found, cpu_s=total_cpu_s() - began)


def run_and_record(history: History, opened: OpenSuite, plans: Iterator[RunPlan]) -> None:
    """Run the plans and add their records to the history."""
    for record in run_all(opened, (replace(plan, seed=0) for plan in plans)):
        history.add(record)


def run_published_loop(folder: Path, victims: list[NodeId]) -> SearchResult:
    """The peer: one session per victim, one fork per pair."""
    began = total_cpu_s()
    answer = folder / "answer.txt"
    answer.write_text("")
    for victim in victims:
        _run_peer(folder, "peer_published_loop", {"PEER_VICTIM": victim, "PEER_RESULT": str(answer)})
    pairs = [json.loads(line) for line in answer.read_text().splitlines()]
    return SearchResult(pairs={(polluter, victim) for polluter, victim in pairs}, cpu_s=total_cpu_s() - began)


def run_lean_loop(folder: Path, victims: list[NodeId]) -> SearchResult:
    """The faster peer: one session for all victims."""
    began = total_cpu_s()
    victims_file, answer = folder / "victims.json", folder / "answer.json"
    victims_file.write_text(json.dumps(victims))
    _run_peer(folder, "peer_forking_loop", {"PEER_VICTIMS": str(victims_file), "PEER_RESULT": str(answer)})
    pairs = {(polluter, victim) for polluter, victim in json.loads(answer.read_text())}
    return SearchResult(pairs=pairs, cpu_s=total_cpu_s() - began)


def _run_peer(folder: Path, plugin: str, env: Mapping[str, str]) -> None:
    path = str(Path(__file__).parent)
    assert run_plain_pytest(folder, "-p", plugin, env={**NO_OTHER_PLUGINS, "PYTHONPATH": path, **env}) == 0


class PairBenchmark:
    """One suite, on which all forms of PAIRWISE run; each method returns its wall time."""

    def __init__(self, folder: Path, planted: Sequence[PlantedPair]) -> None:
        self._folder = folder
        self.planted: PairSet = {(pair.polluter, pair.victim) for pair in planted}
        self._victims = [NodeId(victim) for victim in sorted({pair.victim for pair in planted})]
        self.found: dict[str, PairSet] = {}
        self._cpu_s: dict[str, list[float]] = {}

    def exact(self, name: str, jobs: int) -> float:
        """Run every pair in its own process, on as many cores as jobs."""
        return self._search(name, jobs, Pairs.exact_plans)

    def chained(self, name: str, jobs: int) -> float:
        """Run chains of victims, then each doubtful pair in its own process."""
        return self._search(name, jobs, Pairs.chained_plans)

    def published(self, name: str) -> float:
        """Run the published scheme, on one core."""
        return self._measure(name, 1, partial(run_published_loop, self._folder, self._victims))

    def lean(self, name: str) -> float:
        """Run the lean loop, on one core."""
        return self._measure(name, 1, partial(run_lean_loop, self._folder, self._victims))

    def _search(self, name: str, jobs: int, form: Callable[[Pairs], Iterator[RunPlan]]) -> float:
        return self._measure(name, jobs, partial(search_pairs, self._folder, self._victims, jobs, form))

    def _measure(self, name: str, cores: int, work: partial[SearchResult]) -> float:
        def search() -> None:
            result = work()
            self.found[name] = result.pairs
            self._cpu_s.setdefault(name, []).append(result.cpu_s)

        with on_cores(cores):
            return wall_s(search)

    def cpu(self, name: str) -> Series:
        """CPU time of every turn."""
        return Series(values=tuple(self._cpu_s[name]))

    def found_text(self, name: str) -> str:
        """How many of the planted pairs were found, and how many others."""
        found = self.found[name]
        others = len(found - self.planted)
        return f"{len(found & self.planted)} of {len(self.planted)}" + (f" and {others} others" if others else "")


def measure_speed(repeats: int) -> list[Row]:
    """The rows about time; all searches must find exactly the planted pairs."""
    with temporary_folder() as folder:
        bench = PairBenchmark(folder, write_victims_suite(folder, tests=300, victims=10))
        run_plain_pytest(folder)  # compiles the files
        took = measure_in_turns(
            repeats,
            {
                "chained": lambda: bench.chained("chained", 2),
                "peer": lambda: bench.published("peer"),
                "exact": lambda: bench.exact("exact", 2),
                "lean": lambda: bench.lean("lean"),
                "exact, one core": lambda: bench.exact("exact, one core", 1),
                "chained, one core": lambda: bench.chained("chained, one core", 1),
            },
        )
    assert all(found == bench.planted for found in bench.found.values()), bench.found
    peer, lean = took["peer"], took["lean"]

    def row(job: str, name: str, other: Series, times: float | None = None) -> Row:
        return speedup_row(job, ours=took[name], peer=other, times=times)

    cpu, peer_cpu = bench.cpu("exact, one core"), bench.cpu("peer")
    cpu_row = speedup_row("exact, one core, CPU time", ours=cpu, peer=peer_cpu, times=1)
    return [
        row("chained, two cores, against the published scheme", "chained", peer, 5),
        row("exact, one core, against the published scheme", "exact, one core", peer, 1),
        row("chained, two cores, against the lean loop", "chained", lean),
        row("exact, one core, against the lean loop", "exact, one core", lean),
        replace(cpu_row, is_detail=True),
        replace(row("exact, two cores, against the published scheme", "exact", peer), is_detail=True),
        replace(row("chained, one core, against the published scheme", "chained, one core", peer), is_detail=True),
        replace(row("exact, two cores, against the lean loop", "exact", lean), is_detail=True),
    ]


def missed_pair_rows() -> list[Row]:
    """Pairs that chains miss, by what removes the pollution."""
    return [
        _missed_row("a cleaner 1–16 tests after every second polluter"),
        _missed_row("and 2 of 10 victims clean up", cleaning_victims=2),
        _missed_row("and all victims clean up", cleaning_victims=10),
    ]


def _missed_row(job: str, cleaning_victims: int = 0) -> Row:
    with temporary_folder() as folder:
        planted = write_victims_suite(
            folder,
            tests=300,
            victims=10,
            polluters_each=4,
            cleaner_distances=CLEANER_DISTANCES,
            cleaning_victims=cleaning_victims,
        )
        bench = PairBenchmark(folder, planted)
        jobs = min(2, os.cpu_count() or 1)
        bench.exact("exact", jobs)
        bench.chained("chained", jobs)
        bench.lean("peer")
    missed = len(bench.planted - bench.found["chained"])
    return Row(
        job=f"{len(planted)} planted pairs, {job}",
        ours=f"exact {bench.found_text('exact')}; chained {bench.found_text('chained')}",
        peer=bench.found_text("peer"),
        measured=f"chains miss {missed}",
        goal="exact misses none",
        met=bench.found["exact"] == bench.planted,
    )


def main() -> None:
    options = benchmark_parser(__doc__).parse_args()
    report_results(measure_speed(options.repeats) + missed_pair_rows(), options.json)


if __name__ == "__main__":
    main()
