"""How far a pytest session that is still collecting has got."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionProgress:
    """What a session has collected so far."""

    files: int = 0  # the one that is collected now included
    tests: int = 0
    current_file: str = ""  # empty before the first one: pytest starts, or imports a conftest


def read_collection_progress(path: Path) -> CollectionProgress:
    """The content of a report of `flakehound_inside.worker.collection_reporter`; zeros without one."""
    try:
        files, tests, current_file = json.loads(path.read_text())
    except (OSError, ValueError):  # not written yet, or being written right now
        return CollectionProgress()
    return CollectionProgress(files=files, tests=tests, current_file=current_file)
