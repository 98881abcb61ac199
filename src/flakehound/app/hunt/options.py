"""The validated options of one hunt."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from flakehound.core.plans import Isolation
from flakehound.engine.processes.launch import Target
from flakehound.hunt.options import INDEX, TECHNIQUES
from flakehound.store import SessionInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOptions:
    """The policy that orders a hunt's runs, and what only `cannier` takes."""

    policy: str = INDEX
    training: Path | None = None  # the table to learn from; None: the one we ship
    features: Path | None = None  # of this suite's tests; None: measured in the hunt
    detection: float | None = None  # the MCC wanted, as cheaply as possible
    cost: float | None = None  # the share of all reruns' time that may be spent


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntOptions:
    """Validated options of one `flakehound hunt`."""

    target: Target
    seed: int  # of a new hunt; a resumed one keeps its own
    store_path: Path
    jobs: int | None = None  # None: as many as the suite bears
    budget_s: float | None = None  # None: derived from the time that the suite takes
    runs: int | None = None  # in the original order; None: as many as fit
    shuffles: int | None = None  # in other orders; None: as many as fit
    policy: PolicyOptions = field(default_factory=PolicyOptions)
    techniques: tuple[str, ...] = TECHNIQUES
    pairs: str = "auto"
    states: bool = False
    measure: bool = False
    isolation: Isolation | None = None  # None: fork where a fork is faithful
    test_limit_s: float | None = None
    shown_store: str | None = None  # how the user named the store, None for the default
    resumed: SessionInfo | None = None  # the stored hunt to continue

    @property
    def base_seed(self) -> int:
        """The seed of the whole hunt, from its first start on."""
        return self.seed if self.resumed is None else self.resumed.base_seed

    @property
    def is_counted(self) -> bool:
        """Whether the user named a number of runs to make; `--shuffles 0` only excludes shuffled runs."""
        return bool(self.runs or self.shuffles)

    @property
    def ends_by_count_only(self) -> bool:
        """Whether a number of runs was named without a time: then the default time does not cut them."""
        return self.is_counted and self.budget_s is None
