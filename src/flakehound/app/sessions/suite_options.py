"""Options that all commands share which run a suite."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteOptions:
    """Which suite to run, how to run it and where to write the result; None: the user did not give the option."""

    jobs: int | None = None
    seed: int | None = None
    python: str | None = None
    isolation: str | None = None
    keep_plugins: tuple[str, ...] = ()
    test_timeout: str | None = None
    memory_limit: str | None = None
    json_file: Path | None = None
    pytest_args: tuple[str, ...] = ()
