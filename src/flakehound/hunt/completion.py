"""The last stage of a hunt: all polluters, state-setters and cleaners of the cases that are proven."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, RunPlan
from flakehound.hunt import limits
from flakehound.hunt.diagnosis.all_polluters import AllPolluters
from flakehound.hunt.diagnosis.findings import Finding
from flakehound.hunt.options import SearchOptions
from flakehound.hunt.search.long_suite import LongSuite
from flakehound.hunt.search.pairs import Pairs
from flakehound.hunt.suspects import Suspects


class CompletionStage:
    """The runs that complete the proven cases; starts again when the set of cases changes."""

    def __init__(
        self,
        history: History,
        options: SearchOptions,
        suspects: Suspects,
        time_left_s: Callable[[], float],
        long_suite: LongSuite,
    ) -> None:
        self._history = history
        self._options = options
        self._suspects = suspects
        self._time_left_s = time_left_s
        self._long_suite = long_suite
        self._plans: Iterator[RunPlan] | None = None
        self._has_pairs_in_groups = False
        self._pairs: Pairs | None = None  # of the cases in `_cases`
        self._cases: frozenset[NodeId] = frozenset()

    @property
    def has_begun(self) -> bool:
        """Whether there has been a proven case to complete."""
        return self._plans is not None or self._has_pairs_in_groups

    def next_plan(self) -> RunPlan | None:
        """The next run that looks for further polluters, state-setters or cleaners, or confirms one."""
        if self._options.isolation is Isolation.SPAWN:
            return None
        cases = frozenset(finding.test for finding in self._suspects.findings() if finding.culprits)
        if cases != self._cases:
            self._cases = cases
            self._begin()
        plan = next(self._plans, None) if self._plans is not None else None
        return plan or next(iter(self.confirmations()), None)

    def confirmations(self) -> list[RunPlan]:
        """Update the findings with what is confirmed, and return the runs that would confirm the rest."""
        unverified = [] if self._pairs is None else self._pairs.pairs_to_verify()
        completion = self._all_polluters().completion()
        self._suspects.replace_findings(completion.findings)
        return [*unverified, *completion.needed_runs]

    def completed_findings(self) -> list[Finding]:
        """The findings with every further polluter, state-setter and cleaner that is confirmed."""
        self._suspects.replace_findings(self._all_polluters().completion().findings)
        return self._suspects.findings()

    def plans_in_groups(self, max_plans: int) -> list[RunPlan]:
        """The next runs in groups of a long suite that contain a further polluter or state-setter."""
        if not self._long_suite.is_long:
            return []
        plans = list(islice(self._all_polluters().plans_in_groups(known_culprits=False), max_plans))
        self._has_pairs_in_groups |= bool(plans)
        return plans

    def _begin(self) -> None:
        polluters = self._all_polluters()
        if self._long_suite.is_long:
            self._plans = chain(
                self._long_suite.plans_for_proven(), polluters.plans_in_groups(known_culprits=True)
            )
            return
        self._pairs = polluters.pairs()
        pair_plans = self._pairs.exact_plans() if self._can_afford_exact_pairs() else self._pairs.chained_plans()
        self._plans = chain(pair_plans, polluters.cleaner_plans())

    def _can_afford_exact_pairs(self) -> bool:
        if self._options.pairs != "auto":
            return self._options.pairs == "exact"
        costs = self._history.costs
        each_s = costs.fork_s + sum(costs.run_s((test,), Isolation.FORK) for test in self._cases)
        needed_s = sum(costs.test_s(test) + each_s for test in self._suspects.test_order.tests)
        return needed_s <= limits.MAX_PAIRS_SHARE * self._time_left_s() * self._options.jobs

    def _all_polluters(self) -> AllPolluters:
        order = self._suspects.test_order.tests
        runs = self._suspects.group_runs if self._long_suite.is_long else None
        return AllPolluters(self._history, self._suspects.findings(), order, self._options.isolation, runs)
