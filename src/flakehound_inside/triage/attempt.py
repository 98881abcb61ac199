"""Read from pytest's reports how one attempt at a test ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.recorder import Recorder

if TYPE_CHECKING:
    from typing import Sequence

    import pytest

# What pytest-rerunfailures and pytest-retry call an attempt that they repeat.
_REPEATED = ("rerun", "retried")
_PHASES = ("setup", "call", "teardown")
_CRASH = "???"  # the phase that pytest-xdist gives to a test whose worker died
_PASSING = ("P", "x", "X")


class Attempt:
    """One way a test ended, with the words of its first failure."""

    def __init__(self, letter: str, told: dict[str, str] | None = None) -> None:
        told = told or {}
        self.letter = letter
        self.phase = told.get("phase", "call") if told.get("phase") in _PHASES else "call"
        self.exception = told.get("exception", "")
        self.message = told.get("message", "")
        self.where = told.get("where", "")
        self.text = told.get("text", "")
        self.failed_in_teardown = False

    @property
    def failed(self) -> bool:
        """Whether any phase failed."""
        return self.letter in ("F", "E", "C")

    @property
    def passed(self) -> bool:
        """Whether it ended as its author wants it to; a skipped test has shown nothing."""
        return self.letter in _PASSING


class _Lines(list):  # type: ignore[type-arg]  # no subscript at run time in Python 3.8
    """A log that is kept in memory."""

    write = list.append


def attempt_of(reports: Sequence[pytest.TestReport]) -> Attempt:
    """The attempt that these reports tell of."""
    lines = _Lines()
    recorder = Recorder(lines)  # type: ignore[arg-type]  # it only writes lines
    recorder.start(0)
    for report in reports:
        recorder.pytest_runtest_logreport(report)
    recorder.end()
    told = [isolated_os.loads(line.split(" ", 2)[2]) for line in lines if line[0] == "f"]
    letter = lines[-1].split()[2]
    if any(report.when == _CRASH for report in reports):
        letter = "C"
    attempt = Attempt(letter, told[0] if told else None)
    attempt.failed_in_teardown = any(r.when == "teardown" and r.outcome == "failed" for r in reports)
    return attempt


def last_attempt(reports: Sequence[pytest.TestReport]) -> list[pytest.TestReport]:
    """The reports behind the last attempt that another plugin has repeated; all, if none has."""
    begin = 0
    for place, report in enumerate(reports, 1):
        if report.outcome in _REPEATED and report.when != _CRASH:
            begin = place
    return list(reports[begin:])


def was_repeated(reports: Sequence[pytest.TestReport]) -> bool:
    """Whether another plugin has run the test again."""
    return any(report.outcome in _REPEATED for report in reports)
