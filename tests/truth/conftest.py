"""Projects that the tests of this folder share."""

from __future__ import annotations

from pathlib import Path

import pytest

from .shop import Shop


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A small shop in a git repository."""
    return Shop.made(tmp_path)
