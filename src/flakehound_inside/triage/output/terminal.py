"""Tell the user what the triage found: terminal, JUnit file, GitHub, exit code."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from flakehound_inside.triage.output.answer import against_tolerance, known_so_far, lines_of
from flakehound_inside.triage.own_errors import Guard

if TYPE_CHECKING:
    from typing import Any, Callable, Mapping, Sequence

    from _pytest.terminal import TerminalReporter

    from flakehound_inside.triage.journal import Journal
    from flakehound_inside.triage.message_types import Failure


class Telling:
    """What there is to tell, kept until the terminal asks for it."""

    def __init__(self, config: pytest.Config, facts: dict[str, Any], journals: Sequence[Journal]) -> None:
        self._config = config
        self._facts = facts
        self._failures: list[Failure] = [failure for journal in journals for failure in journal.failures]
        self._lines: list[str] = []
        self._commands: list[str] = []  # of GitHub Actions
        self._reporter: Any = config.pluginmanager.getplugin("terminalreporter")
        self._shows_progress = False

    def progress(self) -> Callable[[str], None] | None:
        """Where the controller's progress is shown; None where nobody would see it live."""
        if self._reporter is None or not self._reporter.isatty:
            return None
        return self._show

    def _show(self, line: str) -> None:
        self._shows_progress = True
        width: int = self._config.get_terminal_writer().fullwidth
        self._reporter.rewrite(("flakehound: " + line)[: width - 1], erase=True)

    def end_progress(self) -> None:
        """Leave an empty line behind."""
        if self._shows_progress:
            self._reporter.rewrite("", erase=True)
            self._reporter.rewrite("")

    def tell(self, answer: dict[str, Any], environment: Mapping[str, str]) -> None:
        """Take in the answer; a report that cannot be written is a warning and stops no other."""
        verdicts = answer["triage"]["failures"]
        self._lines = lines_of(answer, self._facts)
        with Guard(self._config, "flakehound could not write its verdicts into the JUnit file"):
            self._write_junit(verdicts)
        with Guard(self._config, "flakehound could not write its verdicts for GitHub Actions"):
            self._write_for_github(verdicts, environment)

    def tell_of_an_interrupt(self) -> None:
        """Keep what is known without an answer."""
        self._lines = known_so_far(self._facts)

    def tolerate(self, session: pytest.Session, answer: dict[str, Any], failed_reports: int) -> None:
        """Make a red run green if every failure of it is proven flaky, and say so, or why not."""
        against = against_tolerance(session, answer, failed_reports, self._failures)
        if against is None and session.exitstatus != pytest.ExitCode.TESTS_FAILED:
            against = "pytest did not end as it does when tests fail"
        if against is None:
            session.exitstatus = pytest.ExitCode.OK
            self._lines.append("tolerated: every failure is proven flaky")
        else:
            self._lines.append("not tolerated: " + against)

    def print(self, reporter: TerminalReporter) -> None:
        """The section in the terminal, then what GitHub reads from there."""
        if self._lines:
            reporter.write_sep("=", "flakehound")
        for line in self._lines + self._commands:
            reporter.write_line(line)

    def _write_junit(self, verdicts: Sequence[Mapping[str, Any]]) -> None:
        named = getattr(self._config.option, "xmlpath", None)
        if not named:
            return
        from flakehound_inside.triage.output.junit import write_verdicts

        path = os.path.join(self._facts["cwd"], os.path.expanduser(os.path.expandvars(named)))
        write_verdicts(path, self._config.option.junitprefix, verdicts, self._failures)

    def _write_for_github(self, verdicts: Sequence[Mapping[str, Any]], environment: Mapping[str, str]) -> None:
        from flakehound_inside.triage.output.github import GitHub

        github = GitHub(environment, self._facts["rootdir"])
        if github.active:
            self._commands = github.annotations(verdicts, self._failures)
            github.append_summary(verdicts)
