"""What `flakehound history` prints."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """One session of a store in short."""

    started_s: float  # seconds since 1970
    commit: str | None  # None: no git
    folder: str
    found: str  # kinds and counts, or how to continue an unfinished hunt


def history_text(sessions: Sequence[SessionSummary]) -> str:
    """One line per session."""
    return "\n".join(_line(session) for session in sessions)


def _line(session: SessionSummary) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(session.started_s))
    commit = (session.commit or "no git")[:12]
    return f"{when}  {commit:12}  {session.folder}  {session.found}"
