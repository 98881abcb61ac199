"""Functions that libraries register for pytest-randomly, to seed random generators that nobody else can reach."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Callable

_GROUP = "pytest_randomly.random_seeder"


def registered_seeders() -> list[tuple[str, Callable[[int], object]]]:
    """The seeders of packages that the suite has loaded, each with the name of the package."""
    seeders = []
    for entry_point in sorted(_entry_points(), key=lambda one: str(one.name)):
        package = str(entry_point.value).partition(":")[0].partition(".")[0].strip()
        if package not in sys.modules:
            continue
        try:
            seeders.append((package, entry_point.load()))
        except Exception:  # a broken package; pytest-randomly would report it
            continue
    return seeders


def _entry_points() -> list[Any]:
    from importlib.metadata import entry_points

    try:
        if sys.version_info >= (3, 10):
            return list(entry_points(group=_GROUP))
        return list(entry_points().get(_GROUP, ()))
    except Exception:  # an installation with broken metadata
        return []
