"""Everything seen so far, asked in the words of the techniques.

Grows by whole run records and never forgets one. Holds no decision: rooms ask, rooms judge.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from flakehound.core.costs import CostMeasurements, RunCosts
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Isolation, Order, Setting, Suite
from flakehound.core.records import RunRecord

SHORT_PREFIX = 3  # prefixes up to this long can be listed, not only asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Executions and failures of one test in one setting; skips are in neither."""

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
class Sighting:
    """One execution of one test at a known place of a known run."""

    outcome: Outcome
    record: RunRecord
    place: int
    run: int  # how many runs the history held before this one


class _Circumstances(NamedTuple):
    """What executions are counted by; a tuple, because one is made for every execution."""

    setting: Setting
    isolation: Isolation
    disturbed: bool
    hash_seed: int | None
    prefix: int | None  # of the original order, which loses the tests that end their process; else None


class History:
    """The runs of one suite."""

    def __init__(self, suite: Suite, records: Iterable[RunRecord] = ()) -> None:
        self.suite = suite
        self.records: list[RunRecord] = []
        self._tallies: dict[NodeId, dict[_Circumstances, list[int]]] = {}
        self._after: dict[tuple[int, NodeId], list[Sighting]] = defaultdict(list)
        self._told: Counter[tuple[int, NodeId, bool, bool]] = Counter()  # of `_after`: disturbed, failed
        self._failures: dict[NodeId, list[Sighting]] = defaultdict(list)
        self._first_pass: dict[NodeId, Sighting] = {}
        self._last_forked_pass_s: dict[NodeId, float] = {}
        self._short: dict[NodeId, set[Order]] = defaultdict(set)
        self._orders: Counter[tuple[int, Isolation, bool]] = Counter()
        self._touched: Counter[NodeId] = Counter()
        self._times = CostMeasurements()
        self.forked_hash_seed: int | None = None  # of the session that forks are copied from
        for record in records:
            self.add(record)

    def add(self, record: RunRecord) -> None:
        """Take in one finished run."""
        self.records.append(record)
        self._times.add(record)
        if record.isolation is Isolation.FORK:
            self.forked_hash_seed = record.hash_seed
        seen: set[NodeId] = set()
        prefix = _EMPTY
        for place, (test, outcome) in enumerate(zip(record.order, record.outcomes, strict=True)):
            if outcome is not Outcome.NOT_RUN:
                setting = setting_at(record, place, again=test in seen)
                self._count(test, setting, record, outcome, prefix)
                if is_whole(record, place):
                    sighting = self._sighting(record, place)
                    self._after[(prefix, test)].append(sighting)
                    if outcome.is_failure or outcome.is_pass:
                        self._told[prefix, test, record.disturbed, outcome.is_failure] += 1
                    if 0 < place <= SHORT_PREFIX:
                        self._short[test].add(record.order[:place])
                    if outcome.is_failure:
                        self._failures[test].append(sighting)
                if outcome.is_pass:
                    self._note_pass(test, record, place)
            seen.add(test)
            self._touched[test] += 1
            prefix = hash((prefix, test))
        self._orders[prefix, record.isolation, record.disturbed] += 1

    def _sighting(self, record: RunRecord, place: int) -> Sighting:
        return Sighting(outcome=record.outcomes[place], record=record, place=place, run=len(self.records) - 1)

    def _note_pass(self, test: NodeId, record: RunRecord, place: int) -> None:
        if test not in self._first_pass:
            self._first_pass[test] = self._sighting(record, place)
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
        """What runs of the suite are expected to cost, as measured so far."""
        return self._times.costs

    @property
    def slowest_test_s(self) -> float:
        """The longest any test ever took."""
        return self._times.slowest_test_s

    def tally(
        self,
        test: NodeId,
        *settings: Setting,
        isolation: Isolation | None = None,
        disturbed: bool | None = None,
        hash_seed: int | None = None,
        after: Sequence[NodeId] | None = None,
    ) -> Tally:
        """Counts of one test, over the named settings (all when none is named).

        `after` keeps of the original order only the runs that had exactly these tests before it.
        """
        prefix = None if after is None else chain(after)
        n = failed = 0
        for key, (runs, bad) in self._tallies.get(test, {}).items():
            if (
                (not settings or key.setting in settings)
                and isolation in (None, key.isolation)
                and disturbed in (None, key.disturbed)
                and hash_seed in (None, key.hash_seed)
                and (prefix is None or key.prefix in (None, prefix))
            ):
                n, failed = n + runs, failed + bad
        return Tally(n=n, failed=failed)

    def tally_by_hash_seed(self, test: NodeId, *settings: Setting) -> dict[int, Tally]:
        """Counts of one test by the hash seed of the interpreter, where it is known."""
        found: dict[int, Tally] = {}
        for key, (runs, bad) in self._tallies.get(test, {}).items():
            if key.hash_seed is not None and key.setting in settings:
                found[key.hash_seed] = found.get(key.hash_seed, Tally()) + Tally(n=runs, failed=bad)
        return found

    def after(self, prefix: Sequence[NodeId], test: NodeId) -> list[Sighting]:
        """Executions of `test` right after exactly `prefix`, from the start of a process."""
        return self._after.get((chain(prefix), test), [])

    def tally_after(self, prefix: Sequence[NodeId], test: NodeId, *, disturbed: bool | None = None) -> Tally:
        """Passes and failures of `test` right after exactly `prefix`."""
        return self._told_after(chain(prefix), test, disturbed)

    def _told_after(self, prefix: int, test: NodeId, disturbed: bool | None = None) -> Tally:
        beside = (False, True) if disturbed is None else (disturbed,)
        passed, failed = (sum(self._told[prefix, test, how, bad] for how in beside) for bad in (False, True))
        return Tally(n=passed + failed, failed=failed)

    def tallies_along(self, order: Order, test: NodeId) -> dict[int, Tally]:
        """Passes and failures of `test` right after the first tests of `order`, by how many, where it was seen."""
        found: dict[int, Tally] = {}
        prefix = _EMPTY
        for place in range(len(order) + 1):
            seen = self._told_after(prefix, test)
            if seen.n:
                found[place] = seen
            if place < len(order):
                prefix = hash((prefix, order[place]))
        return found

    def short_prefixes(self, test: NodeId) -> list[Order]:
        """The few-test prefixes after which it was seen, most often seen first."""
        found = self._short.get(test, ())
        return sorted(found, key=lambda prefix: (-self.tally_after(prefix, test).n, len(prefix), prefix))

    def failures_of(self, test: NodeId) -> list[Sighting]:
        """Every failure of `test`, oldest first."""
        return self._failures.get(test, [])

    def ever_failed(self) -> Iterator[NodeId]:
        """The tests that failed at least once, in the original order."""
        return (test.id for test in self.suite.tests if test.id in self._failures)

    def first_pass_of(self, test: NodeId) -> Sighting | None:
        """The first time it passed, None when it never did."""
        return self._first_pass.get(test)

    def last_forked_pass_s(self, test: NodeId) -> float | None:
        """When the latest forked run started in which it passed; None when it never did."""
        return self._last_forked_pass_s.get(test)

    def mentions_of(self, test: NodeId) -> int:
        """How often any run's order named it, whether it ran or not; grows with every new fact about it."""
        return self._touched[test]

    def runs_of(self, order: Order, isolation: Isolation | None = None, *, disturbed: bool | None = None) -> int:
        """How many runs had exactly this order."""
        value = chain(order)
        return sum(
            self._orders[value, how, beside]
            for how in Isolation
            for beside in (False, True)
            if isolation in (None, how) and disturbed in (None, beside)
        )


