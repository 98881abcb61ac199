"""Reports become one letter per test and one line per failure."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from flakehound_inside.recorder import Recorder


class Lines(list):
    write = list.append


class SubtestReport(SimpleNamespace):
    pass


def report(when: str, outcome: str, kind: type = SimpleNamespace, **more: object) -> SimpleNamespace:
    return kind(when=when, outcome=outcome, longrepr="words", longreprtext="words", sections=[], **more)


def letter_after(*reports: SimpleNamespace) -> str:
    log = Lines()
    recorder = Recorder(log)
    recorder.start(0)
    for each in reports:
        recorder.pytest_runtest_logreport(each)
    recorder.end()
    return log[-1].split()[2]


SETUP, CALL, TEARDOWN = (report(when, "passed") for when in ("setup", "call", "teardown"))


@pytest.mark.parametrize(
    ("reports", "letter"),
    [
        ([SETUP, CALL, TEARDOWN], "P"),
        ([SETUP, report("call", "failed"), TEARDOWN], "F"),
        ([report("setup", "failed"), TEARDOWN], "E"),
        ([SETUP, CALL, report("teardown", "failed")], "E"),
        ([SETUP, report("call", "failed"), report("teardown", "failed")], "F"),
        ([report("setup", "skipped"), TEARDOWN], "S"),
        ([SETUP, report("call", "skipped"), report("teardown", "failed")], "E"),
        ([SETUP, report("call", "skipped", wasxfail=""), TEARDOWN], "x"),
        ([SETUP, report("call", "passed", wasxfail=""), TEARDOWN], "X"),
        ([SETUP, CALL, report("teardown", "skipped")], "P"),
        ([SETUP, report("call", "skipped", SubtestReport), CALL, TEARDOWN], "P"),
        ([SETUP, report("call", "skipped", SubtestReport, wasxfail=""), CALL, TEARDOWN], "P"),
        ([SETUP, report("call", "failed", SubtestReport), CALL, TEARDOWN], "F"),
        ([SETUP, report("call", "passed", SubtestReport), report("call", "skipped"), TEARDOWN], "S"),
        ([], "P"),
    ],
)
def test_a_test_gets_the_letter_of_its_worst_phase(reports, letter):
    assert letter_after(*reports) == letter


def test_a_failure_that_cannot_be_printed_is_still_a_failure():
    class Odd:
        def __str__(self):
            raise RuntimeError("no words")

    log = Lines()
    recorder = Recorder(log)
    recorder.start(3)

    recorder.pytest_runtest_logreport(SimpleNamespace(when="call", outcome="failed", longrepr=Odd(), sections=[]))

    sort, place, told = log[-1].split(" ", 2)
    assert (sort, place) == ("f", "3")
    assert json.loads(told)["exception"] == "RuntimeError"


def test_long_reports_lose_their_middle():
    log = Lines()
    recorder = Recorder(log)
    recorder.start(0)
    words = "begin" + "x" * 1_000_000 + "end"

    recorder.pytest_runtest_logreport(
        SimpleNamespace(
            when="call", outcome="failed", longrepr=words, longreprtext=words, sections=[("out", words)]
        )
    )

    text = json.loads(log[-1].split(" ", 2)[2])["text"]
    assert len(text) < 20_000
    assert text.startswith("begin")
    assert text.endswith("end")


def test_a_later_failure_of_a_test_adds_its_text_to_the_first():
    log = Lines()
    recorder = Recorder(log)
    recorder.start(0)

    for when in ("call", "teardown"):
        recorder.pytest_runtest_logreport(report(when, "failed"))

    first, both = (json.loads(line.split(" ", 2)[2]) for line in log if line.startswith("f "))
    assert (both["phase"], both["message"]) == (first["phase"], first["message"])
    assert both["text"] == "words\n==== then failed in teardown: words ====\nwords"
