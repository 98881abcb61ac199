"""What we say about a test, and the evidence that lets us say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from flakehound.core.history import Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order, Setting
from flakehound.core.statistics.rates import Rate


class Kind(Enum):
    """How a test behaves; the vocabulary of the literature."""

    NOD = "nod"  # passes and fails in one and the same order
    VICTIM = "victim"  # fails after its polluter
    BRITTLE = "brittle"  # fails alone, passes after its state-setter
    NON_IDEMPOTENT = "non-idempotent"  # passes first, fails the second time in one process
    STEADY = "steady"  # never seen failing
    FAILING = "failing"  # never seen passing
    UNRESOLVED = "unresolved"  # failed at least once, and the evidence does not yet say why

    @property
    def is_flaky(self) -> bool:
        """Whether the test is proven flaky."""
        return self in (Kind.NOD, Kind.VICTIM, Kind.BRITTLE, Kind.NON_IDEMPOTENT)


class Cause(Enum):
    """Why a test is flaky."""

    ASYNC_WAIT = "async-wait"
    CONCURRENCY = "concurrency"
    RANDOMNESS = "randomness"
    NETWORK = "network"
    TIME = "time"
    IO = "io"
    UNORDERED_COLLECTION = "unordered-collection"
    FLOATING_POINT = "floating-point"
    RESOURCE_LEAK = "resource-leak"
    TEST_ORDER = "test-order"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True, kw_only=True)
class LikelyCause:
    """A cause, and the evidence for it."""

    cause: Cause
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The shortest run known to make the test fail."""

    order: Order  # ends with the test
    isolation: Isolation = Isolation.FORK
    seed: int | None = None  # None: the failure does not depend on a seed
    hash_seed: int | None = None
    failed: int = 0  # of `runs` such runs
    runs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is known about one test."""

    id: NodeId
    kind: Kind
    tallies: Mapping[Setting, Tally] = field(default_factory=dict)
    rate: Rate
    evidence: tuple[str, ...] = ()  # whole sentences, strongest first
    polluters: tuple[NodeId, ...] = ()
    state_setters: tuple[NodeId, ...] = ()
    cleaners: tuple[NodeId, ...] = ()
    # State changes in words, the likeliest cause first; empty if states were not compared.
    shared_state: tuple[str, ...] = ()  # that its polluters or state-setters leave and it may read
    leaves: tuple[str, ...] = ()  # that it leaves itself, if it is a polluter
    joint: bool = False  # the polluters (or setters) are needed together
    pollution_rate: Rate | None = None  # set when the victim fails only sometimes after its polluter
    under_load: bool = False  # it failed only while other processes of the hunt ran
    causes: tuple[LikelyCause, ...] = ()
    minimal_order: Order = ()
    replay: Replay | None = None
    signatures: Mapping[str, int] = field(default_factory=dict)  # failure signature -> times seen
