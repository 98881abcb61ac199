"""Tests that pass and fail in one and the same order: is it proven, and what decides?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flakehound.core.history import History, Sighting, Tally, tally_of
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
    """Whether the test is proven NOD and whether a seed decides about it, on top of an earlier finding."""
    artefact = yield from finding_of_fork_artefact(suspect, finding)
    if artefact is not None:
        return artefact
    failures = suspect.history.failures_of(suspect.test)
    if not any(_is_proof(suspect, sighting) for sighting in failures):
        under_load = yield from diagnose_load(suspect, finding)
        if under_load is not None:
            return under_load
        return finding.with_first_evidence(f"{_counts(suspect)}: too few to tell the order from chance")
    finding = replace(
        finding.with_first_evidence(_counts(suspect)),
        kind=Kind.NOD,
        replay=shortest_failing_run(suspect.history, suspect.test),
    )
    yield finding
    by_hash_seed = yield from _finding_of_hash_seed(suspect, finding)
    if by_hash_seed is not None:
        return by_hash_seed
    chosen = _failure_to_repeat(suspect, failures)
    return finding if chosen is None else (yield from _finding_of_seed(suspect, finding, chosen))


def _is_proof(suspect: Suspect, sighting: Sighting) -> bool:
    """A failure with nothing beside it, after tests after which it passes at other times."""
    return not sighting.record.disturbed and _passed_after_the_same(suspect, sighting)


def _passed_after_the_same(suspect: Suspect, sighting: Sighting) -> bool:
    prefix = sighting.record.order[: sighting.place]
    in_original = suspect.history.tally(suspect.test, Setting.ORIGINAL, after=prefix)
    return (in_original + suspect.after(prefix)).passed > 0


def _counts(suspect: Suspect) -> str:
    seen = suspect.history.tally(suspect.test, Setting.ORIGINAL, Setting.ALONE)
    if seen.is_mixed:
        return f"failed {seen.failed} of {seen.n} runs in the same order or alone"
    prefixes = {s.record.order[: s.place] for s in suspect.history.failures_of(suspect.test)}
    most = max((suspect.after(prefix) for prefix in prefixes), key=lambda t: (t.is_mixed, t.n))
    return (
        f"failed {most.failed} of {most.n} runs after the same tests, "
        f"{seen.failed} of {seen.n} in the original order and alone"
    )


def _failure_to_repeat(suspect: Suspect, failures: Sequence[Sighting]) -> Sighting | None:
    """The failure whose seed is compared with others: the shortest one, unless it never passes after its tests."""
    seeded = [s for s in failures if s.record.seed is not None and s.record.isolation is Isolation.FORK]
    shortest = min(seeded, key=lambda s: s.place, default=None)
    # Where it never passes, the tests before it may decide as well as the seed.
    if shortest is not None and not _passed_after_the_same(suspect, shortest):
        return next((s for s in seeded if _passed_after_the_same(suspect, s)), None)
    return shortest


def _finding_of_seed(suspect: Suspect, finding: Finding, sighting: Sighting) -> Question[Finding]:
    """Compare the failing seed with all others after the same tests: there the order cannot be the reason."""
    record, order = sighting.record, sighting.record.order[: sighting.place + 1]
    made = [s for s in suspect.history.after(order[:-1], suspect.test) if s.record.seed == record.seed]
    same, seen = tally_of(made), tally_of_equal_runs(suspect.history, sighting)
    others = Tally(n=seen.n - same.n, failed=seen.failed - same.failed)
    enough = _same_seed_runs_for(others) if same.failed == same.n else None
    if enough is None:
        return finding
    if same.n < enough and len(made) < enough + limits.MAX_RUNS_WITHOUT_OUTCOME:
        why = f"does the seed decide about {suspect.test}?"
        plan = SingleRun(order=order, why=why, setting=Setting.PROBE, seed=record.seed)
        yield NeedRuns.of([plan] * (enough - same.n))
    if same.n < enough:
        return finding
    words = (
        f"failed {same.failed} of {same.n} with random seed {record.seed}, "
        f"{others.failed} of {others.n} with others"
    )
    return replace(
        finding,
        causes=(*finding.causes, LikelyCause(cause=Cause.RANDOMNESS, evidence=words)),
        replay=Replay(order=order, seed=record.seed, hash_seed=record.hash_seed, failed=same.failed, runs=same.n),
    )


def _same_seed_runs_for(others: Tally) -> int | None:
    """Failures in a row under one seed that a test which fails by itself would hardly show; None: too many.

    The first is not counted: it is why this seed was chosen.
    """
    enough = range(limits.SAME_SEED_RUNS, limits.MAX_SAME_SEED_RUNS)
    return next((n for n in enough if not may_be_chance(Tally(n=n - 1, failed=n - 1), others)), None)


def _finding_of_hash_seed(suspect: Suspect, finding: Finding) -> Question[Finding | None]:
    """The finding if each hash seed either always fails or always passes; None if they do not decide."""
    by_hash = suspect.history.tally_by_hash_seed(suspect.test, Setting.ORIGINAL, Setting.ALONE)
    failing = [h for h, seen in by_hash.items() if seen.failed == seen.n]
    passing = [h for h, seen in by_hash.items() if not seen.failed]
    if not failing or not passing or len(failing) + len(passing) < len(by_hash):
        return None
    why = f"does the hash seed decide about {suspect.test}?"
    for chosen in (failing[0], passing[0]):
        missing = limits.SAME_SEED_RUNS - by_hash[chosen].n
        yield from suspect.ask.runs_with_hash_seed((suspect.test,), chosen, missing=missing, why=why)
    fails, passes = by_hash[failing[0]], by_hash[passing[0]]
    if min(fails.n, passes.n) < limits.SAME_SEED_RUNS:
        return None
    words = (
        f"failed {fails.failed} of {fails.n} with PYTHONHASHSEED={failing[0]}, "
        f"passed {passes.n} of {passes.n} with {passing[0]}"
    )
    return replace(
        finding,
        causes=(*finding.causes, LikelyCause(cause=Cause.UNORDERED_COLLECTION, evidence=words)),
        replay=Replay(
            order=(suspect.test,),
            isolation=Isolation.SPAWN,
            hash_seed=failing[0],
            failed=fails.failed,
            runs=fails.n,
        ),
    )


def shortest_failing_run(history: History, test: NodeId) -> Replay | None:
    """The shortest failing run seen, with its seeds."""
    failures = history.failures_of(test)
    if not failures:
        return None
    sighting = min(failures, key=lambda s: (s.place, s.record.isolation is Isolation.SPAWN))
    order: Order = sighting.record.order[: sighting.place + 1]
    seen = history.tally_after(order[:-1], test)
    record = sighting.record
    return Replay(
        order=order,
        isolation=record.isolation,
        seed=record.seed,
        hash_seed=record.hash_seed if record.isolation is Isolation.SPAWN else None,
        failed=seen.failed,
        runs=seen.n,
    )
