"""Shrink a list of earlier tests to the few that decide a later test's outcome.

Delta debugging, but guesses come first: most polluters are the test right before, a known polluter, or in the same
class or file. A single decisive test is found in about log2(n) rounds of two runs, which can go on in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order
from flakehound.hunt.diagnosis.questions import Question

Decides: TypeAlias = Callable[[Sequence[Order]], Question[list[bool]]]
"""Asks for each list of earlier tests whether it still has the effect."""


def shrink(
    earlier: Order, decides: Decides, guesses: Iterable[Order] = (), *, runs_at_once: int = 2
) -> Question[Order]:
    """A minimal sublist of `earlier` that still has its effect: no member can be left out.

    `guesses` are sublists to try before halving; one that has the effect is shrunk further. `runs_at_once` is how
    many sublists are tried at once, which saves time only if runs go on in parallel.
    """
    guess = yield from first_that_decides([g for g in guesses if g and g != earlier], decides)
    if guess is not None:
        return (yield from shrink(guess, decides, runs_at_once=runs_at_once))
    while len(earlier) >= 2:
        half = yield from first_that_decides(split(earlier, 2), decides, runs_at_once)
        if half is None:
            needed_tests = yield from _needed_together(earlier, decides, runs_at_once)
            return (yield from _delta_debug(needed_tests, decides, runs_at_once))
        earlier = half
    return earlier


def first_that_decides(
    candidates: Sequence[Order], decides: Decides, runs_at_once: int = 1
) -> Question[Order | None]:
    """The first list of earlier tests that has the effect; `runs_at_once` of them are tried at once."""
    for start in range(0, len(candidates), runs_at_once):
        group = candidates[start : start + runs_at_once]
        answers = yield from decides(group)
        for candidate, has_effect in zip(group, answers, strict=True):
            if has_effect:
                return candidate
    return None


def _needed_together(earlier: Order, decides: Decides, runs_at_once: int) -> Question[Order]:
    """The tests that have the effect only together, found from the last to the first; all tests if that fails.

    Takes log2(n) questions per test, where delta debugging takes many more. It assumes that a longer list never
    undoes the effect of a shorter one.
    """
    needed_tests: Order = ()
    rest = earlier
    while rest:
        low, high = 0, len(rest)
        while high - low > 1:
            places = sorted(
                {low + (high - low) * number // (runs_at_once + 1) for number in range(1, runs_at_once + 1)}
                - {low}
            )
            answers = yield from decides([rest[:place] + needed_tests for place in places])
            high = next((place for place, has_effect in zip(places, answers, strict=True) if has_effect), high)
            low = max((place for place in places if place < high), default=low)
        needed_tests, rest = (rest[high - 1], *needed_tests), rest[: high - 1]
        if (yield from decides([needed_tests]))[0]:
            return needed_tests
    return earlier


def _delta_debug(earlier: Order, decides: Decides, runs_at_once: int) -> Question[Order]:
    parts = 2
    while len(earlier) >= 2:
        chunks = split(earlier, parts)
        smaller = yield from first_that_decides(chunks, decides, runs_at_once)
        if smaller is not None:
            earlier, parts = smaller, 2
            continue
        complements = [tuple(t for t in earlier if t not in set(chunk)) for chunk in chunks] if parts > 2 else []
        smaller = yield from first_that_decides(complements, decides, runs_at_once)
        if smaller is not None:
            earlier, parts = smaller, max(parts - 1, 2)
        elif parts < len(earlier):
            parts = min(len(earlier), parts * 2)
        else:
            break
    return earlier


def split(earlier: Order, parts: int) -> list[Order]:
    """Cut into `parts` sublists of nearly equal length."""
    size, extra = divmod(len(earlier), parts)
    chunks, start = [], 0
    for number in range(parts):
        end = start + size + (number < extra)
        chunks.append(earlier[start:end])
        start = end
    return [chunk for chunk in chunks if chunk]


def guesses_for(
    test: NodeId, earlier: Order, known_polluters: Sequence[NodeId], groups: Sequence[Order]
) -> list[Order]:
    """Sublists to try first: the worst known polluter, the test right before, other polluters, then the groups."""
    present = set(earlier)
    single_tests: list[Order] = [
        (culprit,) for culprit in known_polluters if culprit in present and culprit != test
    ]
    single_tests[1:1] = [(earlier[-1],)] if earlier else []
    sublists = [tuple(t for t in earlier if t in set(group)) for group in groups]
    return single_tests + [group for group in sublists if len(group) < len(earlier)]
