"""The reason of a run with its tests' names taken out, so that 100,000 pair runs share one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flakehound.core.plans import Order
from flakehound.store.packing import SHORT

_GAP = re.compile(r"⟨(\d*)⟩")  # ⟨3⟩ stands for the test at place 3, ⟨⟩ for the bracket ⟨ itself


def template_of(why: str, order: Order) -> str:
    """The reason with the names of its order's first tests, and the last, replaced by their places."""
    pieces: list[str | int] = [why]
    for place in _places_by_length(order):
        pieces = [bit for piece in pieces for bit in _split(piece, order[place], place)]
    return "".join(f"⟨{bit}⟩" if isinstance(bit, int) else bit.replace("⟨", "⟨⟩") for bit in pieces)


def filled(template: str, order: Order) -> str:
    """The reason as it was."""
    if "⟨" not in template:
        return template
    return _GAP.sub(lambda gap: order[int(gap[1])] if gap[1] else "⟨", template)


def _places_by_length(order: Order) -> list[int]:
    # Longest name first: one test's name is often the beginning of another's.
    places = {*range(min(SHORT, len(order))), *range(len(order))[-1:]}
    return sorted(places, key=lambda place: (-len(order[place]), place))


def _split(piece: str | int, name: str, place: int) -> Iterator[str | int]:
    if isinstance(piece, int) or not name:
        yield piece
        return
    first, *others = piece.split(name)
    yield first
    for other in others:
        yield place
        yield other
