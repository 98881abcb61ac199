"""How one test ended in earlier runs, as the store knows them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRuns:
    """The latest runs of the test in the store, without runs that contain the change."""

    failed: int
    runs: int
    branches: int
    same_failure: int = 0  # failures with the signature of the failure to judge

    def __str__(self) -> str:
        branches = "1 branch" if self.branches == 1 else f"{self.branches} branches"
        return f"failed {self.failed} of the last {self.runs} runs on {branches}"
