"""Find out what is wrong with one test that has failed at least once.

The classification of iDFlakies, extended: clean runs (original order, alone) are compared with runs after other
tests, then the earlier tests that decide are found and confirmed in new processes. Pure: it reads the history and
returns the runs it needs.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

from flakehound.core.history import Tally
from flakehound.core.plans import Isolation, Order, Setting
from flakehound.core.verdicts import Kind
from flakehound.hunt import limits
from flakehound.hunt.diagnosis.chance import passes_that_rule_out_chance
from flakehound.hunt.diagnosis.deciding_tests import minimal_effect
from flakehound.hunt.diagnosis.findings import Diagnosis, Finding, failures_in_words
from flakehound.hunt.diagnosis.fork_artefacts import passes_in_new_interpreters
from flakehound.hunt.diagnosis.nod import diagnose_nod, shortest_failing_run
from flakehound.hunt.diagnosis.order_dependence import (
    diagnose_brittle,
    diagnose_failure_in_other_order,
    diagnose_victim,
    first_prefix_it_passes_after,
    runs_per_question,
    state_setter_candidates,
)
from flakehound.hunt.diagnosis.order_effects import OrderEffect, Proven, evidence_for, finding_of_effect
from flakehound.hunt.diagnosis.questions import NeedRuns, Question
from flakehound.hunt.diagnosis.suspect import Suspect


def diagnose(suspect: Suspect) -> Finding:
    """What the history proves about the test, and the runs that would prove more."""
    finding = Finding(test=suspect.test)
    for step in _steps(suspect):
        if isinstance(step, NeedRuns):
            finding = replace(finding, needed_runs=step.plans, needed_groups=step.groups)
            break
        finding = step
    if finding.replay is None:
        return replace(finding, replay=shortest_failing_run(suspect.history, suspect.test))
    return finding


def _steps(suspect: Suspect) -> Generator[Finding | NeedRuns, None, None]:
    """Findings, each of which replaces the one before, up to the conclusion or the first runs that are needed."""
    yield (yield from _classify(suspect))


def _classify(suspect: Suspect) -> Diagnosis:
    yield from _try_hash_seed_of_failures(suspect)
    if suspect.alone.is_mixed or (
        suspect.in_original_order.is_mixed and not (yield from _fails_whenever_alone(suspect))
    ):
        return (yield from _passes_and_fails(suspect))
    if not _always_failed(suspect.alone, suspect.in_original_order):
        yield from _make_clean_runs(suspect)
    alone, original = suspect.alone, suspect.in_original_order
    if original.failed and alone.failed:
        return (yield from _fails_in_all_clean_runs(suspect))
    if alone.failed:
        return (yield from _look_for_state_setters(suspect, suspect.earlier))
    if original.failed:
        return (yield from _fails_in_original_order(suspect))
    return (yield from diagnose_failure_in_other_order(suspect))


def _try_hash_seed_of_failures(suspect: Suspect) -> Question[None]:
    """Run the test alone with the hash seed with which alone it failed so far, after many other tests."""
    forked_seed = suspect.history.forked_hash_seed
    hash_seeds = {s.record.hash_seed for s in suspect.history.failures_of(suspect.test)}
    if forked_seed is None or len(hash_seeds) != 1 or forked_seed in hash_seeds:
        return
    (hash_seed,) = hash_seeds
    if hash_seed is not None and suspect.isolation is Isolation.FORK and suspect.is_long(suspect.test_order.tests):
        alone = suspect.history.tally_by_hash_seed(suspect.test, Setting.ALONE).get(hash_seed, Tally())
        why = f"does {suspect.test} fail alone with this hash seed, too?"
        # One run, because it starts an interpreter; more only if it failed, which may have been chance.
        times = limits.CLEAN_RUNS if alone.failed else 1
        order = (suspect.test,)
        yield from suspect.ask.ensure_runs_with_hash_seed(order, hash_seed, missing=times - alone.n, why=why)


def _fails_whenever_alone(suspect: Suspect) -> Question[bool]:
    """Whether the test always fails alone, and in the original order only under load: it may be brittle."""
    undisturbed = suspect.history.tally(suspect.test, Setting.ORIGINAL, disturbed=False)
    if undisturbed.failed or suspect.alone.passed:
        return False
    times, why = limits.CLEAN_RUNS, f"does {suspect.test} pass alone?"
    alone = yield from suspect.ask.tally_of_failing_last((suspect.test,), times=times, why=why)
    return alone.n >= times and not alone.passed and suspect.ask.has_failed_undisturbed((suspect.test,))


def _always_failed(alone: Tally, original: Tally) -> bool:
    """Whether all clean runs failed, so that more of them would only cost time; the search goes on anyway."""
    return original.n >= 2 and alone.n >= 1 and not original.passed and not alone.passed


def _make_clean_runs(suspect: Suspect) -> Question[None]:
    test, order, times = suspect.test, suspect.test_order.tests, limits.CLEAN_RUNS
    if suspect.is_long(order):
        # Runs alone also tell a test that fails by chance from one that others make fail, and they cost little.
        times = limits.CLEAN_RUNS if suspect.alone.failed else suspect.affordable_runs_alone
    elif test in order and not suspect.trust_first_failure:
        why = f"does {test} pass in the original order?"
        yield from suspect.ask.ensure_original_runs(order, suspect.in_original_order, times=times, why=why)
    yield from suspect.ask.tally_of_last((test,), times=times, why=f"does {test} pass alone?")


def _passes_and_fails(suspect: Suspect) -> Diagnosis:
    """Diagnose a test that passes and fails in the same order: NOD, unless the tests before it decide."""
    finding = yield from diagnose_nod(suspect, Finding(test=suspect.test))
    if finding.kind is Kind.NOD and not finding.causes:
        yield finding
        return (yield from _victim_that_fails_sometimes(suspect, finding))
    return finding


def _victim_that_fails_sometimes(suspect: Suspect, finding: Finding) -> Question[Finding]:
    """The finding about a victim that fails only sometimes: in the original order it looks like NOD."""
    prefix, ask = suspect.earlier, suspect.ask
    tally = suspect.test_order.tally_of_equal_runs(suspect.test, suspect.isolation)
    needed_passes = passes_that_rule_out_chance(tally, limits.MAX_CLEAN_RUNS)
    trials = runs_per_question(tally)
    is_expensive = trials * suspect.history.costs.run_s(prefix, suspect.isolation) > limits.MAX_QUESTION_S
    if suspect.alone.failed or not tally.is_mixed or needed_passes == limits.MAX_CLEAN_RUNS or is_expensive:
        return finding
    why = f"does {suspect.test} fail alone?"
    if (yield from ask.tally_of_last((suspect.test,), times=needed_passes, why=why)).failed:
        return finding
    effect = OrderEffect(test=suspect.test, prefix=prefix, outcome="fails")
    why = f"how often does {suspect.test} fail after the tests before it?"
    if not (yield from ask.tally_of_last(effect.order, times=trials, why=why)).failed:
        return finding
    effect = yield from minimal_effect(effect, suspect, trials)
    evidence = yield from evidence_for(effect, suspect)
    return finding_of_effect(finding, effect, evidence) if isinstance(evidence, Proven) else finding


def _fails_in_all_clean_runs(suspect: Suspect) -> Diagnosis:
    first_pass = suspect.history.first_pass_of(suspect.test)
    if first_pass is None:
        return (yield from _never_passed(suspect))
    return (yield from _look_for_state_setters(suspect, first_pass.record.order[: first_pass.position]))


def _never_passed(suspect: Suspect) -> Question[Finding]:
    if suspect.failed_only_disturbed:
        why = f"does {suspect.test} fail with nothing beside it?"
        yield from suspect.ask.tally_of_last((suspect.test,), why=why, undisturbed=True)
    return Finding(test=suspect.test, kind=Kind.FAILING)


def _look_for_state_setters(suspect: Suspect, first_guess: Order) -> Diagnosis:
    """Diagnose a test that fails alone: it is brittle if it passes after some other tests."""
    # Before a long search, because each process may decide by itself, and brittle tests need these runs anyway.
    if suspect.is_long(first_guess) and (yield from passes_in_new_interpreters(suspect)):
        return (yield from _passes_and_fails(suspect))
    candidates: Sequence[Order] = [first_guess, *state_setter_candidates(suspect)]
    prefix = yield from first_prefix_it_passes_after(suspect, candidates)
    if prefix is not None:
        return (yield from diagnose_brittle(suspect, prefix))
    if suspect.history.first_pass_of(suspect.test) is None:
        return (yield from _never_passed(suspect))
    finding, original = Finding(test=suspect.test), suspect.in_original_order
    if original.is_mixed or (yield from passes_in_new_interpreters(suspect)):
        return (yield from diagnose_nod(suspect, finding))
    in_original = f", {failures_in_words(original)} in the original order" if original.n else ""
    counts = f"failed {failures_in_words(suspect.alone)} alone{in_original}"
    return replace(finding, evidence=(f"{counts}; no order that ends with it was found to make it pass",))


def _fails_in_original_order(suspect: Suspect) -> Diagnosis:
    prefix = suspect.earlier
    why = f"does {suspect.test} fail after the tests before it?"
    tally = yield from suspect.ask.tally_of_last((*prefix, suspect.test), why=why)
    if tally.failed:
        return (yield from diagnose_victim(suspect, prefix))
    # It failed before tests that crash or hang their process were excluded.
    return (yield from diagnose_failure_in_other_order(suspect))