_EMPTY = hash(())


def tally_of(sightings: Iterable[Sighting]) -> Tally:
    """Passes and failures among some executions."""
    told = [s.outcome.is_failure for s in sightings if s.outcome.is_failure or s.outcome.is_pass]
    return Tally(n=len(told), failed=sum(told))


def chain(prefix: Sequence[NodeId]) -> int:
    """A number for an order's prefix that can be grown one test at a time."""
    value = _EMPTY
    for test in prefix:
        value = hash((value, test))
    return value


def setting_at(record: RunRecord, place: int, *, again: bool) -> Setting:
    """What the execution at `place` counts as.

    A second execution in one process is a repetition. Alone is a test that nothing precedes and nothing
    follows: the teardown of a class or module runs with the last test that needs it, so a test that passes
    before others may fail by itself. A repetition that passed had that teardown too. A probe stays one, even
    of a single test: it may repeat a seed that is known to fail, and must not count into a rate.
    """
    if again:
        return Setting.REPEATED
    if (
        place == 0
        and record.setting in (Setting.ALONE, Setting.REPEATED, Setting.SHUFFLED)
        and is_whole(record, place)
    ):
        return Setting.ALONE
    if record.setting in (Setting.ALONE, Setting.REPEATED):
        return Setting.PROBE
    return record.setting


def is_whole(record: RunRecord, place: int) -> bool:
    """Whether the execution would have ended the same had it been the last of its process."""
    if place == len(record.order) - 1 or record.outcomes[place].is_failure:
        return True
    rest = record.order[place + 1 :]
    return len(rest) == 1 and rest[0] == record.order[place] and record.outcomes[-1].is_pass
