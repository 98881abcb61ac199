"""Reruns a failed test in its own process, hidden from other plugins and from the user's results."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from _pytest.runner import runtestprotocol

from flakehound_inside.items import tear_down_for
from flakehound_inside.triage.fresh_item import FailedFixtures
from flakehound_inside.triage.journal import Attempt, attempt_of
from flakehound_inside.triage.leftovers import removed_leftovers

if TYPE_CHECKING:
    import logging
    from typing import Iterator

    from flakehound_inside.triage.facts import FailureFacts, RerunFacts
    from flakehound_inside.triage.fresh_item import FailedItem
    from flakehound_inside.triage.journal import SessionJournal
    from flakehound_inside.triage.options import PluginOptions
    from flakehound_inside.triage.random_generators import RandomGenerators, Snapshot


class RerunCandidate:
    """A failed test that can be run again."""

    def __init__(
        self,
        failure: FailureFacts,
        failed_item: FailedItem,
        random_state: Snapshot | None,
        *,
        failed_in_teardown: bool,
    ) -> None:
        self.failure = failure
        self.failed_item = failed_item
        self.random_state = random_state  # before the failure; None: it cannot be repeated here
        # The teardown of a module or the session may have failed; then a rerun has to tear down as much.
        self.failed_in_teardown = failed_in_teardown
        self.passed = False
        self.seeds_used = 0


class Rerunner:
    """Makes the reruns of one pytest session."""

    def __init__(
        self,
        session: pytest.Session,
        options: PluginOptions,
        generators: RandomGenerators,
        journal: SessionJournal,
        seed: int,
    ) -> None:
        self._session = session
        self._options = options
        self._generators = generators
        self._journal = journal
        self._seed = seed  # the seeds of reruns count up from it
        self._protocol = _Protocol(session.config.pluginmanager)

    def exclude_wrapper(self, plugin: object) -> None:
        """Exclude a plugin that wraps the user's runs of a test and must not wrap our reruns."""
        self._protocol.excluded = plugin

    def rerun_immediately(self, candidate: RerunCandidate, nextitem: pytest.Item | None) -> None:
        """Make the immediate reruns, then restore the state from before them."""
        if not self._options.immediate:
            return
        fixtures = FailedFixtures(candidate.failed_item)
        with contextlib.ExitStack() as cleanup:  # last one first, each even if another fails
            cleanup.enter_context(removed_leftovers(self._session.config))
            cleanup.callback(self._generators.restore, self._generators.snapshot())
            cleanup.callback(fixtures.restore)
            cleanup.callback(self._tear_down, nextitem)
            fixtures.forget()
            self._rerun(candidate, "immediate", self._options.immediate, nextitem)

    @contextlib.contextmanager
    def postponed_reruns(self) -> Iterator[None]:
        """The block in which postponed reruns are made; at its end the state from before them is restored."""
        with contextlib.ExitStack() as cleanup:
            cleanup.enter_context(removed_leftovers(self._session.config))
            cleanup.callback(self._generators.restore, self._generators.snapshot())
            cleanup.callback(self._tear_down, None)
            yield

    def rerun_postponed(self, candidate: RerunCandidate) -> None:
        """Make the postponed reruns of one test, within `postponed_reruns`."""
        if not self._options.postponed:
            return
        self._tear_down(candidate.failed_item.fresh_item())
        FailedFixtures(candidate.failed_item).forget()
        self._rerun(candidate, "postponed", self._options.postponed, None)

    def _rerun(self, candidate: RerunCandidate, stage: str, times: int, nextitem: pytest.Item | None) -> None:
        for _time in range(times):
            candidate.seeds_used += 1
            seed = (self._seed + candidate.seeds_used) % 2**32
            with self._generators.seeded(seed):
                attempt = self._run_once(candidate, nextitem)
            candidate.failure["reruns"].append(_rerun_facts(stage, attempt, seed))
            if attempt.passed:
                candidate.passed = True
                self._repeat_random_state(candidate, stage, nextitem)
                return

    def _repeat_random_state(self, candidate: RerunCandidate, stage: str, nextitem: pytest.Item | None) -> None:
        """Run it once more with the random state of the failure, to see whether that decides the outcome."""
        if candidate.random_state is None:
            return
        self._generators.restore(candidate.random_state)
        facts = _rerun_facts(stage, self._run_once(candidate, nextitem), None)
        facts["same_state"] = True
        candidate.failure["reruns"].append(facts)

    def _run_once(self, candidate: RerunCandidate, nextitem: pytest.Item | None) -> Attempt:
        reports: list[pytest.TestReport] = []
        fresh = candidate.failed_item.fresh_item(reports.append)
        # With another fresh item as the next test, fixtures of the module and the class stay set up.
        next_fresh_item = candidate.failed_item.fresh_item()
        try:
            with silence_logs(self._session.config):
                reports.extend(
                    self._protocol.run(fresh, nextitem if candidate.failed_in_teardown else next_fresh_item)
                )
        except pytest.exit.Exception as error:  # a rerun must not end the user's run
            return Attempt("F", {"exception": "pytest.exit", "message": "pytest.exit: %s" % error.msg})
        finally:
            self._tear_down(next_fresh_item)
        return attempt_of(reports)

    def _tear_down(self, nextitem: pytest.Item | None) -> None:
        # An error here comes from a fixture that a rerun has set up; the test's own failure was reported before.
        for _try in range(2):  # after a finalizer that raises SystemExit, the rest is still set up
            try:
                tear_down_for(self._session, nextitem)
            except KeyboardInterrupt:  # noqa: PERF203
                raise
            except BaseException as error:
                self._journal.note("a fixture raised %s when a rerun's setup was torn down" % type(error).__name__)
            else:
                return


