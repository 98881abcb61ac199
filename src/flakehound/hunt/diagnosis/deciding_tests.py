"""Find the few earlier tests that decide whether one test fails.

Tries guesses first, then one walk with stops (if processes can be copied), then delta debugging.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flakehound.core.plans import Isolation, Order
from flakehound.hunt import limits
from flakehound.hunt.diagnosis.long_orders import short_part
from flakehound.hunt.diagnosis.minimal_prefix import Decides, first_that_decides, guesses_for, shrink
from flakehound.hunt.diagnosis.order_effects import EffectOutcome, OrderEffect, shows
from flakehound.hunt.diagnosis.prefix_walk import PrefixWalk
from flakehound.hunt.diagnosis.questions import Question
from flakehound.hunt.diagnosis.suspect import Suspect


def minimal_effect(effect: OrderEffect, suspect: Suspect, trials: int = 1) -> Question[OrderEffect]:
    """The same effect with the fewest tests that have it; each question takes `trials` runs."""
    minimal = yield from _minimal_prefix(effect, suspect, trials)
    if effect.outcome == "fails" and len(minimal) > 1 and not suspect.is_long(minimal):
        minimal = yield from _single_polluter(minimal, suspect, trials)
    return replace(effect, prefix=minimal)


def _minimal_prefix(effect: OrderEffect, suspect: Suspect, trials: int) -> Question[Order]:
    """A part of the prefix that still has the effect and from which no test can be left out."""
    prefix, why = effect.prefix, f"which earlier tests decide about {suspect.test}?"

    def decides(candidates: Sequence[Order]) -> Question[list[bool]]:
        orders = [(*candidate, suspect.test) for candidate in candidates]
        tallies = yield from suspect.ask.tallies_of_last(orders, times=trials, why=why)
        return [shows(effect.outcome, tally) for tally in tallies]

    if suspect.is_long(prefix):
        short = yield from short_part(effect, suspect)
        if not short:
            return prefix
        if len(short) < len(prefix):  # else it is one group of slow tests, which is searched like a short prefix
            return (yield from _minimal_prefix(replace(effect, prefix=short), suspect, trials))
    guesses = _guesses(effect, suspect)
    copies_processes = suspect.snapshots and suspect.isolation is Isolation.FORK
    if trials > 1 or len(prefix) < limits.MIN_WALK_LENGTH or not copies_processes:
        return (yield from shrink(prefix, decides, guesses, runs_at_once=suspect.runs_at_once))
    short_guesses = [guess for guess in guesses if len(guess) <= limits.MAX_GUESS_BEFORE_WALK]
    part = yield from first_that_decides(short_guesses, decides)
    if not part:
        part = yield from _part_found_by_walk(effect, suspect, decides)
    return (yield from shrink(part, decides, runs_at_once=suspect.runs_at_once))


def _guesses(effect: OrderEffect, suspect: Suspect) -> list[Order]:
    """Parts of the prefix to try first: those that had the effect before, then likely ones, cheapest first."""
    prefix = effect.prefix
    # A group with more than half of the prefix is no better guess than one of its halves.
    groups = [
        group
        for group in suspect.test_order.of_same_class_and_file(suspect.test, prefix)
        if 2 * len(group) <= len(prefix)
    ]
    cheap_part = _without_expensive_tests(prefix, suspect)
    guesses = guesses_for(suspect.test, prefix, suspect.known_polluters, [*groups, cheap_part])
    guesses.sort(key=suspect.tests_s)
    known_prefixes = [
        short_prefix
        for short_prefix in prefixes_with(effect.outcome, suspect)
        if not _only_by_chance(short_prefix, prefix, suspect)
    ]
    return [*known_prefixes, *guesses]


def _without_expensive_tests(prefix: Order, suspect: Suspect) -> Order:
    """The earlier tests without the few that take most of the time; empty if all of them together are cheap."""
    total_s = suspect.tests_s(prefix)
    if total_s < limits.EXPENSIVE_PREFIX_S:
        return ()
    return tuple(t for t in prefix if suspect.history.costs.test_s(t) < limits.EXPENSIVE_TEST_SHARE * total_s)


def prefixes_with(outcome: EffectOutcome, suspect: Suspect) -> list[Order]:
    """Short prefixes after which the test had this outcome before, best proven first."""
    return [
        short_prefix
        for short_prefix in suspect.history.short_prefixes(suspect.test)
        if suspect.test not in short_prefix and shows(outcome, suspect.after(short_prefix))
    ]


def _only_by_chance(short_prefix: Order, prefix: Order, suspect: Suspect) -> bool:
    """Whether the outcomes after the short prefix are mixed although those after the whole prefix are not."""
    return suspect.after(short_prefix).is_mixed and not suspect.after(prefix).is_mixed


def _part_found_by_walk(effect: OrderEffect, suspect: Suspect, decides: Decides) -> Question[Order]:
    """A part of the prefix that still has the effect, found by one walk through it."""
    prefix = effect.prefix
    walk = PrefixWalk(
        history=suspect.history,
        test=suspect.test,
        earlier=prefix,
        outcome=effect.outcome,
        runs_at_once=suspect.runs_at_once,
    )
    low, high = yield from walk.window(why=f"which earlier tests decide about {suspect.test}?")
    window = prefix[low:high]
    if len(window) < len(prefix):
        singles = [(earlier,) for earlier in window]
        single = yield from first_that_decides(singles, decides, runs_at_once=max(1, len(singles)))
        if single is not None:
            return single
        if (yield from decides([window]))[0]:
            return window
    return prefix[:high]


def _single_polluter(minimal: Order, suspect: Suspect, trials: int) -> Question[Order]:
    """The one test that suffices, or all: a victim that fails only sometimes can look as if it needed several."""
    why = f"does one of them alone decide about {suspect.test}?"
    for candidate in minimal:
        order = (candidate, suspect.test)
        times = 2 * max(trials, suspect.confirmations(order))
        tally = yield from suspect.ask.tally_of_last(order, times=times, why=why)
        if tally.failed:
            return (candidate,)
    return minimal
