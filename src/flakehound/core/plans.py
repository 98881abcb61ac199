"""What we intend to run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import Literal

from flakehound.core.calls import TraceOptions
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
class RunSettings:
    """How the processes of a plan run, whatever tests they execute."""

    why: str  # shown to the user beside the outcome
    setting: Setting
    isolation: Isolation = Isolation.FORK
    seed: int | None = None  # None: the engine chooses one when it starts the run
    hash_seed: int | None = None  # for a new interpreter only; None: as the environment says
    undisturbed: bool = False  # nothing else of ours may run at the same time
    timeout_s: float | None = None  # the whole process, not one test
    trace: TraceOptions | None = None  # what to write down of the functions called; None: nothing
    measure_features: bool = False  # of each test, see core/measurements.py
    measure_lines: bool = True  # of a run that measures features: covered lines too, which cost most
    compare_state: bool = False  # record what each test leaves changed in its process, see core/state_changes.py


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleRun(RunSettings):
    """One process that runs the tests of one order."""

    order: Order  # empty, in a new interpreter only: the whole suite as collected

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two plans ask the same question; seeds differ between equal plans."""
        return (SingleRun, self.order, self.isolation, self.undisturbed)

    @property
    def orders(self) -> tuple[Order, ...]:
        """Everything that runs in each process of the plan."""
        return (self.order,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch(RunSettings):
    """Several orders, each in a process of its own and with a seed of its own, one after another."""

    orders: tuple[Order, ...]

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two plans ask the same question; seeds differ between equal plans."""
        return (Batch, self.orders, self.isolation, self.undisturbed)

    @property
    def copies(self) -> tuple[ProcessCopy, ...]:
        """The processes, each a copy of one that has run nothing."""
        return tuple(
            ProcessCopy(after=0, tests=order, seed=None if self.seed is None else (self.seed + number) % 2**32)
            for number, order in enumerate(self.orders)
        )

    @property
    def trunk(self) -> Order:
        """What runs in the process that is copied."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPrefix(RunSettings):
    """One process that runs a prefix and is then copied: each continuation runs in a copy of its own."""

    prefix: Order
    continuations: tuple[Order, ...]

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two plans ask the same question; seeds differ between equal plans."""
        return (SharedPrefix, self.prefix, self.continuations, self.isolation, self.undisturbed)

    @property
    def copies(self) -> tuple[ProcessCopy, ...]:
        """One copy for each continuation."""
        after = len(self.prefix)
        return tuple(ProcessCopy(after=after, tests=tests, seed=self.seed) for tests in self.continuations)

    @property
    def trunk(self) -> Order:
        """What runs in the process that is copied."""
        return self.prefix

    @property
    def orders(self) -> tuple[Order, ...]:
        """Everything that runs in each copy, from the start of the process on."""
        return tuple(self.prefix + tests for tests in self.continuations)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk(RunSettings):
    """One process that runs an order and is copied at several places: each copy runs one test there."""

    order: Order
    test: NodeId
    stops: tuple[int, ...]  # ascending: after how many tests of `order` each copy is made
    until: Literal["fails", "passes"] | None = None  # no further copy once the test ended so in one

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two plans ask the same question; seeds differ between equal plans."""
        return (Walk, self.order, self.test, self.stops, self.isolation, self.undisturbed)

    @property
    def copies(self) -> tuple[ProcessCopy, ...]:
        """One copy at each stop."""
        return tuple(ProcessCopy(after=stop, tests=(self.test,), seed=self.seed) for stop in self.stops)

    @property
    def trunk(self) -> Order:
        """What runs in the process that is copied."""
        return self.order

    @property
    def orders(self) -> tuple[Order, ...]:
        """Everything that runs in each copy, from the start of the process on."""
        return tuple((*self.order[:stop], self.test) for stop in self.stops)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessCopy:
    """A copy of a plan's process, made along the way."""

    after: int  # tests of the trunk that ran before the copy was made
    tests: Order  # that run in the copy
    seed: int | None


# Plans of several processes that are copies of one; each has a trunk, copies of it, and whole orders.
CopyingPlan = Batch | SharedPrefix | Walk
RunPlan = SingleRun | CopyingPlan


def single_run(plan: RunPlan, order: Order) -> SingleRun:
    """One process for one of a plan's orders, with the settings of the plan."""
    settings = {one.name: getattr(plan, one.name) for one in fields(RunSettings)}
    return SingleRun(order=order, **settings)


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
