"""The four classification problems: which tests each is about, and which of them are positive."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any


class Problem(Enum):
    """Table 2 of CANNIER; LABELLED is a table that brings its own label."""

    NOD_VS_REST = "nod-vs-rest"
    NOD_VS_VICTIM = "nod-vs-victim"
    VICTIM_VS_REST = "victim-vs-rest"
    POLLUTER_VS_REST = "polluter-vs-rest"
    LABELLED = "labelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeCounts:
    """Failures and runs in the original order and in shuffled ones: of many tests as arrays, or of one test."""

    original_runs: Any
    original_failed: Any
    shuffled_runs: Any
    shuffled_failed: Any

    @property
    def is_nod(self) -> Any:
        """Passed and failed in the original order."""
        return (self.original_failed > 0) & (self.original_failed < self.original_runs)

    @property
    def is_victim(self) -> Any:
        """Consistent in the original order, and not the same in shuffled ones.

        The source says B ≠ S, where both orders ran equally often; here they need not.
        """
        passed = (self.original_failed == 0) & (self.shuffled_failed > 0)
        failed = (self.original_failed == self.original_runs) & (self.shuffled_failed < self.shuffled_runs)
        return (self.original_runs > 0) & (passed | failed)

    @property
    def can_be_classified(self) -> Any:
        """Domain of NOD-vs-Victim: does not always fail at first, fails at least once shuffled."""
        return (self.original_failed < self.original_runs) & (self.shuffled_failed > 0)
