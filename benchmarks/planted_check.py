"""Check with plain pytest that planted tests behave as recorded; no flakehound code runs in these processes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

from large_suites import LargeSuite, environment_of, facts_of, planted_project, whole_plain_run
from plain_check import PlainCheck
from planted_tests import Plant, read_truth
from prepared_subjects import Subject
from side_by_side import on_cores

REPEATS = 200  # of a NOD test, in one process
HASH_SEEDS = 24  # new processes for a test that depends on the hash seed
RATE_SIGMAS = 4.0
# Tests about time fail more often on a busy machine.
MAX_RATE_BY_TIME = 0.6
VERIFIED = "verified.json"


class LargeCheck(PlainCheck):
    """Plain pytest in copies of a large project, which also get a folder for temporary files of their own."""

    def environment_of(self, tree: Path) -> dict[str, str]:
        """The variables that the processes get in addition to ours."""
        own = environment_of(tree)
        Path(own["TMPDIR"]).mkdir(exist_ok=True)
        return {name: own[name] for name in ("HOME", "TMPDIR")}


def check_of(suite: LargeSuite, seed: int) -> LargeCheck:
    """A check of the project with the plants of this seed."""
    subject = Subject(
        key=f"{suite.name}-{seed}",
        tree=planted_project(suite, seed) / "tree",
        python=suite.python,
        pytest_args=(".",),  # unused: only single tests are checked
        labels=(),
        n_tests=0,
    )
    return LargeCheck(subject, run_limit_s=600.0, repeat_limit_s=900.0)


def verify_plants(suite: LargeSuite, seed: int) -> dict[str, str]:
    """Check each plant, and that the other tests pass in the original order; returns problems by test."""
    folder = planted_project(suite, seed)
    plants, check = read_truth(folder), check_of(suite, seed)
    problems: dict[str, str] = {}
    with on_cores(1):
        for plant in plants:
            found = "; ".join(problems_of(plant, check))
            print(f"  {found or 'as recorded'}: {plant.kind} {plant.test} ({plant.via})", flush=True)
            problems.update({plant.test: found} if found else {})
    problems |= _problems_in_original_order(suite, seed, plants)
    (folder / VERIFIED).write_text(json.dumps(problems, indent=1))
    return problems


def verified_problems(suite: LargeSuite, seed: int) -> dict[str, str] | None:
    """The problems of an earlier verification; None if there was none."""
    path = suite.planted_folder(seed) / VERIFIED
    return json.loads(path.read_text()) if path.exists() else None


def problems_of(plant: Plant, check: PlainCheck) -> Iterator[str]:
    """What plain pytest shows that contradicts the record."""
    if plant.kind == "nod":
        yield from _rate_problems(plant, check)
    elif plant.kind == "non-idempotent":
        yield from _contradiction(plant, (plant.test,), check)
    else:
        sets = [plant.culprits] if plant.joint else [(culprit,) for culprit in plant.culprits]
        for culprits in sets:
            yield from _contradiction(plant, culprits, check)
        yield from _outcome_problems(plant, check)


def _contradiction(plant: Plant, culprits: tuple[str, ...], check: PlainCheck) -> Iterator[str]:
    """The verdict of plain pytest on the recorded kind and culprits, unless it is `true`."""
    claim = {"id": plant.test, "kind": plant.kind, "minimal_order": [*culprits, plant.test], "evidence": ()}
    verdict = check.verdict_on(claim)
    if not verdict.startswith("true"):
        yield verdict


def _outcome_problems(plant: Plant, check: PlainCheck) -> Iterator[str]:
    """One culprit of a joint victim must not suffice, and a cleaner must clean."""
    for culprit in plant.culprits if plant.joint else ():
        if check.outcomes([culprit, plant.test])[-1:] != ["P"]:
            yield f"fails after {culprit} alone"
    for cleaner in plant.cleaners:
        if check.outcomes([*plant.culprits, cleaner, plant.test]) != ["P"] * (len(plant.culprits) + 2):
            yield f"{cleaner} is no cleaner"


def _rate_problems(plant: Plant, check: PlainCheck) -> Iterator[str]:
    """Whether the failure rate is far from the recorded one."""
    if plant.by_hash_seed:
        letters = [letter for _ in range(HASH_SEEDS) for letter in check.outcomes([plant.test])]
    else:
        letters = check.outcomes([plant.test], times=REPEATS)
    expected, rate = plant.rate or 0.0, letters.count("F") / max(1, len(letters))
    margin = RATE_SIGMAS * math.sqrt(expected * (1 - expected) / max(1, len(letters)))
    depends_on_time = plant.via in ("the clock", "a race of two threads")
    high = MAX_RATE_BY_TIME if depends_on_time else expected + margin
    if not max(expected - margin, 0.0) <= rate <= high or rate == 0.0 or len(letters) < HASH_SEEDS:
        yield f"failed {letters.count('F')} of {len(letters)} times, recorded rate {expected:.3f}"


def _problems_in_original_order(suite: LargeSuite, seed: int, plants: list[Plant]) -> dict[str, str]:
    """Tests that fail in one plain run of the whole suite, except NOD plants, and tests that have vanished."""
    folder = suite.planted_folder(seed)
    outcomes = whole_plain_run(suite, folder / "tree", folder / "plain").outcomes
    nod = {plant.test for plant in plants if plant.kind == "nod"}
    failed = {test: "fails in the original order" for test, outcome in outcomes.items() if outcome == "failed"}
    missing = {test: "did not run" for test in facts_of(suite).outcomes if test not in outcomes}
    unplanted = {
        test: "did not pass in the original order"
        for plant in plants
        for test in (plant.test, *plant.culprits, *plant.cleaners)
        if outcomes.get(test) != "passed"
    }
    return {test: problem for test, problem in (failed | missing | unplanted).items() if test not in nod}
