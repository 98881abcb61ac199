"""Decide what runs next: suspects first, then the sweeps, then the completion of proven cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Isolation, RunPlan, Setting
from flakehound.core.verdicts import Kind
from flakehound.hunt import limits
from flakehound.hunt.diagnosis.all_polluters import Completion
from flakehound.hunt.diagnosis.diagnose import Inquiry
from flakehound.hunt.diagnosis.findings import Finding
from flakehound.hunt.options import INDEX, RERUN, SearchOptions
from flakehound.hunt.original_order import OriginalOrder
from flakehound.hunt.search.by_index import IndexedSweeps
from flakehound.hunt.search.pairs import Pairs
from flakehound.hunt.search.selected import SelectedSweeps
from flakehound.hunt.search.stages import Sweeps
from flakehound.hunt.shared_state import Sharing

COMPLETION_SHARE = 0.3  # of the time: kept for all polluters and cleaners of what is proven
ALIKE_S = 0.25  # runs whose cost differs by less keep their order
FEW_UNDER_LOAD = 3  # tests that seem to fail under load and are looked into; more mean fewer runs at once
PROCESS_ENDING = (Outcome.CRASHED, Outcome.TIMED_OUT)


class Agenda:
    """The hunt's plan of work. Caches only what the history could tell again."""

    def __init__(self, history: History, options: SearchOptions, time_left_s: Callable[[], float]) -> None:
        self._history = history
        self._options = options
        self._enders: frozenset[NodeId] = frozenset()
        self._test_order = OriginalOrder(history)
        by_policy = {INDEX: IndexedSweeps, RERUN: Sweeps}
        sweeps = by_policy.get(options.policy, SelectedSweeps)
        self._sweeps = sweeps(history, options, lambda: self._test_order)
        self._time_left_s = time_left_s
        self._sweep: Iterator[RunPlan] = self._sweeps.plans(time_left_s)
        self._swept = False
        self._exhausted = False
        self._completion_sweep: Iterator[RunPlan] | None = None
        self._pairs: Pairs | None = None  # of the cases that the completion is about
        self._completed_cases: frozenset[NodeId] = frozenset()
        self._time_at_start_s = time_left_s()
        self._cache: dict[NodeId, tuple[int, Finding]] = {}
        self._sharing = Sharing(history)
        self.under_load: tuple[NodeId, ...] = ()  # tests that seem to fail only beside other runs, as of now

    @property
    def stage(self) -> str:
        """What the hunt is doing, in a few words."""
        if self._completion_sweep is not None:
            return "completing"
        return "settling" if self._swept else "sweeping"

    @property
    def is_done(self) -> bool:
        """Whether every suspect is settled and no sweep that was due is missing."""
        due = self._exhausted or self._options.endless
        return due and not any(finding.wanted for finding in self.findings())

    @property
    def pairs_used(self) -> str:
        """Which form of PAIRWISE ran; empty when none did."""
        return self._sweeps.pairs_used

    @property
    def expected(self) -> float | None:
        """Detections that the time left is expected to buy; None where nobody asked, or before the first sweep."""
        return self._sweeps.expected

    @property
    def is_worthless(self) -> bool:
        """Whether the sweeps ended because nothing was to be expected of them any more."""
        return self._sweeps.ended_early

    def outlook(self, seconds: float) -> float | None:
        """Detections that so much time is expected to buy from now on; None where the policy has no idea."""
        return self._sweeps.outlook(seconds)

    def urgent(self) -> list[RunPlan]:
        """What the suspects need, each plan as often as it is needed in all."""
        self._notice_process_enders()
        self._notice_load()
        merged: Counter[object] = Counter()
        plans: list[RunPlan] = []
        for finding in self.findings():
            counts = Counter(plan.key for plan in finding.wanted)
            for plan in finding.wanted:
                if merged[plan.key] < counts[plan.key]:
                    merged[plan.key] += 1
                    plans.append(plan)
        if self._completion_sweep is not None:
            plans += self._doubtful() + self._completion().confirm()
        return self._in_good_time(plans)

    def _in_good_time(self, plans: list[RunPlan]) -> list[RunPlan]:
        """Cheap ones first; dear ones not before the first look at the suite, which shows what else there is."""
        costs = {plan.key: self._history.costs.plan_s(plan) for plan in plans}
        first = sorted(plans, key=lambda plan: costs[plan.key] // ALIKE_S)
        is_late = self._time_left_s() < limits.MIN_LEFT_SHARE_FOR_WAITING * self._time_at_start_s
        if not self._sweeps.at_first_look or is_late:
            return first
        return [plan for plan in first if costs[plan.key] <= limits.MAX_EARLY_RUN_SHARE * self._time_at_start_s]

    def next_sweep(self) -> RunPlan | None:
        """The next run that looks for trouble; None when everything worth doing is done."""
        plan = self._next_completion() if self._is_late() else None
        plan = plan or (None if self._swept else next(self._sweep, None))
        if plan is None:
            self._swept = True
            plan = self._next_completion()
            self._exhausted = plan is None
        return plan

    def _is_late(self) -> bool:
        return self._time_left_s() < COMPLETION_SHARE * self._time_at_start_s

    def _next_completion(self) -> RunPlan | None:
        if self._options.isolation is Isolation.SPAWN:
            return None
        if self._proven_cases() != self._completed_cases:
            self._completed_cases = self._proven_cases()
            completion = self._completion()
            self._pairs = completion.pairs()
            paired = self._pairs.exact() if self._affords_exact_pairs() else self._pairs.chained()
            self._completion_sweep = chain(paired, completion.cleaners())
        plan = next(self._completion_sweep, None) if self._completion_sweep is not None else None
        return plan or next(iter(self._doubtful() + self._completion().confirm()), None)

    def _doubtful(self) -> list[RunPlan]:
        return [] if self._pairs is None else self._pairs.doubtful()

    def _affords_exact_pairs(self) -> bool:
        if self._options.pairs != "auto":
            return self._options.pairs == "exact"
        tests, cases = self._test_order.tests, self._completed_cases
        costs = self._history.costs
        each_s = costs.fork_s + sum(costs.run_s((test,), Isolation.FORK) for test in cases)
        needed_s = sum(costs.test_s(test) + each_s for test in tests)
        return needed_s <= limits.MAX_PAIRS_SHARE * self._time_left_s() * self._options.jobs

    def _proven_cases(self) -> frozenset[NodeId]:
        return frozenset(finding.test for finding in self.findings() if finding.culprits)

    def findings(self) -> list[Finding]:
        """What is known about every test that ever failed."""
        return [self._finding(test) for test in self._history.ever_failed()]

    def _finding(self, test: NodeId) -> Finding:
        version = self._history.mentions_of(test)
        cached = self._cache.get(test)
        if cached is not None and cached[0] == version:
            return cached[1]
        inquiry = Inquiry(
            test,
            self._history,
            self._test_order,
            isolation=self._options.isolation,
            known=self._known_polluters(test),
            width=min(2, self._options.jobs),
            snapshots=self._options.snapshots,
            patient=test not in self.under_load[FEW_UNDER_LOAD:],
        )
        finding = inquiry.pursue()
        self._leave_to_model(finding)
        self._cache[test] = (version, finding)
        return finding

    def _leave_to_model(self, finding: Finding) -> None:
        """CANNIER's Classification: a kind that a model is sure of is not worth the runs that would prove it."""
        test, kind = finding.test, self._options.candidates.taken_for.get(finding.test)
        original = self._history.tally(test, Setting.ORIGINAL)
        in_its_domain = original.passed and self._history.tally(test, Setting.SHUFFLED).failed
        if kind is not None and in_its_domain and finding.wanted:
            finding.wanted.clear()
            finding.evidence.append(f"the model takes it for a {kind}; no runs were made to prove it")

    def _known_polluters(self, test: NodeId) -> list[NodeId]:
        """Tests whose changes it can have seen, then polluters of others: one polluter often has many victims."""
        found = Counter(
            culprit
            for other, (_v, finding) in self._cache.items()
            if other != test
            for culprit in finding.culprits
        )
        frequent = [culprit for culprit, _times in found.most_common(4)]
        return list(dict.fromkeys([*self._sharing.few_candidates(test), *frequent]))

    def runs_at_once(self, most: int) -> int:
        """Fewer than `most` while several tests seem to fail only because other runs go on beside them."""
        return max(1, most >> len(self.under_load) // FEW_UNDER_LOAD)

    def _notice_load(self) -> None:
        """Tests that share a port, or measure times, fail beside others."""
        seen = tuple(finding.test for finding in self.findings() if finding.seems_load)
        for test in {*seen, *self.under_load} if seen != self.under_load else ():
            self._cache.pop(test, None)  # how much it is looked into may have changed
        self.under_load = seen

    def _notice_process_enders(self) -> None:
        """Tests that took a whole run down are hunted alone; in an order they would hide what follows."""
        enders = frozenset(
            test
            for test in self._history.ever_failed()
            if any(s.outcome in PROCESS_ENDING for s in self._history.failures_of(test))
        )
        if enders != self._enders:
            self._enders = enders
            self._test_order = OriginalOrder(self._history, enders)

    def _completion(self) -> Completion:
        proven = [f for f in self.findings() if f.kind in (Kind.VICTIM, Kind.BRITTLE)]
        return Completion(self._history, proven, self._test_order.tests, self._options.isolation)

    def conclude(self) -> list[Finding]:
        """The findings as they stand, with every confirmed further polluter, setter and cleaner."""
        findings = self.findings()
        Completion(self._history, findings, self._test_order.tests, self._options.isolation).confirm()
        return findings
