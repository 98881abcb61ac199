"""Shrink a list of earlier tests to the few that decide a later test's outcome.

Delta debugging, with guesses first: most polluters are the test right before, a known polluter, or in the
same class or file. A single decisive test is found in about log2(n) rounds of two runs that can be made at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order
from flakehound.hunt.diagnosis.questions import Question

Decides: TypeAlias = Callable[[Sequence[Order]], Question[list[bool]]]
"""For each list of earlier tests, whether it still has the effect."""


def shrink(earlier: Order, decides: Decides, guesses: Iterable[Order] = (), *, width: int = 2) -> Question[Order]:
    """A smallest sublist (no member can be left out) that still has the effect `earlier` has.

    `guesses` are sublists to try before halving; one that has the effect is shrunk further.
    `width` is how many questions may be put at once: more than one pays only where runs go in parallel.
    """
    guess = yield from first_that_decides([g for g in guesses if g and g != earlier], decides)
    if guess is not None:
        return (yield from shrink(guess, decides, width=width))
    while len(earlier) >= 2:
        half = yield from first_that_decides(split(earlier, 2), decides, width)
        if half is None:
            needed = yield from _needed_together(earlier, decides, width)
            return (yield from _delta_debug(needed, decides, width))
        earlier = half
    return earlier


def first_that_decides(candidates: Sequence[Order], decides: Decides, width: int = 1) -> Question[Order | None]:
    """The first list of earlier tests that has the effect; `width` of them are asked about at once."""
    for start in range(0, len(candidates), width):
        some = candidates[start : start + width]
        answers = yield from decides(some)
        for candidate, has_effect in zip(some, answers, strict=True):
            if has_effect:
                return candidate
    return None


def _needed_together(earlier: Order, decides: Decides, width: int) -> Question[Order]:
    """The tests without which no beginning of the list has the effect, the last one first; all, should that fail.

    Takes log2(n) questions for each of them where delta debugging takes many more. It holds where a longer list
    never undoes the effect of a shorter one.
    """
    needed: Order = ()
    rest = earlier
    while rest:
        low, high = 0, len(rest)
        while high - low > 1:
            places = sorted({low + (high - low) * number // (width + 1) for number in range(1, width + 1)} - {low})
            answers = yield from decides([rest[:place] + needed for place in places])
            high = next((place for place, holds in zip(places, answers, strict=True) if holds), high)
            low = max((place for place in places if place < high), default=low)
        needed, rest = (rest[high - 1], *needed), rest[: high - 1]
        if (yield from decides([needed]))[0]:
            return needed
    return earlier


def _delta_debug(earlier: Order, decides: Decides, width: int) -> Question[Order]:
    parts = 2
    while len(earlier) >= 2:
        chunks = split(earlier, parts)
        smaller = yield from first_that_decides(chunks, decides, width)
        if smaller is not None:
            earlier, parts = smaller, 2
            continue
        rests = [tuple(t for t in earlier if t not in set(chunk)) for chunk in chunks] if parts > 2 else []
        smaller = yield from first_that_decides(rests, decides, width)
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


def guesses_for(test: NodeId, earlier: Order, known: Sequence[NodeId], close: Sequence[Order]) -> list[Order]:
    """Sublists to try first: the worst known polluter, the test right before, other known ones, `close` groups."""
    present = set(earlier)
    singles: list[Order] = [(culprit,) for culprit in known if culprit in present and culprit != test]
    singles[1:1] = [(earlier[-1],)] if earlier else []
    groups = [tuple(t for t in earlier if t in set(group)) for group in close]
    return singles + [group for group in groups if len(group) < len(earlier)]
