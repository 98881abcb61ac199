"""Compare with a gold file; FLAKEHOUND_UPDATE_GOLD=1 writes it instead."""

from __future__ import annotations

import os
from pathlib import Path

GOLD = Path(__file__).parent / "gold"


def assert_gold(name: str, told: str) -> None:
    """Fail unless `told` is what the gold file of that name holds."""
    path = GOLD / name
    if os.environ.get("FLAKEHOUND_UPDATE_GOLD") == "1":
        path.write_text(told, encoding="utf-8")

    assert told == path.read_text(encoding="utf-8"), f"differs from {path}; FLAKEHOUND_UPDATE_GOLD=1 accepts it"
