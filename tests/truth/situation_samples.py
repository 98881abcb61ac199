"""What the tests of situations share."""

from __future__ import annotations

from .shop import Shop

BROKEN = ("likely-real", None)


def verdicts_of(shop: Shop) -> dict[str, tuple[object, object]]:
    """Verdict and kind by test; every verdict must show its evidence."""
    found = shop.triage()
    assert all(failure["evidence"] for failure in found.values())
    assert all(str(failure["evidence"]) in " ".join(shop.output.split()) for failure in found.values())
    return {name: (failure["verdict"], failure["kind"]) for name, failure in found.items()}
