"""The tests that have failed, and the finding about each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Isolation, Setting
from flakehound.hunt import limits
from flakehound.hunt.diagnosis.diagnose import diagnose
from flakehound.hunt.diagnosis.findings import Finding
from flakehound.hunt.diagnosis.suspect import Suspect
from flakehound.hunt.group_runs import GroupRuns
from flakehound.hunt.options import SearchOptions
from flakehound.hunt.original_order import OriginalOrder
from flakehound.hunt.shared_state import SharedState
from flakehound.hunt.suite_groups import SuiteGroups

_PROCESS_ENDING_OUTCOMES = (Outcome.CRASHED, Outcome.TIMED_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CachedFinding:
    """A finding, how many runs had named its test when it was made, and which polluters were known."""

    mentions: int
    frequent_polluters: tuple[NodeId, ...]
    finding: Finding


class Suspects:
    """The findings about every test that ever failed; caches only what can be derived again from the history."""

    def __init__(self, history: History, options: SearchOptions) -> None:
        self._history = history
        self._options = options
        self._process_ending_tests: frozenset[NodeId] = frozenset()
        self._frequent_polluters: tuple[NodeId, ...] = ()  # of the findings so far
        self._cache: dict[NodeId, _CachedFinding] = {}
        self._shared_state = SharedState(history)
        self.test_order = OriginalOrder(history)
        self.group_runs = GroupRuns(history, SuiteGroups(history.suite))
        self._can_share_runs = options.isolation is Isolation.FORK
        self.under_load: tuple[NodeId, ...] = ()  # tests that so far seem to fail only while others run
        self.likely_under_load = 0  # how many of them hardly by chance
        self._fork_artefacts: tuple[
            NodeId, ...
        ] = ()  # tests that so far differ between forks and new interpreters

    def runs_at_once(self, jobs: int) -> int:
        """How many runs may go on in parallel: fewer than `jobs` if several tests probably fail under load."""
        return max(1, jobs >> self.likely_under_load // limits.MAX_LOAD_CASES)

    def findings(self) -> list[Finding]:
        """The findings about every test that ever failed."""
        return [self._finding(test) for test in self._history.failed_tests()]

    def update(self) -> None:
        """Update which tests end their process and which seem to fail under load."""
        self.group_runs.update()
        self._update_frequent_polluters()
        self._update_test_order()
        self._update_under_load()
        self._fork_artefacts = tuple(f.test for f in self.findings() if f.seems_fork_artefact)

    def replace_findings(self, findings: Iterable[Finding]) -> None:
        """Replace findings by more complete ones; they are valid until there are new runs of their tests."""
        for finding in findings:
            mentions = self._history.mentions_of(finding.test)
            self._remember(finding, mentions)

    def _remember(self, finding: Finding, mentions: int) -> None:
        self._cache[finding.test] = _CachedFinding(
            mentions=mentions, frequent_polluters=self._frequent_polluters, finding=finding
        )

    def _finding(self, test: NodeId) -> Finding:
        mentions = self._history.mentions_of(test)
        cached = self._cache.get(test)
        if cached is not None and cached.mentions == mentions and not self._may_share_new_polluter(cached):
            return cached.finding
        suspect = Suspect(
            test=test,
            history=self._history,
            test_order=self.test_order,
            isolation=self._options.isolation,
            known_polluters=self._known_polluters(test),
            runs_at_once=min(limits.MAX_QUESTIONS_AT_ONCE, self._options.jobs),
            runs_beside_others=self.runs_at_once(self._options.jobs) > 1,
            snapshots=self._options.snapshots,
            examine_load=test not in self.under_load[limits.MAX_LOAD_CASES :],
            examine_processes=test not in self._fork_artefacts[limits.MAX_ARTEFACT_CASES :],
            group_runs=self.group_runs if self._can_share_runs else None,
            tests_that_run_alone=self._options.left_out_of_orders,
        )
        finding = self._without_runs_if_model_is_sure(diagnose(suspect))
        self._remember(finding, mentions)
        return finding

    def _may_share_new_polluter(self, cached: _CachedFinding) -> bool:
        """Whether a suspect still waits for long runs, and polluters of others became known since."""
        is_waiting = bool(cached.finding.needed_groups)
        return is_waiting and cached.frequent_polluters != self._frequent_polluters

    def _without_runs_if_model_is_sure(self, finding: Finding) -> Finding:
        """The finding without needed runs if a model of CANNIER is sure of its kind."""
        test, kind = finding.test, self._options.candidates.assumed_kinds.get(finding.test)
        original = self._history.tally(test, Setting.ORIGINAL)
        model_applies = original.passed and self._history.tally(test, Setting.SHUFFLED).failed
        if kind is None or not model_applies or finding.is_complete:
            return finding
        words = f"the model takes it for a {kind}; no runs were made to prove it"
        return replace(finding, needed_runs=(), needed_groups=(), evidence=(*finding.evidence, words))

    def _known_polluters(self, test: NodeId) -> list[NodeId]:
        """Tests that leave what this one may read, then polluters of others: many have several victims."""
        own = self._cache[test].finding.culprits if test in self._cache else ()
        frequent = [culprit for culprit in self._frequent_polluters if culprit not in own]
        return list(dict.fromkeys([*self._shared_state.few_possible_polluters(test), *frequent]))

    def _update_frequent_polluters(self) -> None:
        counts = Counter(culprit for cached in self._cache.values() for culprit in cached.finding.culprits)
        self._frequent_polluters = tuple(
            culprit for culprit, _times in counts.most_common(limits.MAX_KNOWN_POLLUTERS)
        )

    def _update_under_load(self) -> None:
        """Determine which tests seem to fail under load, such as those that share a port or measure times."""
        seem_under_load = [finding for finding in self.findings() if finding.seems_under_load]
        under_load = tuple(finding.test for finding in seem_under_load)
        self.likely_under_load = sum(
            finding.load_chance <= limits.MAX_CHANCE_OF_LIKELY_LOAD for finding in seem_under_load
        )
        for test in {*under_load, *self.under_load} if under_load != self.under_load else ():
            self._cache.pop(test, None)  # `examine_load` may have changed for it
        self.under_load = under_load

    def _update_test_order(self) -> None:
        """Exclude tests that ended a whole run: in an order they would hide the outcomes of all later tests."""
        process_ending_tests = frozenset(
            test
            for test in self._history.failed_tests()
            if any(s.outcome in _PROCESS_ENDING_OUTCOMES for s in self._history.failures_of(test))
        )
        if process_ending_tests != self._process_ending_tests:
            self._process_ending_tests = process_ending_tests
            self.test_order = OriginalOrder(self._history, process_ending_tests)
            self.group_runs = GroupRuns(self._history, SuiteGroups(self._history.suite, process_ending_tests))
            self.group_runs.update()
