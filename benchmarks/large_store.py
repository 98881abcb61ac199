"""Read from the store of a hunt when each planted test first failed, and when the runs of its proof were complete.

flakehound does not record when it reached a verdict, so the moment is recomputed from the stored runs, in the
order of their ends. A proof is complete when each run that the kind needs by definition was made once; the
confirmations that follow are not waited for. This script is run by the interpreter of the flakehound that made
the store.

usage: python large_store.py DATABASE TRUTH BEGAN_S     BEGAN_S: seconds since 1970
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from planted_tests import Plant, read_truth

from flakehound.core.outcomes import Outcome
from flakehound.core.records import RunRecord
from flakehound.store.store import Store


@dataclass(slots=True)
class PlantTimes:
    """When one plant first failed, and when the runs that prove its kind were complete; None: never."""

    exposed_s: float | None = None
    proven_s: float | None = None


@dataclass(slots=True)
class StoreFacts:
    """What the store of a hunt shows about time."""

    times: dict[str, PlantTimes] = field(default_factory=dict)
    tests_run: int = 0  # that ran at least once
    runs: int = 0


def read_store(path: Path, plants: Sequence[Plant], began_s: float) -> StoreFacts:
    """Read when each plant was exposed and proven, in seconds after `began_s`."""
    if not path.exists():
        return StoreFacts(times={plant.test: PlantTimes() for plant in plants})
    with Store.open(path, create=False) as store:
        hunt = store.latest_hunt()
        records = [] if hunt is None or hunt.id is None else store.records(hunt.id)
        return _facts_of_runs(records, plants, began_s)


def _facts_of_runs(records: Iterable[RunRecord], plants: Sequence[Plant], began_s: float) -> StoreFacts:
    proofs = {plant.test: _Proof(plant) for plant in plants}
    run_once: set[str] = set()
    runs = 0
    for record in records:
        runs += 1
        ended_s = record.started_s + record.usage.wall_s - began_s
        for position, test, outcome in record:
            if outcome is Outcome.NOT_RUN:
                continue
            run_once.add(test)
            if test in proofs:
                proofs[test].add(record.order[:position], outcome, ended_s)
    times = {test: proof.times() for test, proof in proofs.items()}
    return StoreFacts(times=times, tests_run=len(run_once), runs=runs)


class _Proof:
    """Collects when the runs were made that prove one plant.

    An order-dependent test is proven by a run in which it is the first test, and one with nothing but its culprits
    before it, with different outcomes; a non-idempotent test by a first pass and a second failure; a NOD test by
    both outcomes after the same tests.
    """

    def __init__(self, plant: Plant) -> None:
        self._plant = plant
        self._exposed_s: float | None = None
        self._first_s: dict[str, float] = {}  # end of the first run of each needed kind
        self._after: dict[tuple[str, ...], set[bool]] = {}  # of a NOD test: passes, by the tests before it
        culprits = plant.culprits
        self._sets = [frozenset(culprits)] if plant.joint else [frozenset({culprit}) for culprit in culprits]

    def add(self, prefix: Sequence[str], outcome: Outcome, ended_s: float) -> None:
        """Add one execution: the tests before it, how it ended, and when its run ended."""
        if not (outcome.is_failure or outcome.is_pass):
            return
        if outcome.is_failure:
            self._exposed_s = min(ended_s, self._exposed_s if self._exposed_s is not None else ended_s)
        for need in self._needs_met(tuple(prefix), outcome.is_pass):
            self._first_s[need] = min(ended_s, self._first_s.get(need, ended_s))

    def _needs_met(self, prefix: tuple[str, ...], passed: bool) -> Iterator[str]:
        if self._plant.kind == "nod":
            outcomes = self._after.setdefault(prefix, set())
            outcomes.add(passed)
            if len(outcomes) == 2:
                yield "both outcomes"
            return
        passes_alone = self._plant.kind != "brittle"
        if not prefix and passed == passes_alone:
            yield "alone"
        if passed == passes_alone:
            return
        if self._plant.kind == "non-idempotent" and set(prefix) == {self._plant.test}:
            yield "again"
        for number, culprits in enumerate(self._sets):
            if prefix and set(prefix) == culprits:
                yield f"after {number}"

    def times(self) -> PlantTimes:
        """When the plant was exposed and proven."""
        needs = {
            "nod": ["both outcomes"],
            "non-idempotent": ["alone", "again"],
        }.get(self._plant.kind, ["alone", *(f"after {number}" for number in range(len(self._sets)))])
        is_proven = all(need in self._first_s for need in needs)
        return PlantTimes(
            exposed_s=self._exposed_s, proven_s=max(self._first_s[need] for need in needs) if is_proven else None
        )


def main() -> None:
    database, truth, began_s = sys.argv[1:]
    plants = read_truth(Path(truth).parent)
    print(json.dumps(asdict(read_store(Path(database), plants, float(began_s)))))


if __name__ == "__main__":
    main()
