"""All runs of a suite so far, and counts of their outcomes.

A history grows by whole run records. It decides nothing: rooms query it and draw the conclusions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from flakehound.core.costs import CostMeasurements, RunCosts
from flakehound.core.order_memo import OrderMemo
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Isolation, Order, Setting, Suite
from flakehound.core.records import RunRecord

MAX_LISTED_PREFIX = 3  # tests; longer prefixes can only be queried, not listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Executions and failures of one test; skips count as neither."""

    n: int = 0
    failed: int = 0

    @property
    def passed(self) -> int:
        """Executions that did not fail."""
        return self.n - self.failed

    @property
    def is_mixed(self) -> bool:
        """Whether the test both passed and failed."""
        return 0 < self.failed < self.n

    def __add__(self, other: Tally) -> Tally:
        return Tally(n=self.n + other.n, failed=self.failed + other.failed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One execution of one test in one run."""

    outcome: Outcome
    record: RunRecord
    position: int  # in the order of the run
    run_number: int  # number of runs in the history before this one
    prefix: int  # hash of the tests before it, see `prefix_hash`


class _Circumstances(NamedTuple):
    """The key that executions are counted by; a tuple, because one is made for every execution."""

    setting: Setting
    isolation: Isolation
    disturbed: bool
    hash_seed: int | None
    # In the original order: hash of the tests before it, because a hunt removes tests that end their process.
    # None in other settings.
    prefix: int | None


class History:
    """The runs of one suite."""

    def __init__(self, suite: Suite, records: Iterable[RunRecord] = ()) -> None:
        self.suite = suite
        self.records: list[RunRecord] = []
        self._tallies: dict[NodeId, dict[_Circumstances, list[int]]] = {}
        self._after_prefix: dict[tuple[int, NodeId], list[Execution]] = defaultdict(list)
        # Passes and failures in `_after_prefix`, by prefix, test, disturbed, failed.
        self._counts_after_prefix: Counter[tuple[int, NodeId, bool, bool]] = Counter()
        self._known_prefixes: dict[NodeId, set[int]] = defaultdict(set)  # hashes, after which each test ran
        self._failures: dict[NodeId, list[Execution]] = defaultdict(list)
        self._failed_in_order: list[NodeId] = []  # the same tests in the original order
        self._first_pass: dict[NodeId, Execution] = {}
        self._last_forked_pass_s: dict[NodeId, float] = {}
        self._prefix_hashes = OrderMemo[int]()
        self._short_prefixes: dict[NodeId, set[Order]] = defaultdict(set)
        self._runs_by_order: Counter[tuple[int, Isolation, bool]] = Counter()
        self._mentions: Counter[NodeId] = Counter()
        self.times = CostMeasurements()
        self.forked_hash_seed: int | None = None  # of the session that forks are copied from
        for record in records:
            self.add(record)

    def add(self, record: RunRecord) -> None:
        """Add one finished run."""
        self.records.append(record)
        self.times.add(record)
        if record.isolation is Isolation.FORK:
            self.forked_hash_seed = record.hash_seed
        earlier: set[NodeId] = set()
        prefix = _EMPTY_PREFIX_HASH
        for position, (test, outcome) in enumerate(zip(record.order, record.outcomes, strict=True)):
            if outcome is not Outcome.NOT_RUN:
                setting = setting_of_execution(record, position, is_repetition=test in earlier)
                self._count(test, setting, record, outcome, prefix)
                if ended_as_if_last(record, position):
                    self._add_after_prefix(test, record, position, prefix)
                if outcome.is_pass:
                    self._note_pass(test, record, position, prefix)
            earlier.add(test)
            self._mentions[test] += 1
            prefix = hash((prefix, test))
        self._runs_by_order[prefix, record.isolation, record.disturbed] += 1

    def _add_after_prefix(self, test: NodeId, record: RunRecord, position: int, prefix: int) -> None:
        execution = _execution_at(record, position, len(self.records) - 1, prefix)
        self._after_prefix[prefix, test].append(execution)
        self._known_prefixes[test].add(prefix)
        is_failure = execution.outcome.is_failure
        if is_failure or execution.outcome.is_pass:
            self._counts_after_prefix[prefix, test, record.disturbed, is_failure] += 1
        if 0 < position <= MAX_LISTED_PREFIX:
            self._short_prefixes[test].add(record.order[:position])
        if is_failure:
            self._failures[test].append(execution)

    def _note_pass(self, test: NodeId, record: RunRecord, position: int, prefix: int) -> None:
        if test not in self._first_pass:
            self._first_pass[test] = _execution_at(record, position, len(self.records) - 1, prefix)
        if record.isolation is Isolation.FORK:
            self._last_forked_pass_s[test] = max(record.started_s, self._last_forked_pass_s.get(test, 0.0))

    def _count(self, test: NodeId, setting: Setting, record: RunRecord, outcome: Outcome, prefix: int) -> None:
        if not (outcome.is_failure or outcome.is_pass):
            return
        key = _Circumstances(
            setting=setting,
            isolation=record.isolation,
            disturbed=record.disturbed,
            hash_seed=record.hash_seed,
            prefix=prefix if setting is Setting.ORIGINAL else None,
        )
        counts = self._tallies.setdefault(test, {}).setdefault(key, [0, 0])
        counts[0] += 1
        counts[1] += outcome.is_failure

    @property
    def costs(self) -> RunCosts:
        """What runs of the suite are expected to cost, by the times measured so far."""
        return self.times.costs

    @property
    def slowest_test_s(self) -> float:
        """The longest time that any test ever took."""
        return self.times.slowest_test_s

    def tally(
        self,
        test: NodeId,
        *settings: Setting,
        isolation: Isolation | None = None,
        disturbed: bool | None = None,
        hash_seed: int | None = None,
        after: Sequence[NodeId] | int | None = None,
    ) -> Tally:
        """Executions and failures of one test in some settings; without settings, in all.

        `after` restricts the original order to runs that had exactly these tests before the test: the tests, or
        their `prefix_hash`.
        """
        prefix = after if after is None or isinstance(after, int) else self._hash_of(after)
        n = failed = 0
        for key, (key_n, key_failed) in self._tallies.get(test, {}).items():
            if (
                (not settings or key.setting in settings)
                and isolation in (None, key.isolation)
                and disturbed in (None, key.disturbed)
                and hash_seed in (None, key.hash_seed)
                and (prefix is None or key.prefix in (None, prefix))
            ):
                n, failed = n + key_n, failed + key_failed
        return Tally(n=n, failed=failed)

    def tally_by_hash_seed(self, test: NodeId, *settings: Setting) -> dict[int, Tally]:
        """Executions and failures of one test by hash seed of the interpreter, without runs of unknown seed."""
        tallies: dict[int, Tally] = {}
        for key, (n, failed) in self._tallies.get(test, {}).items():
            if key.hash_seed is not None and key.setting in settings:
                tallies[key.hash_seed] = tallies.get(key.hash_seed, Tally()) + Tally(n=n, failed=failed)
        return tallies

    def executions_after(self, prefix: Sequence[NodeId] | int, test: NodeId) -> list[Execution]:
        """Executions of `test` in processes that ran exactly `prefix` (or with this hash) before it."""
        known_hash = prefix if isinstance(prefix, int) else self._hash_of(prefix)
        return self._after_prefix.get((known_hash, test), [])

    def tally_after(self, prefix: Sequence[NodeId] | int, test: NodeId, *, disturbed: bool | None = None) -> Tally:
        """Passes and failures of `test` in processes that ran exactly `prefix` (or with this hash) before it."""
        counts, known_hash = (
            self._counts_after_prefix,
            prefix if isinstance(prefix, int) else self._hash_of(prefix),
        )
        passed = failed = 0
        # `get`, because a missing key of a Counter costs a call in Python, and most of these keys are missing.
        for disturbance in (False, True) if disturbed is None else (disturbed,):
            passed += counts.get((known_hash, test, disturbance, False), 0)
            failed += counts.get((known_hash, test, disturbance, True), 0)
        return Tally(n=passed + failed, failed=failed)

    def _hash_of(self, prefix: Sequence[NodeId]) -> int:
        return self._prefix_hashes.value(prefix, prefix_hash) if isinstance(prefix, tuple) else prefix_hash(prefix)

    def tallies_along(self, order: Order, test: NodeId, suffix: Order = ()) -> dict[int, Tally]:
        """Passes and failures of `test` after the first n tests of `order`, for each n after which it ran.

        With a suffix: after these n tests and then the suffix.
        """
        tallies: dict[int, Tally] = {}
        known_prefixes = self._known_prefixes[test]
        prefix = _EMPTY_PREFIX_HASH
        for length in range(len(order) + 1):
            whole_prefix = prefix_hash(suffix, prefix) if suffix else prefix
            if whole_prefix in known_prefixes and (tally := self.tally_after(whole_prefix, test)).n:
                tallies[length] = tally
            if length < len(order):
                prefix = hash((prefix, order[length]))
        return tallies

    def short_prefixes(self, test: NodeId) -> list[Order]:
        """The prefixes of few tests after which `test` ran, the most frequent first."""
        prefixes = self._short_prefixes.get(test, ())
        return sorted(prefixes, key=lambda prefix: (-self.tally_after(prefix, test).n, len(prefix), prefix))

    def failures_of(self, test: NodeId) -> list[Execution]:
        """Every failure of `test`, the oldest first."""
        return self._failures.get(test, [])

    def failed_tests(self) -> Iterator[NodeId]:
        """The tests that failed at least once, in the original order."""
        if len(self._failed_in_order) != len(self._failures):
            self._failed_in_order = [test.id for test in self.suite.tests if test.id in self._failures]
        return iter(self._failed_in_order)

    def first_pass_of(self, test: NodeId) -> Execution | None:
        """The first execution that passed; None if there is none."""
        return self._first_pass.get(test)

    def last_forked_pass_s(self, test: NodeId) -> float | None:
        """When the latest forked run started in which it passed, in seconds since 1970; None if there is none."""
        return self._last_forked_pass_s.get(test)

    def mentions_of(self, test: NodeId) -> int:
        """How often the orders of runs contain it, even if it did not run; grows with everything new about it."""
        return self._mentions[test]

    def runs_of(self, order: Order, isolation: Isolation | None = None, *, disturbed: bool | None = None) -> int:
        """How many runs had exactly this order."""
        whole = self._hash_of(order)
        return sum(
            self._runs_by_order[whole, other_isolation, other_disturbed]
            for other_isolation in Isolation
            for other_disturbed in (False, True)
            if isolation in (None, other_isolation) and disturbed in (None, other_disturbed)
        )


_EMPTY_PREFIX_HASH = hash(())


def _execution_at(record: RunRecord, position: int, run_number: int, prefix: int) -> Execution:
    outcome = record.outcomes[position]
    return Execution(outcome=outcome, record=record, position=position, run_number=run_number, prefix=prefix)


def tally_of(executions: Iterable[Execution]) -> Tally:
    """Passes and failures among some executions."""
    failed = [e.outcome.is_failure for e in executions if e.outcome.is_failure or e.outcome.is_pass]
    return Tally(n=len(failed), failed=sum(failed))


def prefix_hash(prefix: Sequence[NodeId], value: int = _EMPTY_PREFIX_HASH) -> int:
    """A hash of a sequence of tests that can be extended by one test at a time; `value`: that of earlier tests."""
    for test in prefix:
        value = hash((value, test))
    return value


def setting_of_execution(record: RunRecord, position: int, *, is_repetition: bool) -> Setting:
    """The setting that an execution counts for.

    A second execution in one process is a repetition. A test ran alone if no test ran before it and none after it:
    the teardown of a class or module runs with the last test that needs it, so a test that passes before others
    may fail by itself. A repetition that passed had that teardown, too. A probe stays a probe, even of a single
    test: it may repeat a seed that is known to fail, and must not count towards a rate.
    """
    if is_repetition:
        return Setting.REPEATED
    if (
        position == 0
        and record.setting in (Setting.ALONE, Setting.REPEATED, Setting.SHUFFLED)
        and ended_as_if_last(record, position)
    ):
        return Setting.ALONE
    if record.setting in (Setting.ALONE, Setting.REPEATED):
        return Setting.PROBE
    return record.setting


def ended_as_if_last(record: RunRecord, position: int) -> bool:
    """Whether the execution would have had the same outcome as the last one of its process."""
    if position == len(record.order) - 1 or record.outcomes[position].is_failure:
        return True
    # By positions, because a copy of all later tests for each test would take the square of the run's length.
    is_next_to_last = position == len(record.order) - 2
    return is_next_to_last and record.order[-1] == record.order[position] and record.outcomes[-1].is_pass
