"""What a run costs in seconds, estimated from the runs of the suite; no other module estimates costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from flakehound.core.order_memo import OrderMemo
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Batch, Isolation, Order, RunPlan, SharedPrefix, SingleRun, Walk
from flakehound.core.records import RunRecord

# A forked process with one trivial test, from the request to its end, until a hunt has measured its own.
# Between the 5 ms of `MEDIAN_FORK_S` and the 10 to 14 ms of a process with one test in real suites of small tests,
# including pytest's own work (benchmarks/RESULTS.md, state changes: "each test alone"). Half and twice
# the value: 225 and 229 of 287 planted tests proven instead of 228 (benchmarks/limits.py).
DEFAULT_FORK_S = 0.008

# The start of an interpreter and the collection of the suite, until one has been measured. The reference run of
# a hunt measures it before the first plan is made, so no simulated hunt changed with half or twice the value.
DEFAULT_NEW_INTERPRETER_S = 1.0

# A test that has never run. Ten times the median of 27 real suites (decision 0024): a test without a measured
# duration must not look free.
DEFAULT_TEST_S = 0.01

# Median of 27 real suites (decision 0024). For replays of published tables, which have no suite to measure.
MEDIAN_FORK_S = 0.005

# How many forks with one or two tests must be timed before their mean replaces the default. Half and twice the
# value: 228 and 230 planted tests proven instead of 228 (benchmarks/limits.py).
MIN_TIMED_FORKS = 10

# A fork with a larger overhead has waited for something else, such as child processes that outlived a test.
MAX_PLAUSIBLE_FORK_S = 1.0

# The number of runs must have grown by this factor before the time of a long order is summed up again. Only saves
# work of the planner in suites of many thousand tests; the mean times hardly change in between.
SUITE_TIME_REFRESH_FACTOR = 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowdown:
    """How much longer a process takes when it is observed."""

    start_s: float = 0.0  # added for each process
    factor: float = 1.0  # multiplies the time of its tests


UNOBSERVED = Slowdown()
# One test whose calls are traced. The factor is a rule of thumb: pytest itself, usually the larger part of a short
# run, is not traced. The start is a generous guess, because little time is reserved for traces.
TRACED_TEST = Slowdown(start_s=0.04, factor=2.0)
# A whole suite, traced fully or only for characteristic functions: measured by benchmarks/tracing.py with tests of
# 0.3 ms and 10 ms, rounded up.
TRACED_SUITE = Slowdown(factor=4.0)
TRACED_SUITE_SPARSELY = Slowdown(factor=1.4)
# One test whose process state is compared before and after it. That added 18 to 33 ms for each test of eight real
# suites (benchmarks/RESULTS.md, state changes); doubled, because the time reserved for it must suffice.
STATE_COMPARED = Slowdown(start_s=0.07, factor=3.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCosts:
    """Expected seconds of processes and tests of one suite."""

    fork_s: float = DEFAULT_FORK_S  # to fork and end a process, without its tests
    new_interpreter_s: float = DEFAULT_NEW_INTERPRETER_S  # to start, collect and end, without its tests
    mean_test_s: Mapping[NodeId, float] = field(default_factory=dict)  # of the tests that have run
    unknown_test_s: float = DEFAULT_TEST_S  # of each other test
    # The first time of each test: for sets of tests that must not change whenever a mean does.
    first_test_s: Mapping[NodeId, float] = field(default_factory=dict)
    long_orders_s: OrderMemo[float] = field(default_factory=OrderMemo)  # sums that were made before

    def start_s(self, isolation: Isolation) -> float:
        """What one process costs without its tests."""
        return self.new_interpreter_s if isolation is Isolation.SPAWN else self.fork_s

    def test_s(self, test: NodeId) -> float:
        """What one execution of a test takes."""
        return self.mean_test_s.get(test, self.unknown_test_s)

    def tests_s(self, tests: Iterable[NodeId]) -> float:
        """What one execution of each of these tests takes."""
        return self.long_orders_s.value(tests, self._sum_s) if isinstance(tests, tuple) else self._sum_s(tests)

    def _sum_s(self, tests: Iterable[NodeId]) -> float:
        known, unknown_s = self.mean_test_s, self.unknown_test_s
        return sum(known.get(test, unknown_s) for test in tests)

    def is_longer(self, tests: Iterable[NodeId], limit_s: float) -> bool:
        """Whether one execution of each of these tests takes at least this time; adds up no more than needed."""
        known, total_s = self.mean_test_s, 0.0
        for test in tests:
            total_s += known.get(test, self.unknown_test_s)
            if total_s >= limit_s:
                return True
        return False

    def run_s(self, order: Order, isolation: Isolation, observed: Slowdown = UNOBSERVED) -> float:
        """What one process with these tests takes."""
        return self.start_s(isolation) + observed.start_s + observed.factor * self.tests_s(order)

    def plan_s(self, plan: RunPlan) -> float:
        """What a plan takes: all of its processes one after another."""
        return sum(self.run_s(tests, plan.isolation) for tests in _tests_by_process(plan))

    def plan_tests_s(self, plan: RunPlan) -> float:
        """What the tests of a plan take, without the starts of its processes."""
        return sum(self.tests_s(tests) for tests in _tests_by_process(plan))


def _tests_by_process(plan: RunPlan) -> tuple[Order, ...]:
    """The tests that each process of a plan executes."""
    match plan:
        case SingleRun() | Batch():
            return plan.orders
        case _ if plan.isolation is Isolation.SPAWN:  # no process is copied: each order runs from its start
            return plan.orders
        case SharedPrefix() | Walk():
            return (plan.trunk, *(copy.tests for copy in plan.copies))


@dataclass(slots=True)
class _Mean:
    """A mean that grows by one value at a time."""

    n: int = 0
    value: float = 0.0

    def add(self, seconds: float) -> None:
        self.n += 1
        self.value += (seconds - self.value) / self.n


class CostMeasurements:
    """The times that runs of one suite took; grows by whole run records."""

    def __init__(self) -> None:
        self.slowest_test_s = 0.0  # the longest any test ever took
        self._tests: dict[NodeId, _Mean] = {}
        self._mean_test_s: dict[NodeId, float] = {}
        self._first_test_s: dict[NodeId, float] = {}
        self._fork = _Mean()
        self._new_interpreter = _Mean()
        self._costs: RunCosts | None = None
        self._long_orders_s = OrderMemo[float]()
        self._records, self._records_at_sums = 0, 0
        self._expected_test_s = DEFAULT_TEST_S
        self._expected_start_s = DEFAULT_NEW_INTERPRETER_S

    def expect(self, *, test_s: float, new_interpreter_s: float) -> None:
        """Set what is assumed of tests and interpreters that have not been timed."""
        self._expected_test_s, self._expected_start_s = max(test_s, DEFAULT_TEST_S), new_interpreter_s
        self._long_orders_s.forget()
        self._costs = None

    def remember(self, seconds: Mapping[NodeId, float]) -> None:
        """Assume these times of tests, from earlier hunts, until they are timed in this one."""
        for test, test_s in seconds.items():
            self._mean_test_s.setdefault(test, test_s)
        self._long_orders_s.forget()
        self._costs = None

    def add(self, record: RunRecord) -> None:
        """Add the times of one finished run."""
        for test, outcome, seconds in zip(record.order, record.outcomes, record.durations_s, strict=True):
            if outcome is not Outcome.NOT_RUN:
                self._add_test(test, seconds)
        overhead_s = record.usage.wall_s - sum(record.durations_s)
        if record.isolation is Isolation.FORK:
            if len(record.order) <= 2 and 0 < overhead_s < MAX_PLAUSIBLE_FORK_S:
                self._fork.add(overhead_s)
        elif overhead_s > 0 and not record.ended:
            self._new_interpreter.add(overhead_s)
        self._forget_old_sums()
        self._costs = None

    def _forget_old_sums(self) -> None:
        self._records += 1
        if self._records > SUITE_TIME_REFRESH_FACTOR * self._records_at_sums:
            self._records_at_sums = self._records
            self._long_orders_s.forget()

    def _add_test(self, test: NodeId, seconds: float) -> None:
        mean = self._tests.setdefault(test, _Mean())
        mean.add(seconds)
        self._mean_test_s[test] = mean.value
        self._first_test_s.setdefault(test, seconds)
        self.slowest_test_s = max(seconds, self.slowest_test_s)

    @property
    def costs(self) -> RunCosts:
        """What runs are expected to cost after the last record; `mean_test_s` is a view of the growing times."""
        if self._costs is None:
            is_fork_timed = self._fork.n >= MIN_TIMED_FORKS
            is_start_timed = self._new_interpreter.n > 0
            self._costs = RunCosts(
                fork_s=self._fork.value if is_fork_timed else DEFAULT_FORK_S,
                new_interpreter_s=self._new_interpreter.value if is_start_timed else self._expected_start_s,
                mean_test_s=MappingProxyType(self._mean_test_s),
                unknown_test_s=self._expected_test_s,
                first_test_s=MappingProxyType(self._first_test_s),
                long_orders_s=self._long_orders_s,
            )
        return self._costs
