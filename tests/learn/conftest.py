"""The tests of the package `learn` need its extra; without it they are skipped, with the reason."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("sklearn", reason="needs flakehound[learn]")
pytest.importorskip("imblearn", reason="needs flakehound[learn]")


@pytest.fixture
def published() -> Callable[[str], Path]:
    """The path of a published table, which is not part of the repository."""
    folder = Path(os.environ.get("FLAKEHOUND_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")

    def path_of(name: str) -> Path:
        path = folder / f"{name}.csv.gz"
        if not path.is_file():
            pytest.skip(f"the published tables are missing: no {path}; set FLAKEHOUND_DATA to their folder")
        return path

    return path_of
