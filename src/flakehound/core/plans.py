"""What we intend to run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from flakehound.core.calls import TraceWish
from flakehound.core.outcomes import NodeId

Order = tuple[NodeId, ...]


class Isolation(Enum):
    """How the process of a run comes into being."""

    FORK = "fork"  # copied from a pytest session that has collected
    SPAWN = "spawn"  # a new interpreter


class Setting(Enum):
    """The circumstances under which an outcome was seen; evidence is counted per setting."""

    ORIGINAL = "original"  # pytest's own order, from its first test on
    SHUFFLED = "shuffled"  # many tests in an order of ours
    ALONE = "alone"  # first in a new process
    REPEATED = "repeated"  # a second time in one process
    PROBE = "probe"  # after tests chosen to answer a question


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """One process we intend to start, or one process and a copy of it per branch."""

    order: Order
    why: str  # shown to the user beside the outcome
    setting: Setting
    branches: tuple[Order, ...] = ()  # each runs in a copy of the process made after `order`
    at: tuple[
        int, ...
    ] = ()  # ascending: after how many tests of `order` each branch is copied off; empty: after all
    until: str = ""  # "F" or "P": no further branch once one ended so, with a failure or a pass
    isolation: Isolation = Isolation.FORK
    seed: int | None = None  # None: the engine names one when it starts the run
    hash_seed: int | None = None  # for a new interpreter only; None: as the environment says
    undisturbed: bool = False  # nothing else of ours may run at the same time
    timeout_s: float | None = None  # the whole process, not one test
    trace: TraceWish | None = None  # what to write down of the functions called; None: nothing
    measured: bool = False  # the features of each test are wanted, see core/measurements.py
    covered: bool = True  # of a measured run: covered lines are wanted, which cost most
    states: bool = False  # what each test leaves changed in its process is wanted, see core/state_changes.py

    @property
    def key(self) -> tuple[Order, tuple[Order, ...], tuple[int, ...], Isolation, bool]:
        """What makes two plans ask the same question; seeds differ between equal plans."""
        return (self.order, self.branches, self.at, self.isolation, self.undisturbed)

    def before(self, branch: int) -> int:
        """How many tests of `order` run ahead of a branch."""
        return self.at[branch] if self.at else len(self.order)

    def order_of(self, branch: int) -> Order:
        """Everything that runs in the process of one branch."""
        return self.order[: self.before(branch)] + self.branches[branch]

    def seed_of(self, branch: int) -> int | None:
        """The seed of one branch: branches of an empty order are runs of their own, each with its own seed."""
        if self.seed is None or self.order:
            return self.seed
        return (self.seed + branch) % 2**32

    @property
    def test_runs(self) -> int:
        """How many tests it executes."""
        return len(self.order) + sum(len(branch) for branch in self.branches)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectedTest:
    """One test of the suite, and where pytest found it."""

    id: NodeId
    module: str  # node id of the file
    parent: str  # node id of the class, or of the file where there is none
    repeatable: bool = True  # False: an item type we do not know how to run twice in one process


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The tests pytest collected, in its own order."""

    tests: tuple[CollectedTest, ...]

    @property
    def order(self) -> Order:
        """The original order."""
        return tuple(test.id for test in self.tests)

    def groups(self, by: str) -> dict[str, list[NodeId]]:
        """The tests by `module` or by `parent`, groups and members in the original order."""
        found: dict[str, list[NodeId]] = {}
        for test in self.tests:
            found.setdefault(getattr(test, by), []).append(test.id)
        return found


def before(order: Sequence[NodeId], test: NodeId) -> Order:
    """The tests that `order` runs ahead of `test`."""
    return tuple(order[: list(order).index(test)])
