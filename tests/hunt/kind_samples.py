"""What the tests of kinds share."""

from __future__ import annotations

from flakehound.core.verdicts import Kind


def kinds(found):
    """The tests that are not steady, by name."""
    kinds = {test.rpartition("::")[2]: verdict.kind for test, verdict in found.verdicts.items()}
    return {name: kind for name, kind in kinds.items() if kind is not Kind.STEADY}
