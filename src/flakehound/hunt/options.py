"""Settings of the search: techniques, policy, candidates and priors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation
from flakehound.core.statistics.prevalence import Priors

TECHNIQUES = ("rerun", "idflakies", "pairwise")
POLICIES = INDEX, RERUN, CANNIER, CALLS = "index", "rerun", "cannier", "calls"
SELECTING_POLICIES = (CANNIER, CALLS)  # a model or call traces select the tests of each technique


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The tests that a policy selects for each technique; None: all tests."""

    reruns: frozenset[NodeId] | None = None
    victims: frozenset[NodeId] | None = None  # of pairs
    polluters: frozenset[NodeId] | None = None  # of pairs
    assumed_kinds: Mapping[NodeId, str] = field(default_factory=dict)  # by a model; no runs are made to prove them


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
    states: bool = False  # record what each test leaves changed in its process
    suspects: tuple[NodeId, ...] = ()  # failed in the user's own pytest runs: run first
    policy: str = (
        RERUN  # RERUN: fixed stages, all tests alike; INDEX: by expected gain; else stages for the candidates
    )
    candidates: Candidates = field(default_factory=Candidates)
    priors: Priors = field(default_factory=Priors)

    def counted_only(self) -> SearchOptions:
        """The same options with only the runs whose number the user named."""
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
