"""Compare two collections of a suite: what they have in common, and which random generators the project seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flakehound.core.plans import Suite
from flakehound.engine.processes.handshake import Handshake


def self_seeded(handshakes: Sequence[Handshake]) -> tuple[str, ...]:
    """Random generators that two collections left in the same state: the project seeds them itself."""
    if len(handshakes) < 2:
        return ()
    first, second = handshakes
    return tuple(name for name, state in first.digests.items() if second.digests.get(name) == state)


def common_part(handshakes: Sequence[Handshake], notes: list[str]) -> Handshake:
    """The first collection, with only the tests that every collection found.

    Ids made from random values or the order of a set differ between collections.
    """
    first, *others = handshakes
    common = set(first.suite.order).intersection(*(other.suite.order for other in others))
    tests = tuple(test for test in first.suite.tests if test.id in common)
    missing = len(first.suite.tests) - len(tests)
    if missing:
        example = next(test.id for test in first.suite.tests if test.id not in common)
        notes.append(f"{missing} tests have another id in each collection and are left out, such as {example}")
    return replace(first, suite=Suite(tests=tests))
