"""Check with plain pytest that planted tests behave as recorded; no flakehound code runs in these processes.

Each order runs in a new process, in a project that git has cleaned. A state is changed or it is not, so one
process per order is enough; rates need many runs.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from large_suites import LargeSuite, environment_of, facts_of, planted_project, whole_plain_run
from plain_check import PlainCheck
from planted_code import RACE, TICK
from planted_tests import Plant, read_truth
from prepared_subjects import Subject

REPEATS = 300  # of a NOD test, in one process
PROCESSES = 16  # new ones for a test whose outcome is the same in all runs of one process
RATE_SIGMAS = 4.0
# Tests that wait fail more often on a busy machine.
SLACK_OF_WAITING_TESTS = 0.15
CHECKS = "checks.json"  # the problem of each plant, empty: none
ORIGINAL_ORDER = "the original order"  # among them


class LargeCheck(PlainCheck):
    """Plain pytest in one copy of a large project, which git cleans before each run."""

    _folder: TemporaryDirectory[str] | None = None  # removed with this object

    def copy_into(self, folder: Path) -> Path:
        """The copy as it was committed, with empty folders for home and temporary files next to it.

        Not a new copy for each run: to copy and compile thousands of files takes longer than most runs.
        """
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="fh-check-")
            shutil.copytree(self._subject.tree, Path(self._folder.name) / "tree", symlinks=True)
        copy = Path(self._folder.name).resolve() / "tree"
        for words in (("checkout", "-q", "--", "."), ("clean", "-dfq")):
            subprocess.run(["git", *words], cwd=copy, check=True)
        for name in ("home", "tmp"):
            shutil.rmtree(copy.parent / name, ignore_errors=True)
            (copy.parent / name).mkdir()
        return copy

    def environment_of(self, tree: Path) -> dict[str, str]:
        """The variables that the processes get in addition to ours."""
        own = environment_of(tree)
        return {name: own[name] for name in ("HOME", "TMPDIR")}

    def outcomes_at(self, moment_s: int, test: str) -> list[str]:
        """The outcome of a test that sees this moment as the present."""
        plugin = LargeCheck(self._subject_with("-plarge_clock"), run_limit_s=self._run_limit_s)
        os.environ["LARGE_CLOCK_S"] = str(moment_s)
        return plugin.outcomes([test])

    def _subject_with(self, *arguments: str) -> Subject:
        return subject_of(self._subject.key, self._subject.tree, self._subject.python, arguments)


def subject_of(key: str, tree: Path, python: str, arguments: Sequence[str] = ()) -> Subject:
    """A prepared project in the form that `PlainCheck` takes; the path at the end is never used."""
    return Subject(key=key, tree=tree, python=python, pytest_args=(*arguments, "."), labels=(), n_tests=0)


def check_of(suite: LargeSuite, seed: int) -> LargeCheck:
    """A check of the project with the plants of this seed."""
    subject = subject_of(f"{suite.name}-{seed}", planted_project(suite, seed) / "tree", suite.python)
    return LargeCheck(subject, run_limit_s=600.0, repeat_limit_s=900.0)


def verify_plants(suite: LargeSuite, seed: int) -> dict[str, str]:
    """Check each plant, and the other tests in the original order; returns problems by test.

    What an earlier, interrupted verification found to be as recorded is not checked again.
    """
    folder = planted_project(suite, seed)
    plants, check, checks = read_truth(folder), check_of(suite, seed), _read_checks(folder)
    for plant in plants:
        if checks.get(plant.test) != "":
            checks[plant.test] = "; ".join(problems_of(plant, check))
            text = checks[plant.test] or "as recorded"
            print(f"  {text}: {plant.kind} {plant.test} ({plant.via})", flush=True)
            _write_checks(folder, checks)
    if checks.get(ORIGINAL_ORDER) != "":
        problems = _problems_in_original_order(suite, seed, plants)
        checks |= problems | {ORIGINAL_ORDER: f"{len(problems)} problems" if problems else ""}
        _write_checks(folder, checks)
    return {test: problem for test, problem in checks.items() if problem}


def verified_problems(suite: LargeSuite, seed: int) -> dict[str, str] | None:
    """The problems that an earlier verification found, by test; None if it was not completed."""
    folder = suite.planted_folder(seed)
    checks = _read_checks(folder)
    is_complete = {ORIGINAL_ORDER, *(plant.test for plant in read_truth(folder))} <= set(checks)
    return {test: problem for test, problem in checks.items() if problem} if is_complete else None


def _read_checks(folder: Path) -> dict[str, str]:
    path = folder / CHECKS
    return dict(json.loads(path.read_text())) if path.exists() else {}


def _write_checks(folder: Path, checks: Mapping[str, str]) -> None:
    (folder / CHECKS).write_text(json.dumps(checks, indent=1))


def problems_of(plant: Plant, check: LargeCheck) -> Iterator[str]:
    """What plain pytest shows that contradicts the record."""
    if plant.fails_at_s is not None:
        yield from _clock_problems(plant, plant.fails_at_s, check)
    elif plant.kind == "nod":
        yield from _rate_problems(plant, check)
    else:
        for order, expected in expected_outcomes(plant).items():
            letters = "".join(check.outcomes(order, times=len(expected) if len(order) == 1 else 1))
            if letters != expected:
                yield f"{' '.join(order)}: {letters or 'nothing'} instead of {expected}"


def expected_outcomes(plant: Plant) -> Mapping[tuple[str, ...], str]:
    """For each order that shows the kind of a plant, how its tests end; one test alone may run twice."""
    test = plant.test
    if plant.kind == "non-idempotent":
        return {(test,): "PF"}
    alone, after = ("F", "P") if plant.kind == "brittle" else ("P", "F")
    sets = [plant.culprits] if plant.joint else [(culprit,) for culprit in plant.culprits]
    expected = {(test,): alone} | {(*culprits, test): "P" * len(culprits) + after for culprits in sets}
    if plant.joint:
        expected |= {(culprit, test): "P" + alone for culprit in plant.culprits}
        expected |= {(*plant.culprits[::-1], test): "PP" + after}
    for cleaner in plant.cleaners:
        expected[(*plant.culprits, cleaner, test)] = "P" * (len(plant.culprits) + 1) + alone
    return expected


def _clock_problems(plant: Plant, fails_at_s: int, check: LargeCheck) -> Iterator[str]:
    # 10 seconds later, because that is no multiple of a period of `clock_window`.
    letters = [*check.outcomes_at(fails_at_s, plant.test), *check.outcomes_at(fails_at_s + 10, plant.test)]
    if letters != ["F", "P"]:
        yield f"{letters} at two moments instead of a failure and a pass"


def _rate_problems(plant: Plant, check: LargeCheck) -> Iterator[str]:
    """Whether the failure rate is far from the recorded one."""
    if plant.by_process:
        letters = [letter for _ in range(PROCESSES) for letter in check.outcomes([plant.test])]
    else:
        letters = check.outcomes([plant.test], times=REPEATS)
    expected, rate = plant.rate or 0.0, letters.count("F") / max(1, len(letters))
    print(f"  failed {letters.count('F')} of {len(letters)} times, recorded rate {expected:.2f}:", end="")
    margin = RATE_SIGMAS * math.sqrt(expected * (1 - expected) / max(1, len(letters)))
    slack = SLACK_OF_WAITING_TESTS if plant.via in (TICK, RACE) else 0.0
    is_near = expected - margin <= rate <= expected + margin + slack
    if not is_near or rate == 0.0 or len(letters) < PROCESSES:
        yield f"failed {letters.count('F')} of {len(letters)} times, recorded rate {expected:.3f}"


def _problems_in_original_order(suite: LargeSuite, seed: int, plants: list[Plant]) -> dict[str, str]:
    """Tests that end in another way than recorded in one plain run of the whole suite, except NOD plants."""
    folder = suite.planted_folder(seed)
    outcomes = whole_plain_run(suite, folder / "tree", folder / "plain", cores=None).outcomes
    expected = dict(facts_of(suite).outcomes)
    for plant in plants:
        expected |= dict.fromkeys((plant.test, *plant.culprits, *plant.cleaners), "passed")
        expected[plant.test] = "failed" if plant.fails_originally else "passed"
    nod = {plant.test for plant in plants if plant.kind == "nod"}
    return {
        test: f"{outcomes.get(test, 'did not run')} in the original order instead of {outcome}"
        for test, outcome in expected.items()
        if test not in nod and outcomes.get(test) != outcome
    }
