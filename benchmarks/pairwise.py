"""PAIRWISE, 300 tiny tests by 10 victims: flakehound against loops that fork once per pair.

Both peers use one core by their nature. `peer_published_loop.py` works as the published plugin does.
`peer_forking_loop.py` is a harder one that nobody publishes: one session for all victims, no hooks, no output.
We run the same pairs on one core and on two, exactly and chained. What chains can miss is counted on further
suites: with cleaners among the other tests, and with victims that undo pollution themselves.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from running import BARE, bare, engine_on, plain_pytest, processor_s, run_all, temporary_folder
from side_by_side import Row, Series, arguments, at_least, in_turns, on_cores, told, wall_s
from suites import PlantedPair, victims_suite

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, RunPlan
from flakehound.engine.suite.open_suite import OpenSuite
from flakehound.hunt.search.pairs import Case, Pairs

Found = set[tuple[str, str]]
# A cleaner so many places behind the polluter; 0 is none. Half of the pairs have one.
CLEANER_PLACES = (0, 1, 0, 2, 0, 4, 0, 8, 0, 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """What one search found, and what it cost."""

    pairs: Found
    cpu_s: float


def searched(
    folder: Path, victims: list[NodeId], jobs: int, form: Callable[[Pairs], Iterator[RunPlan]]
) -> Searched:
    """One form of PAIRWISE, planned by the hunt's own room."""
    began = processor_s()
    with engine_on(bare(folder), jobs=jobs) as opened:
        history = History(opened.suite)
        cases = [Case(test=victim, fails=True) for victim in victims]
        pairs = Pairs(history, cases, opened.suite.order, Isolation.FORK)
        run_into(history, opened, form(pairs))
        while plans := pairs.pairs_to_verify():
            run_into(history, opened, iter(plans))
        found = {
            (other, victim)
            for victim in victims
            for other in opened.suite.order
            if history.tally_after((other,), victim).failed
        }
        return Searched(pairs=found, cpu_s=processor_s() - began)


def run_into(history: History, opened: OpenSuite, plans: Iterator[RunPlan]) -> None:
    for record in run_all(opened, (replace(plan, seed=0) for plan in plans)):
        history.add(record)


def loop_of_the_published_plugin(folder: Path, victims: list[NodeId]) -> Searched:
    """The peer: a session per victim, a fork per pair."""
    began = processor_s()
    answer = folder / "answer.txt"
    answer.write_text("")
    for victim in victims:
        _run_peer(folder, "peer_published_loop", {"PEER_VICTIM": victim, "PEER_RESULT": str(answer)})
    pairs = [json.loads(line) for line in answer.read_text().splitlines()]
    return Searched(pairs={(polluter, victim) for polluter, victim in pairs}, cpu_s=processor_s() - began)


def lean_loop(folder: Path, victims: list[NodeId]) -> Searched:
    """The harder peer: one session for all victims."""
    began = processor_s()
    asked, answer = folder / "victims.json", folder / "answer.json"
    asked.write_text(json.dumps(victims))
    _run_peer(folder, "peer_forking_loop", {"PEER_VICTIMS": str(asked), "PEER_RESULT": str(answer)})
    pairs = {(polluter, victim) for polluter, victim in json.loads(answer.read_text())}
    return Searched(pairs=pairs, cpu_s=processor_s() - began)


def _run_peer(folder: Path, plugin: str, env: Mapping[str, str]) -> None:
    assert plain_pytest(folder, "-p", plugin, env={**BARE, "PYTHONPATH": str(Path(__file__).parent), **env}) == 0


