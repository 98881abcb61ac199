"""The controller: which facts it gets, and what happens if it does not answer."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import pytest
from plugin_projects import BROKEN, FLAKY, Suite, environment, has


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("fail", "no such revision: nowhere"),
        ("no-answer", "it ended without an answer"),
        ("garbage", "its answer is no JSON"),
        ("shapeless", "its answer is not of the shape that was agreed on"),
    ],
)
def test_without_an_answer_there_is_one_warning_and_pytest_goes_on(suite, behaviour, reason):
    suite.write({"test_it.py": BROKEN})

    ran = suite.run("--junitxml=junit.xml", STAND_IN=behaviour)

    assert f"PytestWarning: flakehound could not judge the failures: {reason}" in ran.out
    assert (ran.code, ran.outcomes) == (1, "1 failed, 1 warning")
    assert "= flakehound =" not in ran.out
    assert "flakehound" not in (suite.folder / "junit.xml").read_text()


def test_a_command_that_cannot_be_started_is_a_warning_too(suite):
    suite.write({"test_it.py": BROKEN})

    ran = suite.run(FLAKEHOUND_TRIAGE_COMMAND='["/no/such/program"]')

    assert "could not judge the failures: /no/such/program cannot be started" in ran.out
    assert ran.code == 1


def test_warnings_that_are_errors_do_not_turn_ours_against_the_run(suite):
    suite.write({"test_it.py": BROKEN})

    ran = suite.run("-W", "error", STAND_IN="no-answer")

    assert (ran.code, ran.outcomes) == (1, "1 failed, 1 warning")


def test_the_controller_starts_in_the_folder_and_environment_from_before_the_tests(suite):
    suite.write(
        {
            "test_it.py": """
                import os

                def test_it():
                    os.environ["LEFT_BEHIND"] = "1"
                    os.chdir("/")
                    assert 0
            """
        }
    )

    suite.run(PYTEST_ADDOPTS="-v", COV_CORE_SOURCE="x")

    seen = json.loads((suite.folder / "facts.env").read_text())
    assert "LEFT_BEHIND" not in seen
    assert [name for name in seen if name.startswith(("PYTEST_", "COV_CORE"))] == [
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD",
        "PYTEST_ADDOPTS",
    ]


ANSWERS_WHEN_INTERRUPTED = """
    import pathlib, sys, time
    try:
        pathlib.Path("ready").touch()
        time.sleep(60)
    except KeyboardInterrupt:
        told = '"summary": ["half of it"], "notes": ["the rest is open"]'
        pathlib.Path(sys.argv[2]).write_text('{"triage": {"failures": []}, ' + told + "}")
        sys.exit(130)
"""


@pytest.mark.parametrize("arguments", [(), ("-n1",)])
def test_reruns_outside_have_the_flags_of_the_interpreter_unless_workers_ran_the_tests(suite, arguments):
    if arguments and not has("xdist"):
        pytest.skip("needs pytest-xdist")

    suite.write({"test_it.py": BROKEN}).run(*arguments)

    seen = json.loads((suite.folder / "facts.env").read_text())
    is_expected = bool(suite.flags) and not arguments
    assert ("error" in seen.get("PYTHONWARNINGS", "").split(",")) is is_expected
    assert ("PYTHONDEVMODE" in seen) is (is_expected and "dev" in suite.flags)


# Lines of progress come sooner than a user would want them.
SOON = """
    from flakehound_inside.triage.output import progress

    progress._FIRST_LINE_S, progress._NEXT_LINE_S = 0.3, 0.6
