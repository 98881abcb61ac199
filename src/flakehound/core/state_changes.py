"""What a test leaves changed in its process, and which names its code mentions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class StateChange:
    """One part of the state that differs before and after a test."""

    kind: str  # environment, module global, class attribute, logging, project file, ...
    name: str  # empty if there is only one of this kind
    how: str = "changed"  # or "added", "removed"

    @property
    def state(self) -> tuple[str, str]:
        """What changed, without how."""
        return (self.kind, self.name)

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".rstrip() + f" {self.how}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateTrace:
    """What one execution of a test left changed, and what its code can have read."""

    left: tuple[StateChange, ...] = ()
    mentions: frozenset[str] | None = None  # names in the project's code that ran; None: unknown
