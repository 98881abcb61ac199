"""Find the few earlier tests that decide about one test.

Guesses first, then one walk with stops where processes can be copied along the way, then delta debugging.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flakehound.core.plans import Isolation, Order
from flakehound.hunt import limits
from flakehound.hunt.diagnosis.minimal_prefix import Decides, first_that_decides, guesses_for, shrink
from flakehound.hunt.diagnosis.order_effects import EffectOutcome, OrderEffect, shows
from flakehound.hunt.diagnosis.prefix_walk import PrefixWalk
from flakehound.hunt.diagnosis.questions import Question
from flakehound.hunt.diagnosis.suspect import Suspect


def minimal_effect(effect: OrderEffect, suspect: Suspect, trials: int = 1) -> Question[OrderEffect]:
    """The same effect of the few tests that are needed for it; each question takes `trials` runs."""
    minimal = yield from _minimal_prefix(effect, suspect, trials)
    if effect.outcome == "fails" and len(minimal) > 1:
        minimal = yield from _single_polluter(minimal, suspect, trials)
    return replace(effect, prefix=minimal)


def _minimal_prefix(effect: OrderEffect, suspect: Suspect, trials: int) -> Question[Order]:
    """No test of it can be left out without losing the effect that all of them have."""
    prefix, why = effect.prefix, f"which earlier tests decide about {suspect.test}?"

    def decides(candidates: Sequence[Order]) -> Question[list[bool]]:
        orders = [(*candidate, suspect.test) for candidate in candidates]
        seen = yield from suspect.ask.tallies_of_last(orders, times=trials, why=why)
        return [shows(effect.outcome, tally) for tally in seen]

    guesses = _guesses(effect, suspect)
    copies_processes = suspect.snapshots and suspect.isolation is Isolation.FORK
    if trials > 1 or len(prefix) < limits.MIN_WALK_LENGTH or not copies_processes:
        return (yield from shrink(prefix, decides, guesses, width=suspect.width))
    few = [guess for guess in guesses if len(guess) <= limits.MAX_GUESS_BEFORE_WALK]
    part = yield from first_that_decides(few, decides)
    if not part:
        part = yield from _part_found_by_walk(effect, suspect, decides)
    return (yield from shrink(part, decides, width=suspect.width))


def _guesses(effect: OrderEffect, suspect: Suspect) -> list[Order]:
    """Short lists that had the effect before, then others that often have it, cheap ones first."""
    prefix = effect.prefix
    # A group that is most of the list is no better a guess than its half.
    close = [group for group in suspect.test_order.close_to(suspect.test, prefix) if 2 * len(group) <= len(prefix)]
    cheap = _without_expensive_tests(prefix, suspect)
    guesses = guesses_for(suspect.test, prefix, suspect.known_polluters, [*close, cheap])
    guesses.sort(key=suspect.tests_s)
    known = [
        short for short in prefixes_with(effect.outcome, suspect) if not _only_by_chance(short, prefix, suspect)
    ]
    return [*known, *guesses]


def _without_expensive_tests(prefix: Order, suspect: Suspect) -> Order:
    """The earlier tests without the few that take most of the time; nothing where the whole is cheap."""
    total_s = suspect.tests_s(prefix)
    if total_s < limits.EXPENSIVE_PREFIX_S:
        return ()
    return tuple(t for t in prefix if suspect.history.costs.test_s(t) < limits.EXPENSIVE_TEST_SHARE * total_s)


def prefixes_with(outcome: EffectOutcome, suspect: Suspect) -> list[Order]:
    """Short lists that had the effect before, best proven first: a search never changes its mind."""
    return [
        short
        for short in suspect.history.short_prefixes(suspect.test)
        if suspect.test not in short and shows(outcome, suspect.after(short))
    ]


def _only_by_chance(short: Order, prefix: Order, suspect: Suspect) -> bool:
    """Whether the test both passed and failed after the short list, and not after all of these tests."""
    return suspect.after(short).is_mixed and not suspect.after(prefix).is_mixed


def _part_found_by_walk(effect: OrderEffect, suspect: Suspect, decides: Decides) -> Question[Order]:
    """A part of these tests that still decides, found in one walk through them."""
    prefix = effect.prefix
    walk = PrefixWalk(
        history=suspect.history,
        test=suspect.test,
        earlier=prefix,
        outcome=effect.outcome,
        width=suspect.width,
    )
    low, high = yield from walk.window(why=f"which earlier tests decide about {suspect.test}?")
    window = prefix[low:high]
    if len(window) < len(prefix):
        singles = [(earlier,) for earlier in window]
        single = yield from first_that_decides(singles, decides, width=max(1, len(singles)))
        if single is not None:
            return single
        if (yield from decides([window]))[0]:
            return window
    return prefix[:high]


def _single_polluter(minimal: Order, suspect: Suspect, trials: int) -> Question[Order]:
    """Joint polluters are rare; a test that fails only sometimes after one of them looks just like it."""
    why = f"does one of them alone decide about {suspect.test}?"
    for candidate in minimal:
        order = (candidate, suspect.test)
        times = 2 * max(trials, suspect.confirmations(order))
        seen = yield from suspect.ask.tally_of_last(order, times=times, why=why)
        if seen.failed:
            return (candidate,)
    return minimal
