"""The classification problems: which tests each of them is about, and which of these are positive."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any


class Problem(Enum):
    """The four problems of table 2 of CANNIER, and LABELLED for a table with its own label."""

    NOD_VS_REST = "nod-vs-rest"
    NOD_VS_VICTIM = "nod-vs-victim"
    VICTIM_VS_REST = "victim-vs-rest"
    POLLUTER_VS_REST = "polluter-vs-rest"
    LABELLED = "labelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeCounts:
    """Failures and runs in the original order and in shuffled orders: numbers for one test, or arrays for many."""

    original_runs: Any
    original_failed: Any
    shuffled_runs: Any
    shuffled_failed: Any

    @property
    def is_nod(self) -> Any:
        """Whether the test both passed and failed in the original order."""
        return (self.original_failed > 0) & (self.original_failed < self.original_runs)

    @property
    def is_victim(self) -> Any:
        """Whether the test had one outcome in the original order, and at least once the other one when shuffled.

        CANNIER compares the counts, B ≠ S, because both orders ran equally often there.
        """
        fails_shuffled = (self.original_failed == 0) & (self.shuffled_failed > 0)
        always_failed = self.original_failed == self.original_runs
        passes_shuffled = always_failed & (self.shuffled_failed < self.shuffled_runs)
        return (self.original_runs > 0) & (fails_shuffled | passes_shuffled)

    @property
    def can_be_classified(self) -> Any:
        """Whether NOD-vs-Victim is about the test: it passed in the original order and failed shuffled."""
        return (self.original_failed < self.original_runs) & (self.shuffled_failed > 0)
