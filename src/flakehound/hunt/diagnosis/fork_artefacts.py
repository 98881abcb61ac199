"""Tests that behave differently in a fork than in a new interpreter: forks prove nothing about them.

All forks of a session inherit what was decided when its process started, such as addresses and the hash seed. If
new interpreters differ from each other as well, the test is NOD.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from flakehound.core.history import Tally
from flakehound.core.plans import Isolation, Order, Setting
from flakehound.core.verdicts import Kind
from flakehound.hunt import limits
from flakehound.hunt.diagnosis.findings import Finding
from flakehound.hunt.diagnosis.questions import NeedRuns, Question, Questions
from flakehound.hunt.diagnosis.suspect import Suspect


def finding_of_fork_artefact(
    suspect: Suspect, finding: Finding
) -> Generator[Finding | NeedRuns, None, Finding | None]:
    """The finding that the test behaves differently in forks; None if nothing suggests that.

    Either all forks disagree with all new interpreters that have their hash seed, or only late forks fail.
    """
    original, alone = suspect.test_order.tests, (suspect.test,)
    artefact = yield from _finding_of_disagreement(suspect, finding, alone, Setting.ORIGINAL, Setting.ALONE)
    if artefact is None:
        artefact = yield from _finding_of_disagreement(suspect, finding, alone, Setting.ALONE)
    if artefact is None and suspect.test in original and original != alone and not suspect.is_long(original):
        artefact = yield from _finding_of_disagreement(suspect, finding, original, Setting.ORIGINAL)
    if artefact is None:
        artefact = yield from _finding_of_ageing_session(suspect, finding)
    return artefact


def passes_in_new_interpreters(suspect: Suspect) -> Question[bool]:
    """Whether a test that always fails in forks passes alone in a new interpreter.

    Only asked about tests all of whose passes so far were in new interpreters.
    """
    test, history = suspect.test, suspect.history
    first_pass = history.first_pass_of(test)
    if (
        suspect.isolation is not Isolation.FORK
        or first_pass is None
        or history.last_forked_pass_s(test) is not None
    ):
        return False
    return not (yield from suspect.ask.fails_in_new_interpreters(test, measured=False))


def try_new_interpreters_alone(suspect: Suspect) -> Question[None]:
    """Run a test alone in new interpreters, if nothing else than such runs made it fail so far."""
    failures = suspect.history.failures_of(suspect.test)
    hash_seeds = {s.record.hash_seed for s in failures}
    if any(s.record.isolation is Isolation.FORK for s in failures) or len(hash_seeds) != 1:
        return
    (hash_seed,) = hash_seeds
    if hash_seed is None or suspect.isolation is not Isolation.FORK:
        return
    alone = suspect.history.tally_by_hash_seed(suspect.test, Setting.ALONE).get(hash_seed, Tally())
    times, why = suspect.affordable_new_interpreters, f"does {suspect.test} fail alone in new interpreters?"
    yield from suspect.ask.ensure_runs_with_hash_seed(
        (suspect.test,), hash_seed, missing=times - alone.n, max_runs=times, why=why
    )


def _finding_of_disagreement(
    suspect: Suspect, finding: Finding, order: Order, *settings: Setting
) -> Generator[Finding | NeedRuns, None, Finding | None]:
    """Compare forks and new interpreters in these settings; runs of `order` provide more of them."""
    alone = order == (suspect.test,)
    after = None if alone else suspect.earlier
    tally, hash_seed = suspect.history.tally, suspect.history.forked_hash_seed
    forked = tally(suspect.test, *settings, isolation=Isolation.FORK, after=after)
    spawned = tally(suspect.test, *settings, isolation=Isolation.SPAWN, hash_seed=hash_seed, after=after)
    both_unanimous = forked.n and spawned.n and not forked.is_mixed and not spawned.is_mixed
    if hash_seed is None or not both_unanimous or bool(spawned.failed) == bool(forked.failed):
        return None
    why = f"does {suspect.test} behave in a fork as in a new interpreter?"
    # Usually it was chance, and a few new interpreters show that sooner than many forks.
    missing = limits.SAME_SEED_RUNS - spawned.n
    yield from suspect.ask.ensure_runs_with_hash_seed(order, hash_seed, missing=missing, why=why)
    yield from suspect.ask.ensure_forked_runs(order, missing=limits.FORKS_TO_COMPARE - forked.n, why=why)
    finding = replace(finding, seems_fork_artefact=True)
    yield finding
    if alone:
        times = suspect.affordable_new_interpreters
        yield from suspect.ask.ensure_runs_with_hash_seed(
            order, hash_seed, missing=times - spawned.n, max_runs=times, why=why
        )
    is_failing = Setting.ORIGINAL in settings and alone and spawned.failed >= limits.SAME_SEED_RUNS
    where = "" if alone else " of the original order"
    words = (
        f"failed {spawned.failed} of {spawned.n} runs{where} in new interpreters and {forked.failed} of "
        f"{forked.n} in forks: forks do not tell about it, run `flakehound hunt --isolation spawn` on it"
    )
    return replace(finding.with_first_evidence(words), kind=Kind.FAILING if is_failing else Kind.UNRESOLVED)


def _finding_of_ageing_session(suspect: Suspect, finding: Finding) -> Question[Finding | None]:
    """The finding if only forks of an old session fail, for example because of a time computed at import.

    In that case all failures are in forks and later than all passes of forks, and new interpreters pass.
    """
    test, history = suspect.test, suspect.history
    failures = history.failures_of(test)
    forked = [s for s in failures if s.record.isolation is Isolation.FORK]
    last_pass = history.last_forked_pass_s(test)
    if len(forked) < len(failures) or not forked or last_pass is None:
        return None
    if last_pass > min(s.record.started_s for s in forked):
        return None
    why, times = f"does {test} fail in a new interpreter too?", limits.SAME_SEED_RUNS
    spawned = yield from suspect.ask.tally_in_new_interpreters(test, times=times, why=why)
    latest_forks = yield from Questions(history=history).tally_of_last((test,), times=times, why=why)
    if spawned.failed or not spawned.n or not latest_forks.failed:
        return None
    words = f"fails only in forks of an ageing session, passed {spawned.n} of {spawned.n} in new interpreters"
    return replace(finding.with_first_evidence(words), kind=Kind.UNRESOLVED)
