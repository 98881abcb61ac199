"""Score the report and the store of a hunt against the record of planted tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plain_check import PlainCheck
from planted_tests import Plant

from flakehound.core.outcomes import Outcome
from flakehound.core.records import RunRecord
from flakehound.store.store import Store

FLAKY_KINDS = ("victim", "brittle", "non-idempotent", "nod")
# What became of a plant, the best first.
PROVEN = "proven"  # right kind, all culprits
KIND_ONLY = "kind only"  # right kind, but not all culprits
WRONG_KIND = "wrong kind"
UNRESOLVED = "unresolved"
MISSED = "missed"
RESULTS = (PROVEN, KIND_ONLY, WRONG_KIND, UNRESOLVED, MISSED)
MAX_CHECKED_CULPRITS = 5  # named ones that were not planted, per test


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


def claims_of(report: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The tests that a report calls flaky or unresolved, by id."""
    kinds = (*FLAKY_KINDS, UNRESOLVED)
    return {test["id"]: test for test in report["tests"] if test.get("kind") in kinds}


def result_of(plant: Plant, claim: Mapping[str, Any] | None) -> str:
    """What became of one plant."""
    if claim is None:
        return MISSED
    if claim["kind"] != plant.kind:
        return UNRESOLVED if claim["kind"] == UNRESOLVED else WRONG_KIND
    return PROVEN if set(plant.culprits) <= set(culprits_named(claim)) else KIND_ONLY


def culprits_named(claim: Mapping[str, Any]) -> list[str]:
    """The polluters and state-setters of a claim."""
    return [*(claim.get("polluters") or ()), *(claim.get("state_setters") or ())]


def judge_others(
    claims: Mapping[str, Mapping[str, Any]], plants: Sequence[Plant], check: PlainCheck
) -> Iterator[tuple[str, str]]:
    """Verdicts of plain pytest on claims that no plant confirms, each with a note.

    These are flaky tests of the suite itself, plants of another kind, and tests that were named as culprits of a
    plant without being planted as such.
    """
    planted = {plant.test: plant for plant in plants}
    for test, claim in claims.items():
        if claim["kind"] == UNRESOLVED:
            continue
        plant = planted.get(test)
        if plant is None or claim["kind"] != plant.kind:
            verdict = check.verdict_on(claim)
            yield verdict.partition(":")[0], f"{claim['kind']} `{test}`: {verdict}"
        else:
            yield from _judge_culprits(plant, claim, check)


def _judge_culprits(plant: Plant, claim: Mapping[str, Any], check: PlainCheck) -> Iterator[tuple[str, str]]:
    """Verdicts on culprits that were named but not planted: each alone before the plant, joint ones together."""
    others = [name for name in culprits_named(claim) if name not in plant.culprits]
    if others and claim.get("joint"):
        verdict = check.verdict_on(claim)
        yield verdict.partition(":")[0], f"culprits of {plant.kind} `{plant.test}`: {verdict}"
        return
    for culprit in others[:MAX_CHECKED_CULPRITS]:
        order = [culprit, plant.test]
        verdict = check.verdict_on({"id": plant.test, "kind": plant.kind, "minimal_order": order, "evidence": ()})
        yield verdict.partition(":")[0], f"`{culprit}` as culprit of {plant.kind} `{plant.test}`: {verdict}"


def read_store(path: Path, plants: Sequence[Plant], began_s: float) -> StoreFacts:
    """Read when each plant was exposed and proven, in seconds after `began_s`."""
    facts = StoreFacts()
    if not path.exists():
        facts.times = {plant.test: PlantTimes() for plant in plants}
        return facts
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
