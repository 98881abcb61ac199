"""Shrink a list of earlier tests to the few that decide a later test's outcome.

Delta debugging, with guesses first: most polluters are the test right before, a known polluter, or in the
same class or file. A single decisive test is found in about log2(n) rounds of two runs that can be made at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order

Decides = Callable[[Sequence[Order]], list[bool]]
"""For each list of earlier tests, whether it still has the effect."""


def shrink(earlier: Order, decides: Decides, guesses: Iterable[Order] = (), *, width: int = 2) -> Order:
    """A smallest sublist (no member can be left out) that still has the effect `earlier` has.

    `guesses` are sublists worth trying before halving; one that has the effect is shrunk further.
    `width` is how many questions may be put at once: more than one pays only where runs go in parallel.
    """
    for guess in guesses:
        if guess and guess != earlier and decides([guess])[0]:
            return shrink(guess, decides, width=width)
    while len(earlier) >= 2:
        half = _first(split(earlier, 2), decides, width)
        if half is None:
            return _delta_debug(_needed_together(earlier, decides, width), decides, width)
        earlier = half
    return earlier


def _needed_together(earlier: Order, decides: Decides, width: int) -> Order:
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
            answers = decides([rest[:place] + needed for place in places])
            high = next((place for place, holds in zip(places, answers, strict=True) if holds), high)
            low = max((place for place in places if place < high), default=low)
        needed, rest = (rest[high - 1], *needed), rest[: high - 1]
        if decides([needed])[0]:
            return needed
    return earlier


def _delta_debug(earlier: Order, decides: Decides, width: int) -> Order:
    parts = 2
    while len(earlier) >= 2:
        chunks = split(earlier, parts)
        smaller = _first(chunks, decides, width)
        if smaller is not None:
            earlier, parts = smaller, 2
            continue
        rests = [tuple(t for t in earlier if t not in set(chunk)) for chunk in chunks] if parts > 2 else []
        smaller = _first(rests, decides, width)
        if smaller is not None:
            earlier, parts = smaller, max(parts - 1, 2)
        elif parts < len(earlier):
            parts = min(len(earlier), parts * 2)
        else:
            break
    return earlier


def _first(candidates: Sequence[Order], decides: Decides, width: int) -> Order | None:
    for start in range(0, len(candidates), width):
        some = candidates[start : start + width]
        for candidate, has_effect in zip(some, decides(some), strict=True):
            if has_effect:
                return candidate
    return None


def split(earlier: Order, parts: int) -> list[Order]:
    """Cut into `parts` runs of nearly equal length."""
    size, extra = divmod(len(earlier), parts)
    chunks, start = [], 0
    for number in range(parts):
        end = start + size + (number < extra)
        chunks.append(earlier[start:end])
        start = end
    return [chunk for chunk in chunks if chunk]


def guesses_for(test: NodeId, earlier: Order, known: Sequence[NodeId], near: Sequence[Order]) -> list[Order]:
    """Sublists worth trying first: the worst known polluter, the neighbour, other known ones, what lies near."""
    present = set(earlier)
    singles: list[Order] = [(culprit,) for culprit in known if culprit in present and culprit != test]
    singles[1:1] = [(earlier[-1],)] if earlier else []
    groups = [tuple(t for t in earlier if t in set(group)) for group in near]
    return singles + [group for group in groups if len(group) < len(earlier)]
