"""The triage of one pytest session: detects and reruns failures, asks the controller, shows its answer."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from flakehound_inside.triage.git_state import GitState
from flakehound_inside.triage.journal import SessionJournal
from flakehound_inside.triage.own_errors import OwnErrors
from flakehound_inside.triage.random_generators import RandomGenerators

if TYPE_CHECKING:
    from typing import Any, Generator

    from _pytest.terminal import TerminalReporter

    from flakehound_inside.triage.failed_tests import FailedTests
    from flakehound_inside.triage.listener import FailureListener
    from flakehound_inside.triage.options import PluginOptions
    from flakehound_inside.triage.output.terminal import TriageOutput
    from flakehound_inside.triage.tolerance import Tolerance
    from flakehound_inside.triage.xdist import XdistWorkers

_SESSION_TIMEOUT = "session-timeout"  # how the reason of pytest-timeout begins


class TriageSession:
    """The plugin that `--flakehound` registers; in a worker of pytest-xdist it only listens and reruns."""

    def __init__(self, config: pytest.Config, options: PluginOptions) -> None:
        self._config = config
        self._options = options
        self._own_errors = OwnErrors(config)
        self._generators = RandomGenerators(config)
        self._worker_input: dict[str, Any] | None = getattr(config, "workerinput", None)
        self._seed = self._first_seed()
        self._started_s = time.time()
        # Copied before the first test, because tests may change the environment.
        self._environment = dict(os.environ)
        self._git_state = GitState()
        self._journals: list[SessionJournal] = []
        self._listener: FailureListener | None = None
        self._workers: XdistWorkers | None = None
        self._has_ended = False  # all tests ran, or -x ended them
        self._was_interrupted = False
        self._output: TriageOutput | None = None  # None: nothing to show
        self._tolerance: Tolerance | None = None  # None: not requested
        if self._worker_input is None and getattr(config.option, "dist", "no") != "no":
            from flakehound_inside.triage.xdist import XdistWorkers

            self._workers = XdistWorkers(self._own_errors, self._seed)
            config.pluginmanager.register(self._workers, "flakehound-workers")

    def __dir__(self) -> list[str]:
        # pytest inspects every name of a plugin, several times.
        return [name for name in vars(type(self)) if name.startswith("pytest_")]

    def _first_seed(self) -> int:
        shared_seed = (self._worker_input or {}).get("flakehound", {}).get("seed")
        user_seed = self._config.getoption("--flakehound-seed", None)
        if shared_seed is None and user_seed is None:
            return int.from_bytes(os.urandom(4), "big")
        return int(user_seed if shared_seed is None else shared_seed)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Start git, so that it runs while pytest collects; a passing run needs its output at the end."""
        if self._worker_input is None:
            with self._own_errors:
                self._git_state.start(str(self._config.rootpath), self._environment)

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, None]:
        """Listen while the tests run, and rerun after the last one has ended."""
        with self._own_errors:
            self._git_state.read()
            if not self._config.pluginmanager.hasplugin("dsession"):
                self._listen(session)
        outcome = yield
        with self._own_errors:
            self._has_ended = _has_ended(session, outcome.excinfo)
            self._guard_exit_status(session)
            failed_tests = self._listener.failed_tests if self._listener is not None else None
            if failed_tests is not None and self._has_ended and not self._own_errors.occurred:
                self._rerun_postponed(session, failed_tests)
            if self._worker_input is not None and not self._own_errors.occurred:
                self._send_to_controller()

    def _listen(self, session: pytest.Session) -> None:
        from flakehound_inside.triage.listener import listener_class, reports_of

        self._generators.prepare(len(session.items))
        journal = SessionJournal(str((self._worker_input or {}).get("workerid", "")))
        self._journals = [journal]
        self._listener = listener_class()(
            self._own_errors,
            journal,
            self._generators,
            reports_of(session, self._own_errors),
            lambda listener: self._make_failed_tests(session, journal, listener),
        )
        # Not earlier, because the plugin that is registered last wraps all others.
        self._config.pluginmanager.register(self._listener, "flakehound-listener")

    def _make_failed_tests(
        self, session: pytest.Session, journal: SessionJournal, listener: FailureListener
    ) -> FailedTests:
        from flakehound_inside.triage.failed_tests import FailedTests
        from flakehound_inside.triage.rerun import Rerunner
        from flakehound_inside.triage.threshold import Threshold

        shared_file = (self._worker_input or {}).get("flakehound", {}).get("tally")
        threshold = Threshold(self._options, len(session.items), shared_file)
        rerunner = Rerunner(session, self._options, self._generators, journal, self._seed)
        rerunner.exclude_wrapper(listener)
        return FailedTests(journal, self._generators, threshold, rerunner)

    def _guard_exit_status(self, session: pytest.Session) -> None:
        if self._options.tolerate and session.testsfailed and self._worker_input is None:
            from flakehound_inside.triage.tolerance import Tolerance

            self._tolerance = Tolerance(self._own_errors)
            self._config.pluginmanager.register(self._tolerance, "flakehound-tolerance")

    def _rerun_postponed(self, session: pytest.Session, failed_tests: FailedTests) -> None:
        if str(session.shouldfail).startswith(_SESSION_TIMEOUT):
            self._journals[0].not_rerun = "the time of the whole run is up: nothing was rerun at its end"
            return
        try:
            failed_tests.rerun_postponed()
        except KeyboardInterrupt:  # every test has run; only our reruns are interrupted
            self._was_interrupted = True

    def _send_to_controller(self) -> None:
        from flakehound_inside.isolated_os import isolated_os

        if self._journals and any(self._journals[0].worker_facts().values()):
            output: dict[str, Any] = self._config.workeroutput  # type: ignore[attr-defined]
            # As ASCII, because execnet cannot send lone surrogates.
            output["flakehound"] = isolated_os.dumps(self._journals[0].worker_facts())

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """After all other plugins have finished, ask for verdicts on failures, or save a passing run."""
        with self._own_errors:
            self._git_state.discard()
        if self._worker_input is not None or self._own_errors.occurred or not self._has_ended:
            return
        with self._own_errors:
            if self._listener is None and self._workers is not None:
                self._journals = self._workers.journals()
            if any(journal.failures for journal in self._journals):
                self._judge(session)
            elif any(journal.order for journal in self._journals):
                self._save_green_run()

    def _save_green_run(self) -> None:
        from flakehound_inside.triage.pending_runs import PendingRuns

        pending_runs = PendingRuns(self._config, self._options.store, self._started_s)
        try:
            pending_runs.add(self._journals, self._seed, self._git_state.facts())
        except OSError:  # a read-only checkout must not disturb the user
            return

    def _judge(self, session: pytest.Session) -> None:
        from flakehound_inside.triage import controller
        from flakehound_inside.triage.output.terminal import TriageOutput

        facts = controller.facts_of(session, self._options, self._seed, self._journals)
        self._output = TriageOutput(self._config, facts, self._journals)
        if self._was_interrupted:
            self._output.set_interrupted()
            return
        try:
            # The workers of pytest-xdist do not have the flags of this interpreter.
            flags = controller.variables_of_interpreter() if self._workers is None else {}
            asked = controller.Controller({**self._environment, **flags}, facts["cwd"])
            answer = asked.ask(facts, self._output.progress.show)
        except controller.Interrupted:
            self._output.set_interrupted()
        except controller.NoAnswer as reason:
            self._own_errors.warn("flakehound could not judge the failures: %s" % reason)
        else:
            self._output.set_answer(answer, self._environment)
            if self._tolerance is not None:
                report_counter = self._listener or self._workers
                failed_reports = report_counter.failed_reports if report_counter is not None else 0
                self._output.tolerate(self._tolerance, session, answer, failed_reports)
        finally:
            self._output.progress.end()

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        """Print the verdicts between pytest's failures and its short summary."""
        if self._output is not None:
            with self._own_errors:
                self._output.print(terminalreporter)


def _has_ended(session: pytest.Session, error_info: Any) -> bool:
    """Whether all tests ran, or -x or a plugin stopped them in the usual way."""
    if error_info is None:
        return True
    error = error_info[1]
    if isinstance(error, (session.Failed, session.Interrupted)):
        return True
    # pytest-xdist raises its own exception, also if the user interrupted a worker.
    return type(error).__name__ == "Interrupted" and "keyboard-interrupt" not in str(error)
