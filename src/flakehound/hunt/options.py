"""Settings of the search: techniques, policy, candidates and priors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation
from flakehound.core.statistics.prevalence import Priors

TECHNIQUES = ("rerun", "idflakies", "pairwise")
POLICIES = INDEX, RERUN, CANNIER, CALLS = "index", "rerun", "cannier", "calls"
SELECTING = (CANNIER, CALLS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The tests that are worth their runs; None: all."""

    reruns: frozenset[NodeId] | None = None
    victims: frozenset[NodeId] | None = None  # of pairs
    polluters: frozenset[NodeId] | None = None
    taken_for: Mapping[NodeId, str] = field(default_factory=dict)  # the kind, where no run is to prove it


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """Settings of the search for flaky tests; the defaults suit every suite."""

    seed: int
    jobs: int = 1
    isolation: Isolation = Isolation.FORK
    snapshots: bool = True  # False where copies of one process would see each other's files
    techniques: tuple[str, ...] = TECHNIQUES
    runs: int | None = None  # original-order runs; None: as many as fit
    shuffles: int | None = None  # other orders; None: as many as fit
    hash_seeds: bool = True  # False where the user pins PYTHONHASHSEED
    endless: bool = False  # go on rerunning until the budget is spent
    pairs: str = "auto"  # auto, exact, grouped, none
    states: bool = False  # look at what each test leaves in its process
    suspects: tuple[NodeId, ...] = ()  # failed in runs of the user's own: looked at first
    policy: str = RERUN  # fixed stages, all tests alike; INDEX: by worth; else the stages for the candidates
    candidates: Candidates = field(default_factory=Candidates)
    priors: Priors = field(default_factory=Priors)

    def counted_only(self) -> SearchOptions:
        """The same hunt with nothing in it but the runs whose number the user named."""
        orders = tuple(technique for technique in self.techniques if technique == "idflakies")
        return replace(
            self,
            techniques=orders,
            runs=self.runs or 0,
            shuffles=self.shuffles or 0,
            hash_seeds=False,
            endless=False,
            pairs="none",
        )
