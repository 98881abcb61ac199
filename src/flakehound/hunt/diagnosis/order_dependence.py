"""Which earlier tests make a test fail, or pass: victims and brittle tests."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log

from flakehound.core.failure_signatures import signature_of
from flakehound.core.history import Execution, Tally
from flakehound.core.plans import Order
from flakehound.core.statistics.rates import failure_rate
from flakehound.hunt import limits
from flakehound.hunt.diagnosis.deciding_tests import minimal_effect, prefixes_with
from flakehound.hunt.diagnosis.findings import Diagnosis, Finding, names_in_words
from flakehound.hunt.diagnosis.fork_artefacts import try_new_interpreters_alone
from flakehound.hunt.diagnosis.load import finding_of_load_after
from flakehound.hunt.diagnosis.long_orders import group_with_effect
from flakehound.hunt.diagnosis.nod import diagnose_nod
from flakehound.hunt.diagnosis.non_idempotent import diagnose_non_idempotent
from flakehound.hunt.diagnosis.order_effects import (
    OrderEffect,
    Proven,
    evidence_for,
    finding_of_effect,
    gap_may_be_chance,
    provisional_finding,
)
from flakehound.hunt.diagnosis.questions import Question
from flakehound.hunt.diagnosis.suspect import Suspect


def diagnose_victim(suspect: Suspect, prefix: Order, trials: int = 1) -> Diagnosis:
    """Find which of these earlier tests make it fail; each question of the search takes `trials` runs."""
    effect = OrderEffect(test=suspect.test, prefix=prefix, outcome="fails")
    return (yield from _diagnose_effect(suspect, effect, trials))


def diagnose_brittle(suspect: Suspect, prefix: Order) -> Diagnosis:
    """Find which of these earlier tests make it pass."""
    effect = OrderEffect(test=suspect.test, prefix=prefix, outcome="passes")
    return (yield from _diagnose_effect(suspect, effect))


def _diagnose_effect(suspect: Suspect, effect: OrderEffect, trials: int = 1) -> Diagnosis:
    finding = provisional_finding(effect, suspect)
    yield finding
    effect = yield from minimal_effect(effect, suspect, trials)
    if suspect.is_long(effect.prefix):
        yield from try_new_interpreters_alone(suspect)
        return (yield from diagnose_nod(suspect, finding)) if suspect.after(effect.prefix).is_mixed else finding
    evidence = yield from evidence_for(effect, suspect)
    if isinstance(evidence, Proven):
        if effect.outcome == "passes" and not (yield from _fails_in_new_interpreters(suspect)):
            return (yield from diagnose_nod(suspect, finding))
        return finding_of_effect(finding, effect, evidence)
    if evidence.only_under_load:
        where = f"after {names_in_words(effect.prefix)}" if effect.outcome == "fails" else "alone"
        return finding_of_load_after(suspect, finding, effect.failing_order[:-1], where)
    # The test also fails without the prefix now and then, which misled the search.
    finding = Finding(test=suspect.test)
    yield finding
    return (yield from diagnose_nod(suspect, finding)) if evidence.is_mixed else finding


def _fails_in_new_interpreters(suspect: Suspect) -> Question[bool]:
    return suspect.ask.fails_in_new_interpreters(suspect.test, measured=suspect.is_measured)


def first_prefix_it_passes_after(suspect: Suspect, prefixes: Sequence[Order]) -> Question[Order | None]:
    """The first of these prefixes after which the test passes."""
    for prefix in prefixes:
        if suspect.tests_s(prefix) >= limits.EXPENSIVE_PREFIX_S and _passed_in_original_after(suspect, prefix):
            return prefix
        if suspect.is_long(prefix):
            group = yield from group_with_effect(
                OrderEffect(test=suspect.test, prefix=prefix, outcome="passes"), suspect
            )
            if group:
                return group
            continue  # a run of its own would take too long
        tally = Tally()
        if prefix:
            why = f"does {suspect.test} pass after other tests?"
            tally = yield from suspect.ask.tally_of_last((*prefix, suspect.test), why=why)
        if tally.n and not tally.failed:
            return prefix
    return None


def _passed_in_original_after(suspect: Suspect, prefix: Order) -> bool:
    """Whether runs of the original order show already that the test passes after this prefix."""
    original = suspect.in_original_order
    needed = 1 if suspect.is_long(prefix) else limits.CLEAN_RUNS
    return prefix == suspect.earlier and original.n >= needed and not original.failed


def state_setter_candidates(suspect: Suspect) -> list[Order]:
    """Groups of other tests that may contain a state-setter, even if it comes later in the original order."""
    others = tuple(t for t in suspect.test_order.tests if t != suspect.test)
    same_class, same_file = suspect.test_order.of_same_class_and_file(suspect.test, others)
    known_prefixes = [prefix for prefix in prefixes_with("passes", suspect) if prefix]
    return [same_class, same_file, others, *((other,) for other in same_file), *known_prefixes]


def diagnose_failure_in_other_order(suspect: Suspect) -> Diagnosis:
    """Diagnose a test that passes alone and in the original order, but failed in another order or repeated."""
    yield from _try_known_polluters(suspect)
    execution = _shortest_failure(suspect)
    if execution is None:
        return (yield from diagnose_non_idempotent(suspect))
    prefix = execution.record.order[: execution.position]
    if suspect.is_long(prefix):
        return (yield from _diagnose_failure_after_long_order(suspect, prefix))
    prefix = yield from _without_repetitions(suspect, prefix)
    if (yield from _fails_again(suspect, prefix)):
        return (yield from diagnose_victim(suspect, prefix))
    order = (*prefix, suspect.test)
    why = f"how often does {suspect.test} fail after the same tests?"
    times = limits.RUNS_OF_MIXED_OUTCOMES
    after = yield from suspect.ask.tally_of_last(order, times=times, why=why)
    why = f"does {suspect.test} fail alone?"
    alone = yield from suspect.ask.tally_of_last((suspect.test,), times=times, why=why)
    if gap_may_be_chance(suspect, after, alone):
        return (yield from diagnose_nod(suspect, Finding(test=suspect.test)))
    return (yield from diagnose_victim(suspect, prefix, runs_per_question(after)))


def _diagnose_failure_after_long_order(suspect: Suspect, prefix: Order) -> Diagnosis:
    """Search first and repeat afterwards, because what is found is confirmed by short runs."""
    if suspect.after(prefix).is_mixed:
        return (yield from diagnose_nod(suspect, Finding(test=suspect.test)))
    return (yield from diagnose_victim(suspect, prefix))


def _without_repetitions(suspect: Suspect, prefix: Order) -> Question[Order]:
    """The earlier tests once each, if the test fails after them as well; groups run some of their tests twice."""
    distinct = tuple(dict.fromkeys(prefix))
    if distinct == prefix:
        return prefix
    why = f"does {suspect.test} fail after the same tests without repetitions?"
    tally = yield from suspect.ask.tally_of_last((*distinct, suspect.test), why=why)
    return distinct if tally.failed else prefix


def _try_known_polluters(suspect: Suspect) -> Question[None]:
    """Try polluters of other tests first if repeating the failing order would take long."""
    execution = _shortest_failure(suspect)
    earlier = () if execution is None else execution.record.order[: execution.position]
    if suspect.tests_s(earlier) >= limits.EXPENSIVE_PREFIX_S:
        orders = [(polluter, suspect.test) for polluter in suspect.known_polluters if polluter in earlier]
        why = f"does {suspect.test} fail after a polluter of others?"
        yield from suspect.ask.tallies_of_last(filter(suspect.is_cheap, orders), why=why)


def _fails_again(suspect: Suspect, prefix: Order) -> Question[bool]:
    """Whether the test failed often enough already, or fails again after the same tests."""
    order = (*prefix, suspect.test)
    if suspect.after(prefix).is_mixed:
        return False
    if suspect.trust_first_failure or len(suspect.history.failures_of(suspect.test)) >= limits.CONFIRMATIONS:
        return True
    # Expensive runs are repeated only once here: the conclusion is confirmed on the shortest order anyway.
    times = limits.CONFIRMATIONS if suspect.is_cheap(order) else limits.CONFIRMATIONS - 1
    why = f"does {suspect.test} fail again after the same tests?"
    again = yield from suspect.ask.tally_of_last(order, times=times, why=why)
    return again.failed == again.n


def _shortest_failure(suspect: Suspect) -> Execution | None:
    """The failure with the fewest tests before it, in which the test did not run before.

    A victim may also fail by chance, with another message. A failure after tests after which it also passed says
    nothing about its polluter, so failures with other signatures are preferred.
    """
    failures = suspect.history.failures_of(suspect.test)
    candidates = [s for s in failures if s.record.order.index(suspect.test) == s.position]
    shortest = min(candidates, key=lambda s: s.position, default=None)
    if shortest is not None and suspect.is_long(shortest.record.order[: shortest.position]):
        # A long search begins again after each of its runs and must find the prefix again with which it began.
        # Runs that end with the test were made by the search itself.
        others = [s for s in candidates if s.position < len(s.record.order) - 1]
        shortest = min(others, key=lambda s: s.position, default=shortest)
    if shortest is None or not _is_mixed_after_same_tests(suspect, shortest):
        return shortest  # the usual case; comparing hundreds of failures would take long
    signatures_by_chance = {_signature(s) for s in candidates if _is_mixed_after_same_tests(suspect, s)}
    others = [s for s in candidates if _signature(s) not in signatures_by_chance]
    return min(others, key=lambda s: s.position, default=shortest)


def _is_mixed_after_same_tests(suspect: Suspect, execution: Execution) -> bool:
    return suspect.history.tally_after(execution.prefix, suspect.test).is_mixed


def _signature(execution: Execution) -> str:
    """The signature of a failure; empty if the run did not report the failure."""
    failure = execution.record.failures.get(execution.position)
    return signature_of(failure) if failure else ""


def runs_per_question(after: Tally) -> int:
    """How many runs show a failure with high probability if the victim fails as often as in these."""
    low = failure_rate(after.failed, after.n).low
    share = min(limits.MAX_ASSUMED_POLLUTION_RATE, max(limits.MIN_ASSUMED_POLLUTION_RATE, low))
    needed = ceil(log(limits.MAX_CHANCE) / log(1 - share))
    return min(limits.MAX_RUNS_PER_QUESTION, max(limits.CONFIRMATIONS, needed))
