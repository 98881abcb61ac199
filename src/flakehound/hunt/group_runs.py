"""How tests ended after each group of the suite, by the runs made so far."""

from __future__ import annotations

from collections import defaultdict

from flakehound.core.history import History, Tally
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Order
from flakehound.core.records import RunRecord
from flakehound.hunt import limits, long_limits
from flakehound.hunt.suite_groups import SuiteGroups

_NO_RUNS = Tally()
_NO_GROUPS: dict[int, Tally] = {}


class GroupRuns:
    """Reads the history; a group counts whether its tests ran once or some of them twice.

    Where processes cannot be copied, several suspects run one after another behind the group: a hint, which the
    diagnosis confirms.
    """

    def __init__(self, history: History, groups: SuiteGroups) -> None:
        self._history = history
        self.groups = groups
        self._records_read = 0
        self._tallies: dict[NodeId, dict[int, Tally]] = defaultdict(dict)
        self._runs: dict[tuple[int, NodeId], int] = defaultdict(int)
        self._swept: set[int] = set()
        self._group_by_first_tests: dict[NodeId, int] = {}
        for number, group in enumerate(groups.groups):
            for test in group[:2]:  # the first test may be the one that runs after the others
                self._group_by_first_tests[test] = number

    def update(self) -> None:
        """Read the new records."""
        new_records = self._history.records[self._records_read :]
        self._records_read += len(new_records)
        max_tests = 2 * self.groups.max_size + long_limits.MAX_CHAINED_SUSPECTS
        for record in new_records:
            if 1 < len(record.order) <= max_tests:
                self._read(record)

    def _read(self, record: RunRecord) -> None:
        number = self._group_by_first_tests.get(record.order[0])
        if number is None:
            return
        group, test = self.groups.groups[number], record.order[-1]
        distinct = tuple(dict.fromkeys(record.order))
        if distinct[: len(group)] == group:
            self._swept.add(number)
            chain = distinct[len(group) :]
            outcomes = record.outcomes[len(record.outcomes) - len(chain) :]
            if record.order[len(record.order) - len(chain) :] == chain:
                for chained, outcome in zip(chain, outcomes, strict=True):
                    self._add(number, chained, outcome)
        if distinct[-1] == test and distinct[:-1] == self.groups.without(number, test) and test in group:
            self._swept.add(number)
            self._add(number, test, record.outcomes[-1])

    def _add(self, number: int, test: NodeId, outcome: Outcome) -> None:
        self._runs[number, test] += 1
        if outcome.is_failure or outcome.is_pass:
            known = self.tally(number, test)
            self._tallies[test][number] = known + Tally(n=1, failed=int(outcome.is_failure))

    def tally(self, number: int, test: NodeId) -> Tally:
        """Passes and failures of a test right after a group."""
        return self._tallies.get(test, _NO_GROUPS).get(number, _NO_RUNS)

    def is_unseen(self, number: int, test: NodeId) -> bool:
        """Whether the test should still run after the group: it never did, or had no outcome when it did."""
        runs = self._runs.get((number, test), 0)
        return runs <= limits.MAX_RUNS_WITHOUT_OUTCOME and not self.tally(number, test).n

    def was_swept(self, number: int) -> bool:
        """Whether the group has run in a process of its own."""
        return number in self._swept

    def order_after(self, number: int, test: NodeId) -> Order:
        """The group, without the test itself, and then the test."""
        return (*self.groups.without(number, test), test)
