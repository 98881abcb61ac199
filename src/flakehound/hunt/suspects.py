"""The tests that have failed, and what is known about each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Setting
from flakehound.hunt import limits
from flakehound.hunt.diagnosis.diagnose import diagnose
from flakehound.hunt.diagnosis.findings import Finding
from flakehound.hunt.diagnosis.suspect import Suspect
from flakehound.hunt.options import SearchOptions
from flakehound.hunt.original_order import OriginalOrder
from flakehound.hunt.shared_state import SharedState

PROCESS_ENDING = (Outcome.CRASHED, Outcome.TIMED_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CachedFinding:
    """A finding, and how many runs named its test when it was made."""

    mentions: int
    finding: Finding


class Suspects:
    """The findings about every test that ever failed; caches only what the history could say again."""

    def __init__(self, history: History, options: SearchOptions) -> None:
        self._history = history
        self._options = options
        self._process_enders: frozenset[NodeId] = frozenset()
        self._cache: dict[NodeId, _CachedFinding] = {}
        self._shared_state = SharedState(history)
        self.test_order = OriginalOrder(history)
        self.under_load: tuple[NodeId, ...] = ()  # tests that seem to fail only beside other runs, as of now

    def findings(self) -> list[Finding]:
        """What is known about every test that ever failed."""
        return [self._finding(test) for test in self._history.ever_failed()]

    def update(self) -> None:
        """Take into account which tests end their process or seem to fail under load by now."""
        self._update_test_order()
        self._update_under_load()

    def keep(self, completed: Iterable[Finding]) -> None:
        """Replace findings by more complete ones, until there are new runs of their tests."""
        for finding in completed:
            mentions = self._history.mentions_of(finding.test)
            self._cache[finding.test] = _CachedFinding(mentions=mentions, finding=finding)

    def _finding(self, test: NodeId) -> Finding:
        mentions = self._history.mentions_of(test)
        cached = self._cache.get(test)
        if cached is not None and cached.mentions == mentions:
            return cached.finding
        suspect = Suspect(
            test=test,
            history=self._history,
            test_order=self.test_order,
            isolation=self._options.isolation,
            known_polluters=self._known_polluters(test),
            width=min(limits.MAX_QUESTIONS_AT_ONCE, self._options.jobs),
            snapshots=self._options.snapshots,
            patient=test not in self.under_load[limits.MAX_LOAD_CASES :],
        )
        finding = self._left_to_model(diagnose(suspect))
        self._cache[test] = _CachedFinding(mentions=mentions, finding=finding)
        return finding

    def _left_to_model(self, finding: Finding) -> Finding:
        """CANNIER's classification: no runs are made to prove a kind that a model is sure of."""
        test, kind = finding.test, self._options.candidates.assumed_kinds.get(finding.test)
        original = self._history.tally(test, Setting.ORIGINAL)
        in_its_domain = original.passed and self._history.tally(test, Setting.SHUFFLED).failed
        if kind is None or not in_its_domain or not finding.wanted:
            return finding
        words = f"the model takes it for a {kind}; no runs were made to prove it"
        return replace(finding, wanted=(), evidence=(*finding.evidence, words))

    def _known_polluters(self, test: NodeId) -> list[NodeId]:
        """Tests whose changes it can have seen, then polluters of others: one polluter often has many victims."""
        found = Counter(
            culprit
            for other, cached in self._cache.items()
            if other != test
            for culprit in cached.finding.culprits
        )
        frequent = [culprit for culprit, _times in found.most_common(limits.MAX_KNOWN_POLLUTERS)]
        return list(dict.fromkeys([*self._shared_state.few_possible_polluters(test), *frequent]))

    def _update_under_load(self) -> None:
        """Tests that share a port, or measure times, fail beside others."""
        seen = tuple(finding.test for finding in self.findings() if finding.seems_load)
        for test in {*seen, *self.under_load} if seen != self.under_load else ():
            self._cache.pop(test, None)  # how patiently it is examined may have changed
        self.under_load = seen

    def _update_test_order(self) -> None:
        """Tests that ended a whole run are examined alone; in an order they would hide what follows."""
        enders = frozenset(
            test
            for test in self._history.ever_failed()
            if any(s.outcome in PROCESS_ENDING for s in self._history.failures_of(test))
        )
        if enders != self._process_enders:
            self._process_enders = enders
            self.test_order = OriginalOrder(self._history, enders)
