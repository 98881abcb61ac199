"""`--flakehound-tolerate`: exit 0 if no failure comes from the change, and nothing but tests has failed.

pytest's own "tests failed" is 1, and another plugin may set 1 for a reason of its own. So while the session
finishes, its status is a copy of pytest's value: who sets the status replaces our copy, even by an equal value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from typing import Any, Generator, Mapping, Sequence

    from flakehound_inside.triage.facts import FailureFacts
    from flakehound_inside.triage.own_errors import OwnErrors

_LABELS = {"flaky": "flaky", "unrelated": "broken before"}


class Tolerance:
    """The plugin around the end of a session. Registered last, so that it is entered first and left last."""

    def __init__(self, own_errors: OwnErrors) -> None:
        self._own_errors = own_errors
        self._failed: pytest.ExitCode | None = None  # our copy of the status; None: no tests failed
        self._tolerated: pytest.ExitCode | None = None
        self._tests_failed = 0  # as pytest counts them, when they were tolerated

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, None]:
        """Set the status at the end, unless another plugin has set it."""
        with self._own_errors:
            if session.exitstatus == pytest.ExitCode.TESTS_FAILED:
                self._failed = session.exitstatus = _copy_of(pytest.ExitCode.TESTS_FAILED)
        outcome = yield
        with self._own_errors:
            self._set_final_status(session, is_complete=outcome.excinfo is None)

    def _set_final_status(self, session: pytest.Session, *, is_complete: bool) -> None:
        if self._tolerated is not None and session.exitstatus is not self._tolerated:
            self._print(session, "not tolerated after all: " + _reason_of_status(session))
        if session.exitstatus is self._failed and self._failed is not None:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        elif session.exitstatus is self._tolerated and self._tolerated is not None:
            no_more_failed = session.testsfailed == self._tests_failed and not session.shouldfail
            is_ok = is_complete and no_more_failed and not self._own_errors.occurred
            session.exitstatus = pytest.ExitCode.OK if is_ok else pytest.ExitCode.TESTS_FAILED
            if not is_ok:
                self._print(session, "not tolerated after all: something else failed at the end")

    def _print(self, session: pytest.Session, text: str) -> None:
        reporter = session.config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            reporter.write_line("flakehound: " + text)

    def line_for(
        self,
        session: pytest.Session,
        triage: Mapping[str, Any],
        failures: Sequence[FailureFacts],
        failed_reports: int,
    ) -> str:
        """Tolerate the failures if that is allowed; returns what was tolerated and why, or why not."""
        reason = _reason_against(session, triage, failures, failed_reports)
        if reason is None and self._failed is None:
            reason = "pytest did not end as it does when tests fail"
        if reason is None and session.exitstatus is not self._failed:
            reason = _reason_of_status(session)
        if reason is not None:
            return "not tolerated: " + reason
        self._tests_failed = session.testsfailed
        self._tolerated = session.exitstatus = _copy_of(pytest.ExitCode.OK)
        return "tolerated: " + _counts([_label(verdict) for verdict in triage["failures"]])


def _copy_of(code: pytest.ExitCode) -> pytest.ExitCode:
    """An object that equals the exit code in everything but its identity."""
    copy: Any = int.__new__(pytest.ExitCode, int(code))
    copy._name_, copy._value_ = code._name_, code._value_
    result: pytest.ExitCode = copy
    return result


def _reason_of_status(session: pytest.Session) -> str:
    return "another plugin or a conftest has set the exit status to %d" % session.exitstatus


def _reason_against(
    session: pytest.Session, triage: Mapping[str, Any], failures: Sequence[FailureFacts], failed_reports: int
) -> str | None:
    """Why the run still fails; None if every failure is tolerable."""
    if session.shouldfail or session.shouldstop:
        return "the run was stopped before its last test"
    if session.testsfailed != failed_reports:
        return "pytest counts %d failures, and %d are of tests" % (session.testsfailed, failed_reports)
    verdicts = triage["failures"]
    judged_ids = {verdict["id"] for verdict in verdicts}
    missing = [failure["id"] for failure in failures if failure["id"] not in judged_ids]
    if missing:
        return "%s was not judged" % missing[0]
    intolerable = [_intolerable_label(verdict) for verdict in verdicts if verdict.get("tolerable") is not True]
    if intolerable:
        return _counts(intolerable)
    if triage.get("tolerable") is not True:
        return "the verdicts are not proven as a whole"
    return None


def _label(verdict: Mapping[str, Any]) -> str:
    label = _LABELS.get(str(verdict.get("verdict")), str(verdict.get("verdict")))
    why = verdict.get("why_tolerable")
    return "%s (%s)" % (label, why) if why else label


def _intolerable_label(verdict: Mapping[str, Any]) -> str:
    name = str(verdict.get("verdict"))
    return "%s without proof" % name if name in _LABELS else name.replace("-", " ")


def _counts(labels: Sequence[str]) -> str:
    """How often each label occurs: `2 flaky, 1 broken before`."""
    return ", ".join("%d %s" % (labels.count(label), label) for label in dict.fromkeys(labels))
