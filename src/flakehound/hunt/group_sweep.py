"""The runs of whole groups of a long suite: each group in one process, then every case in a copy of it.

A case is a suspect that needs such runs, or a proven victim or brittle test: further polluters of it may be in
groups that run anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count

from flakehound.core.costs import SUITE_TIME_REFRESH_FACTOR
from flakehound.core.failure_signatures import signature_of
from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order, RunPlan, Setting, SharedPrefix, SingleRun
from flakehound.hunt import long_limits
from flakehound.hunt.diagnosis.findings import Finding
from flakehound.hunt.group_runs import GroupRuns

_WHY_CASES = "which group of tests decides about the suspects?"
_WHY_GROUP = "a group of tests in one process, short tests twice"


class GroupSweep:
    """Plans the runs of groups; short tests of a group run twice in its first run: shows non-idempotent ones."""

    def __init__(
        self,
        history: History,
        runs: Callable[[], GroupRuns],
        findings: Callable[[], Sequence[Finding]],
        *,
        copies_processes: bool = True,
        doubtful: Sequence[NodeId] = (),
    ) -> None:
        self._history = history
        self._current_runs = runs  # a function, because tests that end their process are removed from groups
        self._findings = findings
        self._copies_processes = copies_processes
        self._doubtful = doubtful  # failed in runs that are no evidence
        self._repeatable = {test.id for test in history.suite.tests if test.repeatable}
        self._max_repeated_s: tuple[int, float] = (0, 0.0)  # number of records when it was computed, seconds

    @property
    def _runs(self) -> GroupRuns:
        runs = self._current_runs()
        runs.update()
        return runs

    def plans_for_suspects(self, max_groups: int) -> list[RunPlan]:
        """Runs of the first few groups after which suspects have to run."""
        findings = self._findings()
        served = self._served_now([finding for finding in findings if finding.needed_groups])
        groups = self._runs.groups.groups
        needed = {number for finding in served for number in finding.needed_groups if number < len(groups)}
        # New groups first: they may show further suspects, with which the others run again together.
        numbers = sorted(needed, key=lambda number: (self._runs.was_swept(number), number))[:max_groups]
        proven = (finding.test for finding in findings if finding.culprits)
        cases = [*(finding.test for finding in served), *self._doubtful_cases(), *proven]
        return [plan for number in numbers for plan in self._plans_after(number, cases)]

    def plans_of_new_group(self, number: int) -> list[RunPlan]:
        """A run of this group, with all proven cases, if it has not run in a process of its own yet."""
        if self._runs.was_swept(number):
            return []
        cases = [*self._doubtful_cases(), *(f.test for f in self._findings() if f.culprits)]
        plans = list(self._plans_after(number, cases))
        return plans or [SingleRun(order=self._first_order(number), why=_WHY_GROUP, setting=Setting.PROBE)]

    def plans_for_proven(self) -> Iterator[RunPlan]:
        """Runs of the groups after which a proven victim or brittle test has not run yet."""
        cases = [finding.test for finding in self._findings() if finding.culprits]
        for number in count():
            if number >= len(self._runs.groups.groups):  # they may become fewer meanwhile
                return
            yield from list(self._plans_after(number, cases))

    def _served_now(self, findings: Sequence[Finding]) -> list[Finding]:
        """The suspects that take part now, as many as add no more than the time of the suite.

        Suspects with another failure, or in another file, first: those that look alike often share a polluter,
        which is tried on the others once it is known. So these may add only a part of that time.
        """
        costs, groups = self._history.costs, self._runs.groups.groups
        allowed_s = costs.tests_s(self._history.suite.order) if findings else 0.0
        allowed_alike_s = long_limits.MAX_ALIKE_SHARE * allowed_s
        alike: dict[tuple[str, str], int] = {}
        ranked = []
        for place, finding in enumerate(findings):
            look = self._look_of_failure(finding.test)
            alike[look] = alike.get(look, 0) + 1
            ranked.append((alike[look], place, finding))
        served: list[Finding] = []
        for rank, _place, finding in sorted(ranked, key=lambda item: item[:2]):
            cost_s = len(groups) * costs.run_s((finding.test,), Isolation.FORK)
            allowed_s -= cost_s
            allowed_alike_s -= cost_s if rank > long_limits.MAX_ALIKE_SUSPECTS else 0.0
            if served and min(allowed_s, allowed_alike_s) < 0:
                break
            served.append(finding)
        return served

    def _doubtful_cases(self) -> list[NodeId]:
        """The tests that failed, but not as evidence; as many as add a share of the suite's time."""
        costs, groups = self._history.costs, self._runs.groups
        suite_s = costs.tests_s(self._history.suite.order) if self._doubtful else 0.0
        allowed_s = long_limits.MAX_DOUBTFUL_SHARE * suite_s
        cases: list[NodeId] = []
        for test in self._doubtful:
            allowed_s -= len(groups.groups) * costs.run_s((test,), Isolation.FORK)
            if cases and allowed_s < 0:
                break
            if test in groups.number_of and not self._history.failures_of(test):
                cases.append(test)
        return cases

    def _look_of_failure(self, test: NodeId) -> tuple[str, str]:
        """The file of a test and the signature of its first failure."""
        first = self._history.failures_of(test)[0]
        failure = first.record.failures.get(first.position)
        return test.partition("::")[0], signature_of(failure) if failure else ""

    def _plans_after(self, number: int, cases: Sequence[NodeId]) -> Iterator[RunPlan]:
        runs = self._runs
        unseen = [test for test in dict.fromkeys(cases) if runs.is_unseen(number, test)]
        members = [test for test in unseen if runs.groups.number_of.get(test) == number]
        others = [test for test in unseen if test not in members]
        if others:
            yield self._plan_after_group(number, others)
        for test in members:
            yield SingleRun(order=runs.order_after(number, test), why=_WHY_CASES, setting=Setting.PROBE)

    def _plan_after_group(self, number: int, cases: Sequence[NodeId]) -> RunPlan:
        """The group, then each case in a copy of its process, or one after another where there are no copies."""
        is_new = not self._runs.was_swept(number)
        prefix = self._first_order(number) if is_new else self._runs.groups.groups[number]
        if self._copies_processes:
            continuations = tuple((test,) for test in cases)
            why, setting = _WHY_CASES, Setting.PROBE
            return SharedPrefix(
                prefix=prefix, continuations=continuations, may_chain=True, why=why, setting=setting
            )
        # Another sequence after each group, because the first cases may have an effect on the later ones.
        chain = [*cases[number % len(cases) :], *cases[: number % len(cases)]]
        order = (*prefix, *chain[: long_limits.MAX_CHAINED_SUSPECTS])
        return SingleRun(order=order, why=_WHY_CASES, setting=Setting.PROBE)

    def _first_order(self, number: int) -> Order:
        """The group's tests, the short ones twice in a row."""
        costs, max_s = self._history.costs, self._longest_repeated_s()
        order: list[NodeId] = []
        for test in self._runs.groups.groups[number]:
            is_repeated = test in self._repeatable and costs.test_s(test) <= max_s
            order += [test] * (2 if is_repeated else 1)
        return tuple(order)

    def _longest_repeated_s(self) -> float:
        """The time up to which tests are repeated: all of these together take a share of the suite's time."""
        records, longest_s = self._max_repeated_s
        if len(self._history.records) >= SUITE_TIME_REFRESH_FACTOR * records:
            costs = self._history.costs
            left_s = long_limits.MAX_REPEATED_SHARE * costs.tests_s(self._history.suite.order)
            longest_s = 0.0
            for seconds in sorted(map(costs.test_s, self._history.suite.order)):
                left_s -= seconds
                if left_s < 0:
                    break
                longest_s = seconds
            self._max_repeated_s = (len(self._history.records), longest_s)
        return longest_s
