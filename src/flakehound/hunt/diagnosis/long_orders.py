"""Narrow a long list of earlier tests down to a short part with the same effect on a later test.

Each group of the suite runs once in a process of its own, and every suspect in a copy of that process. So one run
of all tests serves all suspects together. Tests that have the effect only together, in several groups, are found
by walks: at each stop a copy of the process runs the tests found so far and the suspect.
"""

from __future__ import annotations

from math import ceil

from flakehound.core.plans import Order, Setting, Walk
from flakehound.hunt import long_limits
from flakehound.hunt.diagnosis.order_effects import OrderEffect, shows
from flakehound.hunt.diagnosis.questions import NeedRuns, Question
from flakehound.hunt.diagnosis.suspect import Suspect
from flakehound.hunt.quick_tests import quick_tests


def short_part(effect: OrderEffect, suspect: Suspect) -> Question[Order]:
    """A part of a long prefix that has the effect: one group, or a few tests together; empty if none is found."""
    if _is_walk_cheaper(effect, suspect):
        found = yield from _tests_together(effect, suspect)
        if found:
            return found
    group = yield from group_with_effect(effect, suspect)
    if not group and suspect.after(effect.prefix).is_mixed:
        return ()  # not the earlier tests decide, but chance
    return group or (yield from _tests_together(effect, suspect))


def _is_walk_cheaper(effect: OrderEffect, suspect: Suspect) -> bool:
    """Whether walks take much less time than the groups after which the test has not run yet."""
    runs, costs = suspect.group_runs, suspect.history.costs
    assert runs is not None
    unseen = [n for n in runs.groups.numbers_in(effect.prefix) if runs.is_unseen(n, suspect.test)]
    groups_s = sum(costs.tests_s(runs.groups.groups[number]) for number in unseen)
    return costs.tests_s(effect.prefix) <= long_limits.MAX_WALK_SHARE * groups_s


def group_with_effect(effect: OrderEffect, suspect: Suspect) -> Question[Order]:
    """The group of the suite, of those with tests of the prefix, that has the effect; empty if there is none."""
    runs, test = suspect.group_runs, suspect.test
    assert runs is not None  # otherwise no prefix is long
    numbers = runs.groups.numbers_in(effect.prefix)
    why = f"does one group of tests decide about {test}?"
    for number in numbers:
        if shows(effect.outcome, runs.tally(number, test)):
            order = runs.order_after(number, test)
            tally = yield from suspect.ask.tally_of_last(order, times=long_limits.RUNS_AFTER_GROUP, why=why)
            if shows(effect.outcome, tally):
                return order[:-1]
    unseen = tuple(number for number in numbers if runs.is_unseen(number, test))
    if unseen:
        yield NeedRuns(groups=unseen)
    return ()


def _tests_together(effect: OrderEffect, suspect: Suspect) -> Question[Order]:
    """The tests that have the effect only together; empty if that fails.

    Among the quick tests of the prefix first, because walks through them are cheaper. Whether these have it at all
    is seen at the end of the first walk.
    """
    if not suspect.snapshots:
        return ()  # each stop of a walk would be a run of all tests before it
    for part in _parts_to_search(effect, suspect):
        stretches = yield from _stretches_together(part, effect, suspect)
        if stretches:
            return (yield from _tests_together_in(stretches, effect, suspect)) or stretches
    return ()


def _parts_to_search(effect: OrderEffect, suspect: Suspect) -> list[Order]:
    """The quick tests of the prefix, about half of its time, and the whole prefix.

    The first ones without tests beside which nothing may run, so that the search goes on beside the walks.
    """
    alone, costs = suspect.tests_that_run_alone, suspect.history.costs
    rest = tuple(test for test in effect.prefix if test not in alone) if alone else effect.prefix
    parts = [quick_tests(costs, rest, share) for share in long_limits.JOINT_SEARCH_SHARES]
    return list(dict.fromkeys([*(part for part in parts if part), rest, effect.prefix]))


def _stretches_together(rest: Order, effect: OrderEffect, suspect: Suspect) -> Question[Order]:
    """Short stretches of these tests that have the effect together, found from the last to the first.

    Each takes one walk through all tests before it. A second one to find the test in the stretch would take as
    long; walks through the found stretches only take little.
    """
    found: Order = ()
    for stops in long_limits.STOPS_OF_JOINT_SEARCH:
        length = ceil(len(rest) / stops)
        window = yield from _first_window_with_effect(effect, suspect, rest, found, length)
        if window is None:
            return ()
        low, high = window
        if high == 0:
            return found
        found, rest = rest[low:high] + found, rest[:low]
    return ()


def _tests_together_in(rest: Order, effect: OrderEffect, suspect: Suspect) -> Question[Order]:
    """The tests among these that have the effect only together, found from the last to the first."""
    needed: Order = ()
    for _number in range(long_limits.MAX_JOINT_TESTS):
        window = yield from _first_window_with_effect(effect, suspect, rest, needed, 1)
        if window is None:
            return ()
        low, high = window
        if high == 0:
            return needed
        needed, rest = (rest[low], *needed), rest[:low]
    return ()


def _first_window_with_effect(
    effect: OrderEffect, suspect: Suspect, rest: Order, suffix: Order, length: int
) -> Question[tuple[int, int] | None]:
    """Two numbers of tests of `rest`: only after the second one has `suffix` the effect; at most `length` apart.

    (0, 0) if it has the effect by itself, None if the search fails.
    """
    low, high = _known_window(effect, suspect, rest, suffix)
    if high is None or (not suffix and _failed_once(suspect)):
        if low == len(rest):
            return None  # the effect did not occur again
        stops = {*_even_stops(max(0, low), len(rest), length), len(rest), *([0] if suffix else [])}
    elif high == 0:
        return 0, 0
    elif low >= 0 and high - low <= length:
        return low, high
    else:
        stops = set(_even_stops(low, high, length))
    stops -= {low}
    walk = _walk(effect, suspect, rest, suffix, tuple(sorted(stops)))
    if _was_made(suspect, walk):
        return None  # the process could not be copied, or the test had no outcome
    yield NeedRuns.of([walk])
    return None


def _known_window(effect: OrderEffect, suspect: Suspect, rest: Order, suffix: Order) -> tuple[int, int | None]:
    """The last place known to lack the effect, -1 if there is none, and the first one known to have it."""
    low = -1
    for place, tally in suspect.history.tallies_along(rest, suspect.test, suffix).items():
        if shows(effect.outcome, tally):
            return low, place
        low = place
    return low, None


def _failed_once(suspect: Suspect) -> bool:
    """Whether the test failed only once so far, which may have been chance."""
    return len(suspect.history.failures_of(suspect.test)) == 1


def _even_stops(low: int, high: int, distance: int) -> range:
    """Places between two others at this distance, or a larger one if they would be too many."""
    return range(low + 1, high, max(distance, ceil((high - low) / long_limits.MAX_LONG_WALK_STOPS)))


def _walk(effect: OrderEffect, suspect: Suspect, rest: Order, suffix: Order, stops: tuple[int, ...]) -> Walk:
    return Walk(
        order=rest[: stops[-1]],
        test=suspect.test,
        stops=stops,
        suffix=suffix,
        until=effect.outcome,
        why=f"which earlier tests decide together about {suspect.test}?",
        setting=Setting.PROBE,
    )


def _was_made(suspect: Suspect, walk: Walk) -> bool:
    return any(suspect.history.runs_of(order) for order in (walk.order, *walk.orders[:1]))
