"""Settings of the search: techniques, policy, candidates and priors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from flakehound.core.doubtful_failures import DoubtfulFailures
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order
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
    assumed_kinds: Mapping[NodeId, str] = field(default_factory=dict)  # by a model; no runs prove them


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """Settings of the search for flaky tests."""

    seed: int  # of orders and hash seeds
    jobs: int = 1
    isolation: Isolation = Isolation.FORK
    snapshots: bool = True  # whether a process can be copied; False where the copies would share files
    techniques: tuple[str, ...] = TECHNIQUES
    runs: int | None = None  # runs in the original order; None: as many as fit into the time
    shuffles: int | None = None  # runs in other orders; None: as many as fit into the time
    hash_seeds: bool = True  # whether to vary the hash seed; False if the user pins PYTHONHASHSEED
    endless: bool = False  # go on rerunning until the budget is spent
    pairs: str = "auto"  # auto, exact, grouped, none
    awaits_reference: bool = False  # the first run of the suite takes long and is not over yet
    # Tests without which other orders run: they write shared files, so nothing could run beside these orders.
    left_out_of_orders: frozenset[NodeId] = frozenset()
    states: bool = False  # record what each test leaves changed in its process
    suspects: tuple[NodeId, ...] = ()  # tests that failed in the user's own pytest runs; they run first
    # Orders that earlier hunts give reason to run first, each as often as it should run.
    first_orders: tuple[Order, ...] = ()
    doubtful: DoubtfulFailures = field(
        default_factory=DoubtfulFailures
    )  # tests that failed in runs that disturbed each other
    policy: str = RERUN  # INDEX: by expected gain; others: fixed stages, for the candidates if selected
    candidates: Candidates = field(default_factory=Candidates)
    priors: Priors = field(default_factory=Priors)

    def counted_only(self) -> SearchOptions:
        """The same options, restricted to the runs that `--runs` and `--shuffles` ask for."""
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
