"""The output of a triage: the section in the terminal, the JUnit file, GitHub annotations and the exit code."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from flakehound_inside.triage.output.progress import progress_for
from flakehound_inside.triage.own_errors import OwnErrors

if TYPE_CHECKING:
    from typing import Any, Mapping, Sequence

    import pytest
    from _pytest.terminal import TerminalReporter

    from flakehound_inside.triage.facts import FailureFacts, RedRunFacts, RerunFacts
    from flakehound_inside.triage.journal import SessionJournal
    from flakehound_inside.triage.tolerance import Tolerance

_OUTCOMES = {"P": "passed", "x": "failed as expected", "X": "passed", "S": "was skipped"}


class TriageOutput:
    """The lines to show, from the answer of the controller until pytest prints its summary."""

    def __init__(self, config: pytest.Config, facts: RedRunFacts, journals: Sequence[SessionJournal]) -> None:
        self._config = config
        self._facts = facts
        self._failures: list[FailureFacts] = [failure for journal in journals for failure in journal.failures]
        self._lines: list[str] = []
        self._commands: list[str] = []  # of GitHub Actions
        self.progress = progress_for(config, len(self._failures))

    def set_answer(self, answer: dict[str, Any], environment: Mapping[str, str]) -> None:
        """Show the answer and write it into files; a file that cannot be written only causes a warning."""
        verdicts = answer["triage"]["failures"]
        self._lines = _answer_lines(answer, self._facts)
        with OwnErrors(self._config, "flakehound could not write its verdicts into the JUnit file"):
            self._write_junit(verdicts)
        with OwnErrors(self._config, "flakehound could not write its verdicts for GitHub Actions"):
            self._write_for_github(verdicts, environment)

    def set_interrupted(self) -> None:
        """Show what is known without an answer of the controller."""
        self._lines = _lines_so_far(self._facts, self._failures)

    def tolerate(
        self, tolerance: Tolerance, session: pytest.Session, answer: dict[str, Any], failed_reports: int
    ) -> None:
        """Let a failed run succeed if no failure comes from the change, and show that, or why not."""
        self._lines.append(tolerance.line_for(session, answer["triage"], self._failures, failed_reports))

    def print(self, reporter: TerminalReporter) -> None:
        """Print the section in the terminal, then the commands that GitHub reads from there."""
        if self._lines:
            reporter.write_sep("=", "flakehound")
        for line in self._lines + self._commands:
            reporter.write_line(line)

    def _write_junit(self, verdicts: Sequence[Mapping[str, Any]]) -> None:
        xml_path = getattr(self._config.option, "xmlpath", None)
        if not xml_path:
            return
        from flakehound_inside.triage.output.junit import write_verdicts

        path = os.path.join(self._facts["cwd"], os.path.expanduser(os.path.expandvars(xml_path)))
        write_verdicts(path, self._config.option.junitprefix, verdicts, self._failures)

    def _write_for_github(self, verdicts: Sequence[Mapping[str, Any]], environment: Mapping[str, str]) -> None:
        from flakehound_inside.triage.output.github import GitHubJob

        github = GitHubJob(environment, self._facts["rootdir"])
        if github.is_active:
            self._commands = github.annotations(verdicts, self._failures)
            github.append_summary(verdicts)


def _answer_lines(answer: dict[str, Any], facts: RedRunFacts) -> list[str]:
    """The controller's summary, and the notes of this process that it does not contain."""
    lines = [str(line) for line in answer.get("summary", ())]
    lines += ["note: %s" % note for note in answer.get("notes", ())]
    text = "\n".join(lines)
    reasons = [facts["not_rerun"]] if facts["not_rerun"] else []
    return lines + ["note: %s" % note for note in reasons + facts["notes"] if note not in text]


def _lines_so_far(facts: RedRunFacts, failures: Sequence[FailureFacts]) -> list[str]:
    """The reruns of this process, one line per failure, for an interrupted triage."""
    lines = ["  %s: %s" % (failure["id"], _rerun_phrase(failure["reruns"])) for failure in failures]
    notes = ["note: %s" % note for note in [facts["not_rerun"], *facts["notes"]] if note]
    return ["interrupted; known so far:", *lines, *notes]


def _rerun_phrase(reruns: Sequence[RerunFacts]) -> str:
    if not reruns:
        return "failed, not rerun"
    phrases = ["%s in the %s rerun" % (_OUTCOMES.get(r["outcome"], "failed"), r["stage"]) for r in reruns]
    return "failed, then " + ", ".join(phrases)