"""
PLAIN_PROGRESS = re.compile(r"^flakehound: looking at the change \(\d+ s\)$", re.MULTILINE)


def test_without_a_terminal_a_short_triage_shows_no_progress(suite):
    ran = suite.write({"test_it.py": BROKEN}).run(STAND_IN="slow")

    assert "looking at the change" not in ran.out + ran.err
    assert "UNDECIDED" in ran.out


@pytest.mark.parametrize("arguments", [(), ("-q",), ("-v", "--tb=no"), ("-q", "-n1")])
def test_without_a_terminal_a_long_triage_shows_a_line_now_and_then(suite, arguments):
    if "-n1" in arguments and not has("xdist"):
        pytest.skip("needs pytest-xdist")
    suite.write({"test_it.py": BROKEN, "conftest.py": SOON})

    ran = suite.run(*arguments, "--junitxml=junit.xml", STAND_IN="slow", STAND_IN_SECONDS="4")

    assert 2 <= len(PLAIN_PROGRESS.findall(ran.out)) <= 7, ran.out
    assert PLAIN_PROGRESS.search(ran.out).end() < ran.out.index("UNDECIDED")
    assert ran.outcomes == "1 failed"
    assert "looking at" not in (suite.folder / "junit.xml").read_text()


@pytest.mark.parametrize("arguments", [("-qq",), ("-p", "no:terminal")])
def test_no_progress_is_shown_to_those_who_want_no_output(suite, arguments):
    suite.write({"test_it.py": BROKEN, "conftest.py": SOON})

    ran = suite.run(*arguments, STAND_IN="slow")

    assert "looking at the change" not in ran.out
    assert ran.code == 1


def test_a_controller_that_says_nothing_still_shows_that_it_works(suite):
    suite.write({"test_it.py": BROKEN, "conftest.py": SOON})

    ran = suite.run(FLAKEHOUND_TRIAGE_COMMAND=json.dumps([sys.executable, "-c", "import time; time.sleep(4)"]))

    assert re.search(r"^flakehound: judging 1 failure \(\d+ s\)$", ran.out, re.MULTILINE), ran.out


NO_DELAY = "from flakehound_inside.triage import controller\ncontroller._MAX_DELAY_S = 0.2\n"


def test_a_controller_that_takes_too_long_is_stopped_with_a_warning(suite):
    suite.write({"test_it.py": BROKEN, "conftest.py": NO_DELAY})

    ran = suite.run("--flakehound-time=0.3", STAND_IN="hang")

    assert "flakehound could not judge the failures: no verdicts in time" in ran.out
    assert (ran.code, ran.outcomes) == (1, "1 failed, 1 warning")


def test_a_controller_that_is_stopped_may_still_give_its_answer(suite):
    suite.write({"test_it.py": FLAKY, "conftest.py": NO_DELAY, "slow.py": ANSWERS_WHEN_INTERRUPTED})
    command = json.dumps([sys.executable, str(suite.folder / "slow.py")])

    ran = suite.run("--flakehound-time=1", FLAKEHOUND_TRIAGE_COMMAND=command)

    assert "half of it" in ran.out
    assert "in time" not in ran.out


def test_the_controllers_progress_is_a_live_line_in_a_terminal_and_is_removed_afterwards(suite):
    suite.write({"test_it.py": BROKEN})

    shown = output_in_terminal(suite, "--flakehound", STAND_IN="slow")

    assert "\rflakehound: looking at the change" in shown
    assert shown.index("looking at the change") < shown.index("UNDECIDED")
    blank = shown.partition("looking at the change")[2].partition("\n")[0]
    assert blank.replace("\r", "").strip() == ""


def output_in_terminal(suite: Suite, *arguments: str, **variables: str) -> str:
    """What the user of a terminal is shown."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        suite.command(*arguments),
        cwd=suite.folder,
        env=environment(suite.folder, TERM="xterm", **variables),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    until = time.monotonic() + 60
    while time.monotonic() < until and select.select([ours], [], [], until - time.monotonic())[0]:
        try:
            chunk = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        shown += chunk
    process.wait(timeout=300)
    os.close(ours)
    return shown.decode(errors="replace").replace("\r\n", "\n")


def test_an_interrupt_ends_the_controller_and_keeps_the_results_of_reruns_in_the_process(suite):
    suite.write({"test_a.py": FLAKY, "test_b.py": BROKEN})
    process = subprocess.Popen(
        suite.command("--flakehound"),
        cwd=suite.folder,
        env=environment(suite.folder, STAND_IN="hang"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    wait_for(suite.folder / "facts.env")

    os.killpg(process.pid, signal.SIGINT)
    out, _nothing = process.communicate(timeout=300)

    assert process.returncode == 1, out
    assert "interrupted; known so far:" in out
    assert "test_a.py::test_flaky: failed, then passed in the immediate rerun" in out
    assert "2 failed" in out


def wait_for(path) -> None:
    until = time.monotonic() + 60
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert path.exists()


def test_an_interrupted_controller_may_still_give_its_answer(suite):
    script = suite.folder / "slow.py"
    suite.write(
        {
            "test_it.py": FLAKY,
            "slow.py": ANSWERS_WHEN_INTERRUPTED,
        }
    )
    process = subprocess.Popen(
        suite.command("--flakehound"),
        cwd=suite.folder,
        env=environment(suite.folder, FLAKEHOUND_TRIAGE_COMMAND=json.dumps([sys.executable, str(script)])),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(suite.folder / "ready")

    os.killpg(process.pid, signal.SIGINT)
    out, _nothing = process.communicate(timeout=300)

    assert "half of it" in out
    assert "note: the rest is open" in out


def test_nothing_is_left_in_the_temporary_folder(suite, tmp_path):
    (tmp_path / "temp").mkdir()

    suite.write({"test_it.py": BROKEN}).run(TMPDIR=str(tmp_path / "temp"))

    assert [path.name for path in (tmp_path / "temp").iterdir() if path.name.startswith("fh-")] == []


def test_options_in_the_users_settings_start_no_triage_within_a_hunt(suite):
    suite.write({"test_it.py": FLAKY, "pytest.ini": "[pytest]\nflakehound = true\n"})
    hunted = "import flakehound_inside.worker.boot, pytest, sys; sys.exit(pytest.main(sys.argv[1:]))"
    python, *flags, _m, _pytest = suite.command()[: len(suite.flags) + 3]
    rest = suite.command("test_it.py")[len(suite.flags) + 3 :]

    ran = subprocess.run(
        [python, *flags, "-c", hunted, *rest],
        cwd=suite.folder,
        env=environment(suite.folder),
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 1
    assert not (suite.folder / "facts.json").exists()
