"""Writes pytest's reports as event lines."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os

if TYPE_CHECKING:
    from typing import Callable

    import pytest

    from flakehound_inside.events import EventLog
    from flakehound_inside.message_types import PerTestObserver

_TEXT_LIMIT = 12000  # characters of a failure report
_MESSAGE_LIMIT = 2000
_OUTPUT_LIMIT = 2000
LATER_FAILURE = "==== then failed in "


class Recorder:
    """A pytest plugin that writes the outcome of the test at the current place of the order."""

    def __init__(self, log: EventLog | None) -> None:
        self._log: EventLog = log  # type: ignore[assignment]  # None until a request starts, which opens one
        self._place = -1
        self._letter: str | None = None
        self._failure: dict[str, str] | None = None
        self._started_s = 0.0
        self.observers: list[PerTestObserver] = []

    def start(self, place: int) -> None:
        """Called before the test at `place` of the order runs."""
        self._place = place
        self._letter = None
        self._failure = None
        self._log.write("s %d %.6f" % (place, isolated_os.clock()))
        for observer in list(self.observers):
            self._call_observer(observer, observer.begin_test)
        self._started_s = isolated_os.clock()

    def end(self) -> None:
        """Called after the test has run."""
        took_s = isolated_os.clock() - self._started_s
        for observer in list(self.observers):
            report = self._call_observer(observer, observer.report)
            self._log.write("%s %d %s" % (observer.letter, self._place, isolated_os.dumps(report)))
        self._log.write("e %d %s %.6f" % (self._place, self._letter or "P", took_s))

    def _call_observer(self, observer: PerTestObserver, method: Callable[[], object]) -> object:
        """Call a method of an observer; an observer that fails, perhaps because of a mock, is removed."""
        try:
            return method()
        except Exception as error:
            if observer in self.observers:
                self.observers.remove(observer)
            return {"doubt": "%s: %s" % (type(error).__name__, error)}

    def stop(self, error: BaseException) -> None:
        """Called if the run ends by an error before all tests have run."""
        name = type(error).__name__
        try:
            message = "%s: %s" % (name, error)
            text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        except Exception:  # a test may have left a mock in what is needed here
            message = text = name
        content = {"exception": name, "message": message, "text": _without_middle(text, _TEXT_LIMIT)}
        self._log.write("x " + isolated_os.dumps(content))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the worst outcome of the phases; of sub-tests only failures count."""
        letter = _letter_of(report)
        if letter in ("F", "E"):
            self._failure = _with_later(self._failure, _failure_of(report))
            self._log.write("f %d %s" % (self._place, isolated_os.dumps(self._failure)))
        elif _is_of_subtest(report):
            return
        self._letter = _worse(self._letter, letter)


def _is_of_subtest(report: pytest.TestReport) -> bool:
    # SubtestReport in pytest 9, SubTestReport in the plugin before it.
    return type(report).__name__.lower() == "subtestreport"


def _letter_of(report: pytest.TestReport) -> str | None:
    if report.outcome == "failed":
        return "F" if report.when == "call" else "E"
    if report.outcome == "skipped":
        return "x" if hasattr(report, "wasxfail") else "S"
    if report.outcome == "passed" and report.when == "call":
        return "X" if hasattr(report, "wasxfail") else "P"
    return None


_RANK: dict[str | None, int] = {None: 0, "P": 1, "S": 2, "x": 2, "X": 2, "E": 3, "F": 4}


def _worse(first: str | None, second: str | None) -> str | None:
    # A test that passed does not become skipped if its teardown skips.
    if first == "P" and second == "S":
        return first
    return second if _RANK.get(second, 0) > _RANK[first] else first


def _failure_of(report: pytest.TestReport) -> dict[str, str]:
    try:
        return _content_of(report)
    except Exception as error:  # the report cannot be printed, but the test has failed
        name = type(error).__name__
        text = "the report of the failure cannot be printed: " + name
        return {"phase": report.when or "call", "exception": name, "message": text, "where": "", "text": text}


def _with_later(first: dict[str, str] | None, later: dict[str, str]) -> dict[str, str]:
    """The first failure of a test, with the text of a later one, of its teardown or of another subtest."""
    if first is None:
        return later
    text = "%s\n%s%s: %s ====\n%s" % (
        first["text"],
        LATER_FAILURE,
        later["phase"],
        later["exception"],
        later["text"],
    )
    return dict(first, text=text) if len(text) <= 2 * _TEXT_LIMIT else first


def _content_of(report: pytest.TestReport) -> dict[str, str]:
    crash = getattr(report.longrepr, "reprcrash", None)
    message = crash.message if crash is not None else str(report.longrepr)
    text = report.longreprtext + _captured_output(report)
    return {
        "phase": report.when or "call",
        "exception": _exception_in(message),
        "message": message[:_MESSAGE_LIMIT],
        "where": "%s:%s" % (crash.path, crash.lineno) if crash is not None else "",
        "text": _without_middle(text, _TEXT_LIMIT),
    }


def _exception_in(message: str) -> str:
    """The name of the type with which pytest begins a message; it leaves out that of an assertion."""
    name, colon, _rest = message.partition(":")
    if message.startswith(("assert ", "assert(")):
        return "AssertionError"
    return name if colon and " " not in name else message.split("\n", 1)[0][:80]


def _captured_output(report: pytest.TestReport) -> str:
    parts = []
    for name, content in report.sections:
        parts.append("\n---- %s ----\n%s" % (name, _without_middle(content, _OUTPUT_LIMIT)))
    return "".join(parts)


def _without_middle(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    return "%s\n... %d characters left out ...\n%s" % (text[:half], len(text) - limit, text[-half:])
