"""Options that every command which runs a suite shares."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteOptions:
    """Which suite to run, how to run it and where to write the result; None where the user said nothing."""

    jobs: int | None
    seed: int | None
    python: str | None
    isolation: str | None
    keep_plugins: tuple[str, ...]
    test_timeout: str | None
    memory_limit: str | None
    json_file: Path | None
    pytest_args: tuple[str, ...]
