"""Failed tests: an entry in the journal for each, immediate reruns, and reruns after the last test."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from flakehound_inside.items import is_repeatable
from flakehound_inside.triage.fresh_item import FailedItem, failed_collector, has_wider_fixtures
from flakehound_inside.triage.rerun import RerunCandidate

if TYPE_CHECKING:
    from typing import Any

    import pytest

    from flakehound_inside.triage.journal import Attempt, SessionJournal
    from flakehound_inside.triage.random_generators import RandomGenerators, Snapshot
    from flakehound_inside.triage.rerun import Rerunner
    from flakehound_inside.triage.threshold import Threshold


class StateBeforeTest:
    """The state before a failed test that its reruns need."""

    def __init__(
        self, random_state: Snapshot, collectors_set_up: int, doctest_names: dict[str, Any] | None
    ) -> None:
        self.random_state = random_state
        self.collectors_set_up = collectors_set_up
        self.doctest_names = doctest_names  # running a doctest clears them


class FailedTests:
    """The failed tests of one session."""

    def __init__(
        self, journal: SessionJournal, generators: RandomGenerators, threshold: Threshold, rerunner: Rerunner
    ) -> None:
        self._journal = journal
        self._generators = generators
        self._threshold = threshold
        self._rerunner = rerunner
        self._postponed_candidates: list[RerunCandidate] = []  # that have not passed in a rerun yet

    def add(
        self, item: pytest.Item, nextitem: pytest.Item | None, before: StateBeforeTest, attempt: Attempt
    ) -> None:
        """Add the failure of the test that ended last to the journal, and rerun the test immediately."""
        random_state = self._generators.as_json(before.random_state)
        failure = self._journal.add_failure(attempt, random_state, _first_line(item))
        self._threshold.count_failure()
        self._journal.not_rerun = self._threshold.reason
        if self._journal.not_rerun is not None:
            return
        reason = reason_against_rerun(item)
        if reason is not None:
            self._journal.note("%s was not rerun in its own process: %s" % (item.nodeid, reason))
            return
        # Wider fixtures that were set up for this test may have drawn random numbers, but not again in a rerun.
        is_repeatable_state = before.collectors_set_up >= len(item.listchain()) - 1 or not has_wider_fixtures(item)
        candidate = RerunCandidate(
            failure,
            FailedItem(item, before.doctest_names),
            before.random_state if is_repeatable_state else None,
            failed_in_teardown=attempt.failed_in_teardown,
        )
        self._rerun_immediately(candidate, nextitem)
        if not candidate.passed:
            self._postponed_candidates.append(candidate)

    def _rerun_immediately(self, candidate: RerunCandidate, nextitem: pytest.Item | None) -> None:
        reason = reason_to_postpone(candidate.failed_item.item)
        if reason is None:
            self._rerunner.rerun_immediately(candidate, nextitem)
        else:
            self._journal.note("%s was not rerun right after its failure: %s" % (candidate.failure["id"], reason))

    def rerun_postponed(self) -> None:
        """Make the postponed reruns, after the last test has ended."""
        self._threshold.read_others()
        self._journal.not_rerun = self._threshold.reason
        if self._journal.not_rerun is not None:
            return
        if self._postponed_candidates:
            with self._rerunner.postponed_reruns():
                for candidate in self._postponed_candidates:
                    self._rerunner.rerun_postponed(candidate)


def _first_line(item: pytest.Item) -> int:
    line = item.location[1]
    return 0 if line is None else line + 1


def reason_against_rerun(item: pytest.Item) -> str | None:
    """The reason not to rerun the item in this process at all; None if there is none."""
    option = item.config.option
    if getattr(option, "usepdb", False) or getattr(option, "trace", False):
        return "a debugger is in use"
    if getattr(option, "setuponly", False) or getattr(option, "setupplan", False):
        return "pytest only sets tests up"
    if not is_repeatable(item):
        return "pytest cannot run a %s twice" % type(item).__name__
    if _runs_in_a_fork(item):
        return "pytest-forked runs it in a process of its own"
    if _may_end_the_run(item):
        return "pytest-timeout, with its method thread, would end the whole run if a rerun took too long"
    return None


def reason_to_postpone(item: pytest.Item) -> str | None:
    """The reason not to rerun the item right after its failure, although it can be rerun later."""
    collector = failed_collector(item)
    return None if collector is None else "%s itself could not be set up" % collector


def _runs_in_a_fork(item: pytest.Item) -> bool:
    if _plugin(item, "pytest_forked") is None:
        return False
    return bool(getattr(item.config.option, "forked", False)) or item.get_closest_marker("forked") is not None


def _may_end_the_run(item: pytest.Item) -> bool:
    timeout_plugin = _plugin(item, "pytest_timeout")
    if timeout_plugin is None:
        return False
    try:
        settings = timeout_plugin._get_item_settings(item)
        return bool(settings.timeout and settings.timeout > 0 and settings.method == "thread")
    except Exception:  # another version of it
        return False


def _plugin(item: pytest.Item, module: str) -> Any:
    """The plugin in this module, if it is registered; its name as a plugin depends on how it was loaded."""
    plugin = sys.modules.get(module)
    return plugin if plugin is not None and item.config.pluginmanager.is_registered(plugin) else None
