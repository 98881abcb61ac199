"""What we intend to run."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
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

    ORIGINAL = "original"  # pytest's own order, from its first test
    SHUFFLED = "shuffled"  # many tests in another order
    ALONE = "alone"  # first in a new process
    REPEATED = "repeated"  # a second time in one process
    PROBE = "probe"  # after tests that were chosen to answer a question


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How the processes of a plan run: everything but their tests."""

    why: str  # shown to the user with the outcome
    setting: Setting
    isolation: Isolation = Isolation.FORK
    seed: int | None = None  # None: the engine chooses one when it starts the run
    hash_seed: int | None = None  # for a new interpreter only; None: that of the environment
    undisturbed: bool = False  # no other process of a hunt may run at the same time
    timeout_s: float | None = None  # the whole process, not one test
    trace: TraceOptions | None = None  # which calls to record; None: no calls
    measure_features: bool = False  # of each test, see core/measurements.py
    measure_lines: bool = True  # if features are measured: also covered lines, which cost most
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
        """The tests of each process of the plan."""
        return (self.order,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch(RunSettings):
    """Several orders, one after another, each in its own process and with its own seed."""

    orders: tuple[Order, ...]

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two plans ask the same question; seeds differ between equal plans."""
        return (Batch, self.orders, self.isolation, self.undisturbed)

    @property
    def copies(self) -> tuple[ProcessCopy, ...]:
        """The processes, each a copy of a process that has run no test."""
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
    """One process that runs a prefix and is then copied: each continuation runs in its own copy."""

    prefix: Order
    continuations: tuple[Order, ...]
    # If the process cannot be copied: whether all continuations may run one after another in one process. Else
    # each runs after the prefix in a process of its own: exact, but it takes the time of the prefix each time.
    may_chain: bool = False

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
        """All tests that run in each copy, including those before it was made."""
        return tuple(self.prefix + tests for tests in self.continuations)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk(RunSettings):
    """One process that runs an order and is copied several times on the way: each copy runs the same tests."""

    order: Order
    test: NodeId
    stops: tuple[int, ...]  # ascending: after how many tests of `order` each copy is made
    suffix: Order = ()  # runs in each copy before the test
    until: Literal["fails", "passes"] | None = None  # no further copy after one in which the test ended this way

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two plans ask the same question; seeds differ between equal plans."""
        return (Walk, self.order, self.test, self.stops, self.suffix, self.isolation, self.undisturbed)

    @property
    def copies(self) -> tuple[ProcessCopy, ...]:
        """One copy at each stop."""
        tests = (*self.suffix, self.test)
        return tuple(ProcessCopy(after=stop, tests=tests, seed=self.seed) for stop in self.stops)

    @property
    def trunk(self) -> Order:
        """What runs in the process that is copied."""
        return self.order

    @property
    def orders(self) -> tuple[Order, ...]:
        """All tests that run in each copy, including those before it was made."""
        return tuple((*self.order[:stop], *self.suffix, self.test) for stop in self.stops)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessCopy:
    """A copy of a plan's process."""

    after: int  # number of tests of the trunk that ran before the copy was made
    tests: Order  # that run in the copy
    seed: int | None


# Plans of several processes that are copies of one; each has a trunk, copies of it, and the order of each copy.
CopyingPlan = Batch | SharedPrefix | Walk
RunPlan = SingleRun | CopyingPlan


def single_run(plan: RunPlan, order: Order) -> SingleRun:
    """One process for one of a plan's orders, with the settings of the plan."""
    settings = {setting.name: getattr(plan, setting.name) for setting in fields(RunSettings)}
    return SingleRun(order=order, **settings)


def tests_of(plan: RunPlan) -> set[NodeId]:
    """All tests that run in the processes of a plan."""
    return {test for order in plan.orders for test in order}


def without_tests(plan: RunPlan, tests: frozenset[NodeId]) -> RunPlan | None:
    """The plan without runs of these tests; None if nothing is left, or if its processes are copied after them."""
    if tests.isdisjoint(tests_of(plan)):
        return plan
    if isinstance(plan, SingleRun):
        order = tuple(test for test in plan.order if test not in tests)
        return replace(plan, order=order) if order else None
    if isinstance(plan, Batch):
        orders = tuple(order for order in plan.orders if tests.isdisjoint(order))
        return replace(plan, orders=orders) if orders else None
    return None


def longest_part(plan: RunPlan, fits: Callable[[RunPlan], bool]) -> RunPlan | None:
    """The longest beginning of a run, or of a batch of runs, that fits; None if there is none.

    Not of processes that are copied: what their copies would show needs all tests before them.
    """

    def part(length: int) -> RunPlan:
        if isinstance(plan, SingleRun):
            return replace(plan, order=plan.order[:length])
        assert isinstance(plan, Batch)
        return replace(plan, orders=plan.orders[:length])

    if not isinstance(plan, SingleRun | Batch):
        return None
    pieces = len(plan.order if isinstance(plan, SingleRun) else plan.orders)
    length = bisect_left(range(1, pieces + 1), True, key=lambda length: not fits(part(length)))
    return part(length) if length else None


def without_running(plan: RunPlan, running: Iterable[RunPlan]) -> RunPlan | None:
    """The plan without the copies that a running plan makes after the same prefix; None if none is left."""
    if not isinstance(plan, SharedPrefix):
        return plan
    same_prefix = [other for other in running if isinstance(other, SharedPrefix) and other.prefix == plan.prefix]
    made = {tests for other in same_prefix for tests in other.continuations}
    continuations = tuple(tests for tests in plan.continuations if tests not in made)
    return replace(plan, continuations=continuations) if continuations else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectedTest:
    """One test of the suite, and where pytest found it."""

    id: NodeId
    module: str  # node id of the file
    parent: str  # node id of the class; of the file if there is no class
    repeatable: bool = True  # False: an item type that cannot be run twice in one process


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The tests pytest collected, in its own order."""

    tests: tuple[CollectedTest, ...]
    order: Order = field(init=False, repr=False, compare=False)  # the original order

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", tuple(test.id for test in self.tests))

    def groups(self, by: str) -> dict[str, list[NodeId]]:
        """The tests by `module` or by `parent`; groups and their members are in the original order."""
        groups: dict[str, list[NodeId]] = {}
        for test in self.tests:
            groups.setdefault(getattr(test, by), []).append(test.id)
        return groups


def hash_seed_of_run(seed: int) -> int:
    """The hash seed that belongs to the random seed of a run: equal seeds give equal runs in two revisions."""
    return random.Random(f"hash seed {seed % 2**32}").randrange(1, 2**32)
