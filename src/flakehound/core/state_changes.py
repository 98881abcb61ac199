"""What a test leaves changed in its process, and what of it another test can share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class StateChange:
    """One thing that outlives a test and was not so before it."""

    kind: str  # environment, module global, class attribute, logging, project file, ...
    name: str  # which one; empty where there is only one
    how: str = "changed"  # or added, removed

    @property
    def thing(self) -> tuple[str, str]:
        """What it is about, however it changed."""
        return (self.kind, self.name)

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".rstrip() + f" {self.how}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """What one execution of a test left, and what it can have looked at."""

    left: tuple[StateChange, ...] = ()
    mentions: frozenset[str] | None = None  # names in the project's code that ran; None: not known