def _rerun_facts(stage: str, attempt: Attempt, seed: int | None) -> RerunFacts:
    return {
        "stage": stage,
        "outcome": attempt.letter,
        "seed": seed,
        "message": attempt.message,
        "exception": attempt.exception,
        "text": attempt.text,
    }


class _Protocol:
    """Runs one test as pytest does, with the wrappers of every plugin, but without their reruns and reports."""

    def __init__(self, manager: pytest.PytestPluginManager) -> None:
        self._manager = manager
        self.excluded: object = None
        self._item: pytest.Item | None = None
        self._reports: list[pytest.TestReport] = []

    def run(self, item: pytest.Item, nextitem: pytest.Item | None) -> list[pytest.TestReport]:
        """Run the item and return its reports."""
        if not self._manager.is_registered(self):
            self._manager.register(self, "flakehound-rerun")
        self._item, self._reports = item, []
        try:
            call = self._manager.subset_hook_caller("pytest_runtest_protocol", self._excluded_plugins())
            call(item=item, nextitem=nextitem)
        finally:
            self._item = None
        return self._reports

    def _excluded_plugins(self) -> list[object]:
        """The plugins that run tests themselves, and our listener; those that wrap a run stay."""
        hook = self._manager.hook.pytest_runtest_protocol
        return [
            implementation.plugin
            for implementation in hook.get_hookimpls()
            if implementation.plugin is not self
            and (not _wraps(implementation) or implementation.plugin is self.excluded)
        ]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run the item that is rerun like pytest, but without logging its reports."""
        if item is not self._item:
            return None
        self._reports = runtestprotocol(item, log=False, nextitem=nextitem)
        return True


def _wraps(implementation: object) -> bool:
    return bool(getattr(implementation, "hookwrapper", False) or getattr(implementation, "wrapper", False))


@contextlib.contextmanager
def silence_logs(config: pytest.Config) -> Iterator[None]:
    """Within the block, suppress live logs, lines in the log file, and the output of --setup-show."""
    handlers = _log_handlers(config)
    shows_setup = getattr(config.option, "setupshow", False)
    for handler in handlers:
        handler.addFilter(_reject)
    config.option.setupshow = False
    try:
        yield
    finally:
        config.option.setupshow = shows_setup
        for handler in handlers:
            handler.removeFilter(_reject)


def _reject(_record: logging.LogRecord) -> bool:
    return False


def _log_handlers(config: pytest.Config) -> list[logging.Handler]:
    plugin = config.pluginmanager.getplugin("logging-plugin")
    handlers = (getattr(plugin, name, None) for name in ("log_cli_handler", "log_file_handler"))
    return [handler for handler in handlers if handler is not None]
