"""Turn pytest's reports into event lines."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os

if TYPE_CHECKING:
    from typing import Callable

    import pytest

    from flakehound_inside.events import EventLog
    from flakehound_inside.message_types import Gauge

_TEXT_LIMIT = 12000  # characters of a failure report that are worth keeping
_MESSAGE_LIMIT = 2000
_OUTPUT_LIMIT = 2000


class Recorder:
    """A pytest plugin that writes down what becomes of the test at the current place."""

    def __init__(self, log: EventLog | None) -> None:
        self._log: EventLog = log  # type: ignore[assignment]  # None until a child starts, which opens one
        self._place = -1
        self._letter: str | None = None
        self._began = 0.0
        self.gauges: list[Gauge] = []  # what else is to be told of each test

    def start(self, place: int) -> None:
        """The test at `place` is about to run."""
        self._place = place
        self._letter = None
        self._log.write("s %d %.6f" % (place, isolated_os.clock()))
        for gauge in list(self.gauges):
            self._asked(gauge, gauge.begin)
        self._began = isolated_os.clock()

    def end(self) -> None:
        """Its protocol has returned."""
        took_s = isolated_os.clock() - self._began
        for gauge in list(self.gauges):
            told = self._asked(gauge, gauge.told)
            self._log.write("%s %d %s" % (gauge.letter, self._place, isolated_os.dumps(told)))
        self._log.write("e %d %s %.6f" % (self._place, self._letter or "P", took_s))

    def _asked(self, gauge: Gauge, question: Callable[[], object]) -> object:
        """What a gauge answers; one that fails, by a mock that a test left perhaps, is asked no more."""
        try:
            return question()
        except Exception as error:
            if gauge in self.gauges:
                self.gauges.remove(gauge)
            return {"doubt": "%s: %s" % (type(error).__name__, error)}

    def stop(self, error: BaseException) -> None:
        """The run ends here although tests are left."""
        name = type(error).__name__
        try:
            message = "%s: %s" % (name, error)
            text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        except Exception:  # a test may have left a mock in what this needs
            message = text = name
        told = {"exception": name, "message": message, "text": _middle_cut(text, _TEXT_LIMIT)}
        self._log.write("x " + isolated_os.dumps(told))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the worst phase; a failed sub-test makes its test fail, any other leaves it alone."""
        letter = _letter_of(report)
        if letter in ("F", "E"):
            self._log.write("f %d %s" % (self._place, isolated_os.dumps(_failure_of(report))))
        elif _is_of_a_subtest(report):
            return
        self._letter = _worse(self._letter, letter)


def _is_of_a_subtest(report: pytest.TestReport) -> bool:
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
    # A teardown that skips does not make a test skipped that passed.
    if first == "P" and second == "S":
        return first
    return second if _RANK.get(second, 0) > _RANK[first] else first


def _failure_of(report: pytest.TestReport) -> dict[str, str]:
    try:
        return _told_by(report)
    except Exception as error:  # of a report that cannot be printed; the test has failed all the same
        name = type(error).__name__
        text = "the report of the failure cannot be printed: " + name
        return {"phase": report.when or "call", "exception": name, "message": text, "where": "", "text": text}


def _told_by(report: pytest.TestReport) -> dict[str, str]:
    crash = getattr(report.longrepr, "reprcrash", None)
    message = crash.message if crash is not None else str(report.longrepr)
    exception, colon, _rest = message.partition(":")
    text = report.longreprtext + _captured(report)
    return {
        "phase": report.when or "call",
        "exception": exception if colon and " " not in exception else message.split("\n", 1)[0][:80],
        "message": message[:_MESSAGE_LIMIT],
        "where": "%s:%s" % (crash.path, crash.lineno) if crash is not None else "",
        "text": _middle_cut(text, _TEXT_LIMIT),
    }


def _captured(report: pytest.TestReport) -> str:
    parts = []
    for name, content in report.sections:
        parts.append("\n---- %s ----\n%s" % (name, _middle_cut(content, _OUTPUT_LIMIT)))
    return "".join(parts)


def _middle_cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    return "%s\n... %d characters left out ...\n%s" % (text[:half], len(text) - limit, text[-half:])
