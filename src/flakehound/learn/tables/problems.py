"""The four classification problems: which tests each is about, and which of them are positive."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from flakehound.learn.extras import Array


class Problem(Enum):
    """Table 2 of CANNIER; LABELLED is a table that brings its own label."""

    NOD_VS_REST = "nod-vs-rest"
    NOD_VS_VICTIM = "nod-vs-victim"
    VICTIM_VS_REST = "victim-vs-rest"
    POLLUTER_VS_REST = "polluter-vs-rest"
    LABELLED = "labelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Failures and runs of every test, in the original order and in shuffled ones; arrays of one length."""

    original_runs: Array
    original_failed: Array
    shuffled_runs: Array
    shuffled_failed: Array

    @property
    def is_nod(self) -> Array:
        """Passed and failed in the original order."""
        return (self.original_failed > 0) & (self.original_failed < self.original_runs)

    @property
    def is_victim(self) -> Array:
        """Consistent in the original order, and not the same in shuffled ones.

        The source says B ≠ S, where both orders ran equally often; here they need not.
        """
        passed = (self.original_failed == 0) & (self.shuffled_failed > 0)
        failed = (self.original_failed == self.original_runs) & (self.shuffled_failed < self.shuffled_runs)
        return (self.original_runs > 0) & (passed | failed)

    @property
    def can_be_classified(self) -> Array:
        """Domain of NOD-vs-Victim: does not always fail at first, fails at least once shuffled."""
        return (self.original_failed < self.original_runs) & (self.shuffled_failed > 0)
