"""Stores the reasons of runs as templates without test names, so that many runs of pairs share one text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flakehound.core.plans import Order
from flakehound.store.packing import MAX_SHORT_ORDER

_PLACEHOLDER = re.compile(r"⟨(\d*)⟩")  # ⟨3⟩ stands for the test at place 3, ⟨⟩ for the bracket ⟨ itself


def template_of(why: str, order: Order) -> str:
    """The reason, with the names of the first tests and the last test replaced by their places."""
    parts: list[str | int] = [why]
    for place in _places_by_length(order):
        parts = [piece for part in parts for piece in _split(part, order[place], place)]
    return "".join(f"⟨{piece}⟩" if isinstance(piece, int) else piece.replace("⟨", "⟨⟩") for piece in parts)


def reason_from(template: str, order: Order) -> str:
    """The reason, with the names of these tests in place of their places."""
    if "⟨" not in template:
        return template
    return _PLACEHOLDER.sub(lambda match: order[int(match[1])] if match[1] else "⟨", template)


def _places_by_length(order: Order) -> list[int]:
    # Longest name first: one test's name is often the beginning of another's.
    places = {*range(min(MAX_SHORT_ORDER, len(order))), *range(len(order))[-1:]}
    return sorted(places, key=lambda place: (-len(order[place]), place))


def _split(part: str | int, name: str, place: int) -> Iterator[str | int]:
    if isinstance(part, int) or not name:
        yield part
        return
    first, *others = part.split(name)
    yield first
    for other in others:
        yield place
        yield other