class Bench:
    """One suite and the forms of PAIRWISE on it."""

    def __init__(self, folder: Path, planted: Sequence[PlantedPair]) -> None:
        self._folder = folder
        self.planted: Found = {(pair.polluter, pair.victim) for pair in planted}
        self._victims = [NodeId(victim) for victim in sorted({pair.victim for pair in planted})]
        self.found: dict[str, Found] = {}
        self._cpu_s: dict[str, list[float]] = {}

    def exact(self, name: str, jobs: int) -> float:
        """Every pair in its own process, on as many cores as jobs."""
        return self._timed(name, jobs, partial(searched, self._folder, self._victims, jobs, Pairs.exact_plans))

    def chained(self, name: str, jobs: int) -> float:
        """Chains of victims, then exactly what they leave in doubt."""
        return self._timed(name, jobs, partial(searched, self._folder, self._victims, jobs, Pairs.chained_plans))

    def published(self, name: str) -> float:
        """The peer, on one core."""
        return self._timed(name, 1, partial(loop_of_the_published_plugin, self._folder, self._victims))

    def lean(self, name: str) -> float:
        """The harder peer, on one core."""
        return self._timed(name, 1, partial(lean_loop, self._folder, self._victims))

    def _timed(self, name: str, cores: int, work: partial[Searched]) -> float:
        def keep() -> None:
            outcome = work()
            self.found[name] = outcome.pairs
            self._cpu_s.setdefault(name, []).append(outcome.cpu_s)

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
                "chained": lambda: bench.chained("chained", 2),
                "peer": lambda: bench.published("peer"),
                "exact": lambda: bench.exact("exact", 2),
                "lean": lambda: bench.lean("lean"),
                "one": lambda: bench.exact("one", 1),
                "chained one": lambda: bench.chained("chained one", 1),
            },
        )
    assert all(found == bench.planted for found in bench.found.values()), bench.found
    pairs = "2,990 pairs ⟨p, v⟩, the same found"
    peer, lean = took["peer"], took["lean"]

    def row(job: str, name: str, other: Series, times: float | None = None) -> Row:
        return at_least(job, ours=took[name], peer=other, times=times)

    processor = f"{pairs}: exact, one core each, processor time"
    return [
        row(f"{pairs}: chained, two cores, against the published scheme", "chained", peer, 5),
        row(f"{pairs}: exact, one core each", "one", peer, 1),
        at_least(processor, ours=bench.cpu("one"), peer=bench.cpu("peer"), times=1),
        row(f"{pairs}: exact, two cores", "exact", peer),
        row(f"{pairs}: chained, one core each", "chained one", peer),
        row("the same: chained, two cores, against the lean loop", "chained", lean),
        row("the same: exact, two cores, against the lean loop", "exact", lean),
        row("the same: exact, one core, against the lean loop", "one", lean),
    ]


def misses() -> list[Row]:
    """What chains overlook, by what undoes pollution."""
    return [
        _missed("with a cleaner 1–16 places behind each second polluter", cleaner_places=CLEANER_PLACES),
        _missed("and 2 of the 10 victims undo all pollution", cleaner_places=CLEANER_PLACES, cleaning_victims=2),
        _missed("and every victim undoes all pollution", cleaner_places=CLEANER_PLACES, cleaning_victims=10),
    ]


def _missed(job: str, cleaner_places: Sequence[int], cleaning_victims: int = 0) -> Row:
    with temporary_folder() as folder:
        planted = victims_suite(
            folder,
            tests=300,
            victims=10,
            polluters_each=4,
            cleaner_places=cleaner_places,
            cleaning_victims=cleaning_victims,
        )
        bench = Bench(folder, planted)
        jobs = min(2, os.cpu_count() or 1)
        bench.exact("exact", jobs)
        bench.chained("chained", jobs)
        bench.lean("peer")
    missed = len(bench.planted - bench.found["chained"])
    return Row(
        job=f"{len(planted)} planted pairs, {job}",
        ours=f"exact {bench.share_found('exact')}; chained {bench.share_found('chained')}",
        peer=bench.share_found("peer"),
        measured=f"chains miss {missed}",
        goal="exact misses none",
        met=bench.found["exact"] == bench.planted,
    )


def main() -> None:
    chosen = arguments(__doc__).parse_args()
    told(speed(chosen.repeats) + misses(), chosen.json)


if __name__ == "__main__":
    main()
