"""Tests that pass and fail in the same order: is it proven, and does a seed decide?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flakehound.core.history import Execution, History, Tally, tally_of
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order, Setting, SingleRun
from flakehound.core.verdicts import Cause, Kind, LikelyCause, Replay
from flakehound.hunt import limits
from flakehound.hunt.diagnosis.chance import may_be_chance
from flakehound.hunt.diagnosis.findings import Diagnosis, Finding
from flakehound.hunt.diagnosis.fork_artefacts import finding_of_fork_artefact
from flakehound.hunt.diagnosis.load import diagnose_load, tally_of_equal_runs
from flakehound.hunt.diagnosis.questions import NeedRuns, Question
from flakehound.hunt.diagnosis.suspect import Suspect


def diagnose_nod(suspect: Suspect, finding: Finding) -> Diagnosis:
    """Whether the test is proven NOD and whether a seed decides about it; extends an earlier finding."""
    artefact = yield from finding_of_fork_artefact(suspect, finding)
    if artefact is not None:
        return artefact
    failures = suspect.history.failures_of(suspect.test)
    if not any(_is_proof(suspect, execution) for execution in failures):
        return (yield from _diagnose_without_proof(suspect, finding))
    finding = replace(
        finding.with_first_evidence(_counts(suspect)),
        kind=Kind.NOD,
        replay=shortest_failing_run(suspect.history, suspect.test),
    )
    yield finding
    by_hash_seed = yield from _finding_of_hash_seed(suspect, finding)
    if by_hash_seed is not None:
        return by_hash_seed
    failure = _failure_to_repeat(suspect, failures)
    return finding if failure is None else (yield from _finding_of_seed(suspect, finding, failure))


def _diagnose_without_proof(suspect: Suspect, finding: Finding) -> Diagnosis:
    """Diagnose a test that did not yet fail with nothing beside it where it also passed.

    A test that passed and failed after the same tests is NOD by definition, even if its failures were seen only
    beside other runs, unless load is likely to be the reason.
    """
    failures = suspect.history.failures_of(suspect.test)
    is_mixed = any(_passed_after_same_tests(suspect, execution) for execution in failures)
    by_definition = replace(
        finding.with_first_evidence(f"{_counts(suspect)}, so far only beside other runs"), kind=Kind.NOD
    )
    under_load = yield from diagnose_load(suspect, by_definition if is_mixed else finding)
    if under_load is None:
        words = f"{_counts(suspect)}: too few to tell the order from chance"
        return by_definition if is_mixed else finding.with_first_evidence(words)
    is_explained_by_chance = under_load.load_chance > limits.MAX_CHANCE_OF_LIKELY_LOAD
    if is_mixed and is_explained_by_chance and suspect.examine_load:
        seems, chance = under_load.seems_under_load, under_load.load_chance
        return replace(by_definition, seems_under_load=seems, load_chance=chance)
    return under_load


def _is_proof(suspect: Suspect, execution: Execution) -> bool:
    """Whether it failed with no other run going on, after the same tests after which it also passed."""
    return not execution.record.disturbed and _passed_after_same_tests(suspect, execution)


def _passed_after_same_tests(suspect: Suspect, execution: Execution) -> bool:
    in_original = suspect.history.tally(suspect.test, Setting.ORIGINAL, after=execution.prefix)
    return (in_original + suspect.history.tally_after(execution.prefix, suspect.test)).passed > 0


def _counts(suspect: Suspect) -> str:
    tally = suspect.history.tally(suspect.test, Setting.ORIGINAL, Setting.ALONE)
    if tally.is_mixed:
        return f"failed {tally.failed} of {tally.n} runs in the same order or alone"
    prefixes = {s.prefix for s in suspect.history.failures_of(suspect.test)}
    tallies = (suspect.history.tally_after(prefix, suspect.test) for prefix in prefixes)
    largest = max(tallies, key=lambda t: (t.is_mixed, t.n))
    return (
        f"failed {largest.failed} of {largest.n} runs after the same tests, "
        f"{tally.failed} of {tally.n} in the original order and alone"
    )


def _failure_to_repeat(suspect: Suspect, failures: Sequence[Execution]) -> Execution | None:
    """The failure whose seed is compared with others: the shortest, preferably one whose order also passed."""
    forked_failures = [s for s in failures if s.record.seed is not None and s.record.isolation is Isolation.FORK]
    shortest = min(forked_failures, key=lambda s: s.position, default=None)
    # If it never passes after them, the tests may decide instead of the seed.
    if shortest is not None and not _passed_after_same_tests(suspect, shortest):
        return next((s for s in forked_failures if _passed_after_same_tests(suspect, s)), None)
    return shortest


def _finding_of_seed(suspect: Suspect, finding: Finding, execution: Execution) -> Question[Finding]:
    """Compare the failing seed with other seeds after the same tests, so that the order cannot be the reason."""
    record, order = execution.record, execution.record.order[: execution.position + 1]
    executions = [
        s for s in suspect.history.executions_after(order[:-1], suspect.test) if s.record.seed == record.seed
    ]
    same_seed, all_seeds = tally_of(executions), tally_of_equal_runs(suspect.history, execution)
    other_seeds = Tally(n=all_seeds.n - same_seed.n, failed=all_seeds.failed - same_seed.failed)
    needed_runs = _same_seed_runs_for(other_seeds) if same_seed.failed == same_seed.n else None
    if needed_runs is None:
        return finding
    if same_seed.n < needed_runs and len(executions) < needed_runs + limits.MAX_RUNS_WITHOUT_OUTCOME:
        why = f"does the seed decide about {suspect.test}?"
        plan = SingleRun(order=order, why=why, setting=Setting.PROBE, seed=record.seed)
        yield NeedRuns.of([plan] * (needed_runs - same_seed.n))
    if same_seed.n < needed_runs:
        return finding
    words = (
        f"failed {same_seed.failed} of {same_seed.n} with random seed {record.seed}, "
        f"{other_seeds.failed} of {other_seeds.n} with others"
    )
    return replace(
        finding,
        causes=(*finding.causes, LikelyCause(cause=Cause.RANDOMNESS, evidence=words)),
        replay=Replay(
            order=order, seed=record.seed, hash_seed=record.hash_seed, failed=same_seed.failed, runs=same_seed.n
        ),
    )


def _same_seed_runs_for(other_seeds: Tally) -> int | None:
    """Failures in a row with one seed that are not chance, given those of other seeds; None: too many.

    The first is not counted, because the seed was chosen by it.
    """
    counts = range(limits.SAME_SEED_RUNS, limits.MAX_SAME_SEED_RUNS)
    return next((n for n in counts if not may_be_chance(Tally(n=n - 1, failed=n - 1), other_seeds)), None)


def _finding_of_hash_seed(suspect: Suspect, finding: Finding) -> Question[Finding | None]:
    """The finding if the test always fails with some hash seeds and always passes with all others; else None."""
    tallies = suspect.history.tally_by_hash_seed(suspect.test, Setting.ORIGINAL, Setting.ALONE)
    failing_seeds = [h for h, tally in tallies.items() if tally.failed == tally.n]
    passing_seeds = [h for h, tally in tallies.items() if not tally.failed]
    if not failing_seeds or not passing_seeds or len(failing_seeds) + len(passing_seeds) < len(tallies):
        return None
    why = f"does the hash seed decide about {suspect.test}?"
    for hash_seed in (failing_seeds[0], passing_seeds[0]):
        missing = limits.SAME_SEED_RUNS - tallies[hash_seed].n
        yield from suspect.ask.ensure_runs_with_hash_seed((suspect.test,), hash_seed, missing=missing, why=why)
    failing_tally, passing_tally = tallies[failing_seeds[0]], tallies[passing_seeds[0]]
    if min(failing_tally.n, passing_tally.n) < limits.SAME_SEED_RUNS:
        return None
    words = (
        f"failed {failing_tally.failed} of {failing_tally.n} with PYTHONHASHSEED={failing_seeds[0]}, "
        f"passed {passing_tally.n} of {passing_tally.n} with {passing_seeds[0]}"
    )
    return replace(
        finding,
        causes=(*finding.causes, LikelyCause(cause=Cause.UNORDERED_COLLECTION, evidence=words)),
        replay=Replay(
            order=(suspect.test,),
            isolation=Isolation.SPAWN,
            hash_seed=failing_seeds[0],
            failed=failing_tally.failed,
            runs=failing_tally.n,
        ),
    )


def shortest_failing_run(history: History, test: NodeId) -> Replay | None:
    """The shortest failing run seen, with its seeds."""
    failures = history.failures_of(test)
    if not failures:
        return None
    execution = min(failures, key=lambda s: (s.position, s.record.isolation is Isolation.SPAWN))
    order: Order = execution.record.order[: execution.position + 1]
    tally = history.tally_after(execution.prefix, test)
    record = execution.record
    return Replay(
        order=order,
        isolation=record.isolation,
        seed=record.seed,
        hash_seed=record.hash_seed if record.isolation is Isolation.SPAWN else None,
        failed=tally.failed,
        runs=tally.n,
    )
