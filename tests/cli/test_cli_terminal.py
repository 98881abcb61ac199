"""What a terminal gets: colours, drawn tables and a live bar; and that nothing else gets any of it."""

from __future__ import annotations

import re

import pytest

from flakehound.app.progress import RunState
from flakehound.cli.progress import LiveProgress, PlainProgress, shown_progress
from flakehound.cli.terminal import print_result

ANSI = re.compile(r"\x1b\[[\d;]*m")
REPORT = """\
NOD     tests/test_cart.py::test_total[a]
        failed 7 of 42 runs in the same order or alone
        flakehound replay 'tests/test_cart.py::test_total[a]'
VICTIM  tests/test_user.py::test_[bold]login[/bold]
        failed 3 of 3 after tests/test_admin.py::test_ban
UNRESOLVED tests/test_jobs.py::test_deadline

note: pytest-randomly was switched off
12 tests, 40 original runs, 3m12s: 2 flaky (1 NOD, 1 victim), 9 steady so far"""
TABLE = """\
seed 1

| pipeline      | F1    |
|---------------|-------|
| svm/none      | 0.123 |
| forest/[bold] | 0.456 |
the end"""


def test_a_result_in_a_pipe_is_the_text_and_nothing_else(environment, capsys):
    print_result(REPORT)

    assert capsys.readouterr().out == REPORT + "\n"


def test_a_result_on_a_terminal_is_the_same_text_in_colours(terminal):
    with terminal.attached():
        print_result(REPORT)

    shown = terminal.received()
    assert ANSI.sub("", shown) == REPORT + "\n"
    assert "\x1b[1;31mNOD\x1b[0m" in shown
    assert "\x1b[1;35mVICTIM\x1b[0m" in shown
    assert "\x1b[1;33mUNRESOLVED\x1b[0m" in shown


def test_a_long_command_is_not_broken(terminal):
    command = "flakehound replay " + "tests/test_long.py::test_" + "x" * 300

    with terminal.attached():
        print_result(command)

    assert ANSI.sub("", terminal.received()) == command + "\n"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_that_wants_no_colours_gets_none(terminal, environment, name, value):
    environment.setenv(name, value)

    with terminal.attached():
        print_result(REPORT)

    assert terminal.received() == REPORT + "\n"


def test_colours_can_be_forced_into_a_pipe(environment, capsys):
    environment.setenv("FORCE_COLOR", "1")

    print_result(REPORT)

    assert "\x1b[1;31mNOD\x1b[0m" in capsys.readouterr().out


def test_no_colours_wins_over_forced_colours(environment, capsys):
    environment.setenv("FORCE_COLOR", "1")
    environment.setenv("NO_COLOR", "1")

    print_result(REPORT)

    assert capsys.readouterr().out == REPORT + "\n"


def test_a_table_is_drawn_on_a_terminal(terminal):
    with terminal.attached():
        print_result(TABLE)

    shown = ANSI.sub("", terminal.received())
    assert "|" not in shown
    assert re.search(r"^svm/none +0\.123", shown, re.MULTILINE)
    assert "forest/[bold]" in shown
    assert shown.startswith("seed 1\n")
    assert shown.endswith("the end\n")


def test_a_table_in_a_pipe_stays_markdown(environment, capsys):
    print_result(TABLE)

    assert capsys.readouterr().out == TABLE + "\n"


def _state():
    return RunState(stage="other orders", processes=12, test_runs=340, found="1 NOD", spent_s=30.0, left_s=90.0)


def test_progress_on_a_terminal_is_a_line_that_is_drawn_again_and_removed(terminal):
    with terminal.attached(), shown_progress() as progress:
        assert isinstance(progress, LiveProgress)
        progress.message("2 tests, also test_x[bold]")
        progress.show_runs(_state)
        progress.message("one more line")

    shown = terminal.received()
    assert "2 tests, also test_x[bold]\n" in shown
    assert "other orders" in shown
    assert "90 s left" in shown
    assert "12 runs of 340 tests, found: 1 NOD" in shown
    assert "one more line\n" in shown
    assert shown.rstrip("\n").endswith("\x1b[2K")  # the bar is gone
    assert "\x1b[?25h" in shown  # and the cursor is back


def test_progress_comes_back_after_it_was_cleared(terminal):
    with terminal.attached(), shown_progress() as progress:
        progress.show_steps("reading", 2, 2)
        progress.clear()
        progress.show_steps("scoring", 5, 5)

    shown = ANSI.sub("", terminal.received())
    assert "2 of 2" in shown
    assert "5 of 5" in shown


def test_a_dumb_terminal_gets_plain_lines(terminal, environment):
    environment.setenv("TERM", "dumb")

    with terminal.attached(), shown_progress() as progress:
        assert isinstance(progress, PlainProgress)
        progress.message("2 tests")
        progress.show_runs(_state)

    assert terminal.received() == "2 tests\n"


def test_plain_progress_shows_the_state_now_and_then(environment, capsys):
    environment.setattr("flakehound.cli.progress._FIRST_PLAIN_LINE_S", 0.0)

    with shown_progress() as progress:
        progress.show_runs(_state)
        progress.show_steps("reading", 1, 2)
        progress.show_runs(_state)
        progress.show_state(lambda: "collecting: 3 tests in 1 files so far")

    assert capsys.readouterr().err == "other orders: 12 runs of 340 tests, 90 s left, found: 1 NOD\n"


def test_a_state_is_one_line_wherever_it_is_shown(terminal, environment, capsys):
    environment.setattr("flakehound.cli.progress._FIRST_PLAIN_LINE_S", 0.0)

    with shown_progress() as progress:
        progress.show_state(lambda: "first run: 3 of 20 tests, 1 failed")
    with terminal.attached(), shown_progress() as progress:
        progress.show_state(lambda: "first run: 3 of 20 tests, 1 failed")

    assert capsys.readouterr().err == "first run: 3 of 20 tests, 1 failed\n"
    shown = ANSI.sub("", terminal.received())
    assert "first run" in shown
    assert "3 of 20 tests, 1 failed" in shown


@pytest.mark.parametrize("wanted", [{"quiet": True}, {"only_live": True}])
def test_progress_that_nobody_wants_is_silent(environment, capsys, wanted):
    with shown_progress(**wanted) as progress:
        progress.message("2 tests")
        progress.show_runs(_state)

    assert capsys.readouterr().err == ""
