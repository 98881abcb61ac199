"""The progress of the controller: one changing line in a terminal, a line now and then elsewhere, as in CI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flakehound_inside.isolated import isolated

if TYPE_CHECKING:
    from typing import Any

    import pytest

_FIRST_LINE_S = 5.0  # most triages without a terminal end before that, and print no progress
_NEXT_LINE_S = 10.0
_MIN_VERBOSITY = -1  # of lines outside a terminal: `-q` shows them, `-qq` does not


class HiddenProgress:
    """Shows nothing; the others show the newest line of the controller."""

    def show(self, line: str) -> None:
        """Called several times a second; the line is empty before the controller has written one."""

    def end(self) -> None:
        """Called when the controller has ended."""


class OneLineProgress(HiddenProgress):
    """One line of a terminal that is overwritten."""

    def __init__(self, reporter: Any, width: int) -> None:
        self._reporter = reporter
        self._width = width
        self._shown = ""

    def show(self, line: str) -> None:
        """Replace the line if it is a new one."""
        if line and line != self._shown:
            self._shown = line
            self._reporter.rewrite(("flakehound: " + line)[: self._width - 1], erase=True)

    def end(self) -> None:
        """Clear the line."""
        if self._shown:
            self._reporter.rewrite("", erase=True)
            self._reporter.rewrite("")


class LogProgress(HiddenProgress):
    """Lines for a log, so that a long triage is not taken for a hanging run."""

    def __init__(self, reporter: Any, writer: Any, failures: int) -> None:
        self._reporter = reporter
        self._writer = writer
        self._without_line = "judging %d failure%s" % (failures, "" if failures == 1 else "s")
        self._started_s = isolated.clock()
        self._next_s = _FIRST_LINE_S

    def show(self, line: str) -> None:
        """Print the line, with the time since the start, if it is time for one."""
        passed_s = isolated.clock() - self._started_s
        if passed_s < self._next_s:
            return
        self._next_s = passed_s + _NEXT_LINE_S
        self._reporter.ensure_newline()
        if getattr(self._writer, "width_of_current_line", 0):  # of pytest-xdist's dots
            self._writer.line()
        self._writer.line("flakehound: %s (%d s)" % (line or self._without_line, passed_s))
        self._writer.flush()


def progress_for(config: pytest.Config, failures: int) -> HiddenProgress:
    """The progress that fits where pytest writes to."""
    reporter: Any = config.pluginmanager.getplugin("terminalreporter")
    if reporter is None:
        return HiddenProgress()
    writer = config.get_terminal_writer()
    if reporter.isatty:
        return OneLineProgress(reporter, writer.fullwidth)
    if config.option.verbose < _MIN_VERBOSITY:
        return HiddenProgress()
    return LogProgress(reporter, writer, failures)
