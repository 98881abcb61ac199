"""The triage of one pytest session: listen, rerun, ask outside, and tell."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from flakehound_inside.triage.git_state import Checkout
from flakehound_inside.triage.journal import Journal
from flakehound_inside.triage.own_errors import Guard
from flakehound_inside.triage.random_generators import Generators

if TYPE_CHECKING:
    from typing import Any, Generator

    from _pytest.terminal import TerminalReporter

    from flakehound_inside.triage.failed_tests import Cases
    from flakehound_inside.triage.listener import Listener
    from flakehound_inside.triage.options import Wishes
    from flakehound_inside.triage.output.terminal import Telling
    from flakehound_inside.triage.xdist import Workers

_STOPPED_BY_TIME = "session-timeout"  # how the reason of pytest-timeout begins


class Triage:
    """The plugin that `--flakehound` registers; in a worker of pytest-xdist it only listens and reruns."""

    def __init__(self, config: pytest.Config, wishes: Wishes) -> None:
        self._config = config
        self._wishes = wishes
        self._guard = Guard(config)
        self._generators = Generators(config)
        self._worker_input: dict[str, Any] | None = getattr(config, "workerinput", None)
        self._seed = self._first_seed()
        self._started_s = time.time()
        # From before the first test: tests change the environment.
        self._environment = dict(os.environ)
        self._checkout = Checkout()
        self._journals: list[Journal] = []
        self._listener: Listener | None = None
        self._workers: Workers | None = None
        self._is_over = False  # the tests ran to their end, or to where -x ends them
        self._was_interrupted = False
        self._telling: Telling | None = None  # None: nothing to tell
        if self._worker_input is None and getattr(config.option, "dist", "no") != "no":
            from flakehound_inside.triage.xdist import Workers

            self._workers = Workers(self._guard, self._seed)
            config.pluginmanager.register(self._workers, "flakehound-workers")

    def __dir__(self) -> list[str]:
        # pytest looks at every name of a plugin, several times.
        return [name for name in vars(type(self)) if name.startswith("pytest_")]

    def _first_seed(self) -> int:
        shared = (self._worker_input or {}).get("flakehound", {}).get("seed")
        asked = self._config.getoption("--flakehound-seed", None)
        if shared is None and asked is None:
            return int.from_bytes(os.urandom(4), "big")
        return int(asked if shared is None else shared)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Ask git now what only the end of a green run needs: it answers while pytest collects."""
        if self._worker_input is None:
            with self._guard:
                self._checkout.ask(str(self._config.rootpath), self._environment)

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, None]:
        """Listen while the tests run, and rerun when the last one has ended."""
        with self._guard:
            self._checkout.hear()
            if not self._config.pluginmanager.hasplugin("dsession"):
                self._listen(session)
        outcome = yield
        with self._guard:
            self._is_over = _is_over(session, outcome.excinfo)
            cases = self._listener.cases if self._listener is not None else None
            if cases is not None and self._is_over and not self._guard.broken:
                self._rerun_the_rest(session, cases)
            if self._worker_input is not None and not self._guard.broken:
                self._send()

    def _listen(self, session: pytest.Session) -> None:
        from flakehound_inside.triage.listener import listener_kind
        from flakehound_inside.triage.reports import reports_of

        self._generators.prepare(len(session.items))
        journal = Journal(str((self._worker_input or {}).get("workerid", "")))
        self._journals = [journal]
        self._listener = listener_kind()(
            self._guard,
            journal,
            self._generators,
            reports_of(session, self._guard),
            lambda listener: self._cases(session, journal, listener),
        )
        # Here and not earlier: what is registered last wraps all others.
        self._config.pluginmanager.register(self._listener, "flakehound-listener")

    def _cases(self, session: pytest.Session, journal: Journal, listener: Listener) -> Cases:
        from flakehound_inside.triage.failed_tests import Cases
        from flakehound_inside.triage.rerun import Rerunner
        from flakehound_inside.triage.threshold import Threshold

        tally = (self._worker_input or {}).get("flakehound", {}).get("tally")
        threshold = Threshold(self._wishes, len(session.items), tally)
        rerunner = Rerunner(session, self._wishes, self._generators, journal, self._seed)
        rerunner.leave_out(listener)
        return Cases(journal, self._generators, threshold, rerunner)

    def _rerun_the_rest(self, session: pytest.Session, cases: Cases) -> None:
        if str(session.shouldfail).startswith(_STOPPED_BY_TIME):
            self._journals[0].not_rerun = "the time of the whole run is up: nothing was rerun at its end"
            return
        try:
            cases.rerun_the_rest()
        except KeyboardInterrupt:  # every test has run; what is interrupted is ours alone
            self._was_interrupted = True

    def _send(self) -> None:
        from flakehound_inside.isolated_os import isolated_os

        if self._journals and any(self._journals[0].to_send().values()):
            output: dict[str, Any] = self._config.workeroutput  # type: ignore[attr-defined]
            # ASCII: execnet cannot send half of a surrogate pair.
            output["flakehound"] = isolated_os.dumps(self._journals[0].to_send())

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """After everybody else has finished: ask outside, if there is anything to ask."""
        with self._guard:
            self._checkout.drop()
        if self._worker_input is not None or self._guard.broken or not self._is_over:
            return
        with self._guard:
            if self._listener is None and self._workers is not None:
                self._journals = self._workers.journals()
            if any(journal.failures for journal in self._journals):
                self._judge(session)
            elif any(journal.order for journal in self._journals):
                self._remember()

    def _remember(self) -> None:
        from flakehound_inside.triage.pending_runs import Spool

        spool = Spool(self._config, self._wishes.store, self._started_s)
        try:
            spool.leave(self._journals, self._seed, self._checkout.facts())
        except OSError:  # a checkout that may not be written to is none of the user's problems
            return

    def _judge(self, session: pytest.Session) -> None:
        from flakehound_inside.triage.controller import Interrupted, NoAnswer, Outside
        from flakehound_inside.triage.facts import facts_of
        from flakehound_inside.triage.output.terminal import Telling

        facts = facts_of(session, self._wishes, self._seed, self._journals)
        self._telling = Telling(self._config, facts, self._journals)
        if self._was_interrupted:
            self._telling.tell_of_an_interrupt()
            return
        try:
            answer = Outside(self._environment, facts["cwd"]).ask(facts, self._telling.progress())
        except Interrupted:
            self._telling.tell_of_an_interrupt()
        except NoAnswer as reason:
            self._guard.warn("flakehound could not judge the failures: %s" % reason)
        else:
            self._telling.tell(answer, self._environment)
            if self._wishes.tolerate:
                heard = self._listener or self._workers
                self._telling.tolerate(session, answer, heard.failed_reports if heard is not None else 0)
        finally:
            self._telling.end_progress()

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        """Print the verdicts between pytest's failures and its short summary."""
        if self._telling is not None:
            with self._guard:
                self._telling.print(terminalreporter)


def _is_over(session: pytest.Session, raised: Any) -> bool:
    """Whether the tests ended as tests end: all of them, or up to where -x or a plugin stops them."""
    if raised is None:
        return True
    error = raised[1]
    if isinstance(error, (session.Failed, session.Interrupted)):
        return True
    # pytest-xdist has an exception of its own for it, also when a worker was interrupted by the user.
    return type(error).__name__ == "Interrupted" and "keyboard-interrupt" not in str(error)
