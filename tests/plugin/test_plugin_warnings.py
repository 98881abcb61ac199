"""Where warnings are errors, nothing of ours raises or warns in the user's process."""

from __future__ import annotations

import os
import subprocess

import pytest
from plugin_projects import BROKEN, FLAKY, STEADY, STRICT, Suite, environment, has, pytest_version

# The ways in which a project or its user makes errors of warnings: interpreter flags, ini lines, variables.
WAYS: dict[str, tuple[tuple[str, ...], str, dict[str, str]]] = {
    "interpreter": (STRICT, "", {}),
    "encodings": ((*STRICT, "-X", "warn_default_encoding"), "", {}),
    "ini": ((), "filterwarnings = error\n", {}),
    "variable": ((), "", {"PYTHONWARNINGS": "error", "PYTHONDEVMODE": "1"}),
    "unraisable": ((), "filterwarnings =\n    error\n    error::pytest.PytestUnraisableExceptionWarning\n", {}),
}
LEAKS = """
    import gc

    def test_leaks():
        leak = open("pytest.ini", encoding="utf-8")
        assert 0

    def test_next(): pass
    def test_collects(): gc.collect()
    def test_later(): pass
    def test_broken(): assert 0
    def test_last(): gc.collect()
"""


def said_by(folder: Suite, *arguments: str, **variables: str) -> tuple[int, str]:
    """Exit code and output of a pytest with the real controller, in a new interpreter."""
    told = environment(folder.folder, **variables)
    if "STAND_IN" not in variables:
        del told["FLAKEHOUND_TRIAGE_COMMAND"]
    ran = subprocess.run(
        folder.command(*arguments),
        cwd=folder.folder,
        env=told,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout


@pytest.fixture(
    params=[way if way in ("interpreter", "ini") else pytest.param(way, marks=pytest.mark.slow) for way in WAYS]
)
def strict_suite(tmp_path, request) -> tuple[Suite, dict[str, str]]:
    flags, ini, variables = WAYS[request.param]
    if "-X" in flags and request.param == "encodings" and pytest_version() < (7, 0):
        pytest.skip("pytest 6 names no encodings itself")
    (tmp_path / "suite").mkdir()
    return Suite(folder=tmp_path / "suite", flags=flags).write({"pytest.ini": "[pytest]\n" + ini}), variables


def test_a_red_run_with_the_real_controller_has_only_its_own_failures(strict_suite):
    if not has("click"):
        pytest.skip("needs what the controller imports")
    suite, variables = strict_suite
    suite.write({"test_a.py": FLAKY, "test_b.py": BROKEN, "test_c.py": STEADY})

    code, out = said_by(suite, "--flakehound", "--junitxml=junit.xml", **variables)

    assert code == 1
    assert "2 failures: " in out
    assert "2 failed, 1 passed in" in out  # and no warning
    assert "Traceback" not in out
    assert "Warning" not in out


@pytest.mark.parametrize("behaviour", ["fail", "no-answer", "garbage"])
def test_a_controller_that_does_not_answer_is_one_warning(strict_suite, behaviour):
    suite, variables = strict_suite
    suite.write({"test_b.py": BROKEN})

    code, out = said_by(suite, "--flakehound", STAND_IN=behaviour, **variables)

    assert code == 1
    assert out.count("Warning") == 1, out
    assert "1 failed, 1 warning in" in out
    assert "Traceback" not in out


def test_a_green_run_has_no_warning(strict_suite):
    suite, variables = strict_suite

    code, out = said_by(suite.write({"test_c.py": STEADY}), "--flakehound", **variables)

    assert (code, "1 passed in" in out, "Warning" in out) == (0, True, False), out


def test_objects_that_reruns_leave_open_fail_no_test_and_not_the_run(strict_suite):
    suite, variables = strict_suite
    suite.write({"test_it.py": LEAKS})

    plain = outcome_lines(said_by(suite, "-rA", "--tb=no", **variables))
    ran = outcome_lines(said_by(suite, "--flakehound", "-rA", "--tb=no", STAND_IN="judge", **variables))

    assert ran == plain


def outcome_lines(ran: tuple[int, str]) -> tuple[int, list[str], bool]:
    code, out = ran
    words = ("PASSED", "FAILED", "ERROR")
    return code, sorted(line for line in out.splitlines() if line.startswith(words)), "Traceback" in out


def test_exceptions_of_threads_that_reruns_start_fail_no_other_test(strict_suite):
    suite, variables = strict_suite
    suite.write(
        {
            "test_it.py": """
                import threading, time

                def late():
                    time.sleep(0.1)
                    raise OSError("late")

                def test_starts():
                    threading.Thread(target=late).start()
                    assert 0

                def test_next(): time.sleep(0.5)
            """
        }
    )

    plain = outcome_lines(said_by(suite, "-rA", "--tb=no", **variables))
    ran = outcome_lines(
        said_by(suite, "--flakehound", "--flakehound-immediate=0", "-rA", "--tb=no", STAND_IN="judge", **variables)
    )

    assert ran[:2] == plain[:2]


def test_no_descriptor_and_no_child_is_left_after_the_controller_has_ended(suite):
    suite.write(
        {
            "test_it.py": BROKEN,
            "conftest.py": """
                import os, pytest

                def opened(): return sorted(os.listdir("/proc/self/fd"))

                @pytest.hookimpl(hookwrapper=True, tryfirst=True)
                def pytest_sessionfinish(session):
                    before = opened()
                    yield
                    try:
                        child = os.waitpid(-1, os.WNOHANG)
                    except ChildProcessError:
                        child = None
                    after = opened()
                    with open("calls.txt", "w") as file:
                        print(child, after == before, file=file)
            """,
        }
    )

    suite.run()

    assert suite.lines() == ["None True"]
    assert os.path.exists(suite.folder / "facts.json")
