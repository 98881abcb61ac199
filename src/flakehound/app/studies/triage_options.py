"""What the user asked of a study."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flakehound.app.sessions.suite_options import SuiteOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyWishes:
    """The options of `flakehound study triage`."""

    suite: SuiteOptions
    parts: tuple[str, ...]
    revisions: int
    since: str | None
    releases: Path | None  # None: commits
    tests: int
    reruns: tuple[int, ...]  # ascending
    repeats: int
