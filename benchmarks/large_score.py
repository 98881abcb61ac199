"""Score the report of a hunt against the record of planted tests.

A plant is proven if the report has its kind and names all culprits; a joint victim must be called joint. Accepted
as well: more culprits than were planted, if plain pytest confirms each of them (other tests can change the same
state), and a NOD test that is said to fail only under load. Not accepted: another kind, even if plain
pytest confirms it; it does not count as false then, but the plant counts as one of the wrong kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from plain_check import PlainCheck
from planted_tests import Plant

FLAKY_KINDS = ("victim", "brittle", "non-idempotent", "nod")
# What became of a plant, the best first.
PROVEN = "proven"  # right kind, all culprits
KIND_ONLY = "kind only"  # right kind, but not all culprits
WRONG_KIND = "wrong kind"
UNRESOLVED = "unresolved"
MISSED = "missed"
FAILING = "failing"  # a kind of the report, like `unresolved`
RESULTS = (PROVEN, KIND_ONLY, WRONG_KIND, UNRESOLVED, MISSED)
MAX_CHECKED_CULPRITS = 5  # named ones that were not planted, per test


def claims_of(report: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The tests that a report calls flaky, by id."""
    return {test["id"]: test for test in report["tests"] if test["kind"] in FLAKY_KINDS}


def is_exposed(test: Mapping[str, Any]) -> bool:
    """Whether a failure of the test is in the counts of the report."""
    return any(tally["failed"] for tally in test["runs"].values())


def result_of(plant: Plant, test: Mapping[str, Any] | None) -> str:
    """What became of one plant; `test` is its part of the report."""
    if test is None or test["kind"] == "steady":
        return MISSED
    if test["kind"] != plant.kind:
        return UNRESOLVED if test["kind"] == UNRESOLVED else WRONG_KIND
    is_complete = set(plant.culprits) <= set(culprits_named(test))
    return PROVEN if is_complete and bool(test.get("joint")) == plant.joint else KIND_ONLY


def culprits_named(claim: Mapping[str, Any]) -> list[str]:
    """The polluters and state-setters of a claim."""
    return [*(claim.get("polluters") or ()), *(claim.get("state_setters") or ())]


def judge_others(
    claims: Mapping[str, Mapping[str, Any]],
    plants: Sequence[Plant],
    check: PlainCheck,
    own_flaky: Mapping[str, str],
) -> Iterator[tuple[str, str]]:
    """Verdicts of plain pytest on claims that no plant confirms, each with a note.

    These are flaky tests of the suite itself, plants of another kind, and tests that were named as culprits of a
    plant without being planted as such. A test of the suite that is known to be flaky by itself is at worst
    unverified: plain pytest may need other tests, or luck, to show it again.
    """
    planted = {plant.test: plant for plant in plants}
    for test, claim in claims.items():
        plant = planted.get(test)
        if plant is None or claim["kind"] != plant.kind:
            verdict = check.verdict_on(claim)
            if test in own_flaky and not verdict.startswith("true"):
                verdict = f"unverified: {verdict}; known as flaky without plants ({own_flaky[test]})"
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
