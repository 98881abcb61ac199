"""Run a failed test again in its own process, unseen by everybody else."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from _pytest.runner import runtestprotocol

from flakehound_inside.items import tear_down_for
from flakehound_inside.triage.attempt import Attempt, attempt_of
from flakehound_inside.triage.failed_fixtures import FailedFixtures
from flakehound_inside.triage.mute_terminal import muted

if TYPE_CHECKING:
    from flakehound_inside.triage.fresh_item import Original
    from flakehound_inside.triage.journal import Journal
    from flakehound_inside.triage.message_types import Failure, Rerun
    from flakehound_inside.triage.options import Wishes
    from flakehound_inside.triage.random_generators import Generators, Snapshot


class Case:
    """A failed test that can be run again."""

    def __init__(
        self, failure: Failure, original: Original, state: Snapshot | None, *, failed_in_teardown: bool
    ) -> None:
        self.failure = failure
        self.original = original
        self.state = state  # as the failing run started; None: that cannot be repeated here
        # What failed may be the teardown of a module or of more; then a rerun has to go as far.
        self.failed_in_teardown = failed_in_teardown
        self.passed = False
        self.seeds_used = 0


class Rerunner:
    """Reruns of one pytest session."""

    def __init__(
        self, session: pytest.Session, wishes: Wishes, generators: Generators, journal: Journal, seed: int
    ) -> None:
        self._session = session
        self._wishes = wishes
        self._generators = generators
        self._journal = journal
        self._seed = seed  # the seeds of reruns are counted from it
        self._protocol = _Protocol(session.config.pluginmanager)

    def leave_out(self, plugin: object) -> None:
        """Name a plugin that wraps the user's runs of a test and shall not wrap ours."""
        self._protocol.left_out = plugin

    def rerun_now(self, case: Case, nextitem: pytest.Item | None) -> None:
        """The immediate reruns; afterwards everything is as if there had been none."""
        if not self._wishes.immediate:
            return
        failed = FailedFixtures(case.original)
        with contextlib.ExitStack() as afterwards:  # the last one first, and each whatever became of the others
            afterwards.callback(self._generators.put_back, self._generators.snapshot())
            afterwards.callback(failed.put_back)
            afterwards.callback(self._tear_down, nextitem)
            failed.forget()
            self._rerun(case, "immediate", self._wishes.immediate, nextitem)

    def rerun_later(self, case: Case) -> None:
        """The postponed reruns; the caller ends them with `end`."""
        if not self._wishes.postponed:
            return
        self._tear_down(case.original.twin())
        FailedFixtures(case.original).forget()
        self._rerun(case, "postponed", self._wishes.postponed, None)

    def end(self) -> None:
        """Tear down whatever the postponed reruns left standing."""
        self._tear_down(None)

    def _rerun(self, case: Case, stage: str, times: int, nextitem: pytest.Item | None) -> None:
        for _time in range(times):
            case.seeds_used += 1
            seed = (self._seed + case.seeds_used) % 2**32
            with self._generators.seeded(seed):
                attempt = self._run_once(case, nextitem)
            case.failure["reruns"].append(_told(stage, attempt, seed))
            if attempt.passed:
                case.passed = True
                self._repeat_state(case, stage, nextitem)
                return

    def _repeat_state(self, case: Case, stage: str, nextitem: pytest.Item | None) -> None:
        """Whether the random state decides: once more, with the one that it failed with."""
        if case.state is None:
            return
        self._generators.put_back(case.state)
        told = _told(stage, self._run_once(case, nextitem), None)
        told["same_state"] = True
        case.failure["reruns"].append(told)

    def _run_once(self, case: Case, nextitem: pytest.Item | None) -> Attempt:
        reports: list[pytest.TestReport] = []
        twin = case.original.twin(reports.append)
        # Named as the next test, another twin keeps what its module and its class have set up.
        follower = case.original.twin()
        try:
            with muted(self._session.config):
                reports.extend(self._protocol.run(twin, nextitem if case.failed_in_teardown else follower))
        except pytest.exit.Exception as error:  # the user's run goes on, whatever a rerun says
            return Attempt("F", {"exception": "pytest.exit", "message": "pytest.exit: %s" % error.msg})
        finally:
            self._tear_down(follower)
        return attempt_of(reports)

    def _tear_down(self, nextitem: pytest.Item | None) -> None:
        # An error here is of a fixture that a rerun set up; its own failure has been reported before.
        for _try in range(2):  # a finalizer that raises SystemExit leaves the rest standing
            try:
                tear_down_for(self._session, nextitem)
            except KeyboardInterrupt:  # noqa: PERF203
                raise
            except BaseException as error:
                self._journal.note("a fixture raised %s when a rerun's setup was torn down" % type(error).__name__)
            else:
                return


def _told(stage: str, attempt: Attempt, seed: int | None) -> Rerun:
    return {
        "stage": stage,
        "outcome": attempt.letter,
        "seed": seed,
        "message": attempt.message,
        "exception": attempt.exception,
        "text": attempt.text,
    }


class _Protocol:
    """pytest's way to run one test, with the wrappers of every plugin and none of their reruns and reports."""

    def __init__(self, manager: pytest.PytestPluginManager) -> None:
        self._manager = manager
        self.left_out: object = None
        self._twin: pytest.Item | None = None
        self._reports: list[pytest.TestReport] = []

    def run(self, twin: pytest.Item, nextitem: pytest.Item | None) -> list[pytest.TestReport]:
        """Run it and give back its reports."""
        if not self._manager.is_registered(self):
            self._manager.register(self, "flakehound-rerun")
        self._twin, self._reports = twin, []
        try:
            call = self._manager.subset_hook_caller("pytest_runtest_protocol", self._others())
            call(item=twin, nextitem=nextitem)
        finally:
            self._twin = None
        return self._reports

    def _others(self) -> list[object]:
        """The plugins that run tests themselves, and our listener; those that wrap a run stay."""
        hook = self._manager.hook.pytest_runtest_protocol
        return [
            implementation.plugin
            for implementation in hook.get_hookimpls()
            if implementation.plugin is not self
            and (not _wraps(implementation) or implementation.plugin is self.left_out)
        ]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """As pytest's own, but unlogged, and for our twins only."""
        if item is not self._twin:
            return None
        self._reports = runtestprotocol(item, log=False, nextitem=nextitem)
        return True


def _wraps(implementation: object) -> bool:
    return bool(getattr(implementation, "hookwrapper", False) or getattr(implementation, "wrapper", False))
