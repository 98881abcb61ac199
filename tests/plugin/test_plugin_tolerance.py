"""`--flakehound-tolerate`: what is tolerated and why, and which exit status always stays."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest
from plugin_projects import BROKEN, FLAKY, STEADY, PytestResult, Suite, has, pytest_version


def run_tolerant(suite: Suite, *arguments: str, **variables: str) -> PytestResult:
    return suite.run("--flakehound-tolerate", *arguments, **variables)


def test_a_run_whose_every_failure_is_flaky_may_be_tolerated(suite):
    ran = run_tolerant(suite.write({"test_a.py": FLAKY, "test_b.py": STEADY}), "--junitxml=out/junit.xml")

    assert (ran.code, ran.outcomes) == (0, "1 failed, 1 passed")
    assert "tolerated: 1 flaky\n" in ran.out
    assert "<failure" in (suite.folder / "out/junit.xml").read_text()


def test_without_the_option_a_flaky_run_still_fails(suite):
    ran = suite.write({"test_a.py": FLAKY}).run()

    assert ran.code == 1
    assert "tolerated" not in ran.out


def test_a_run_with_one_failure_that_is_not_flaky_still_fails(suite):
    ran = run_tolerant(suite.write({"test_a.py": FLAKY, "test_b.py": BROKEN}))

    assert ran.code == 1
    assert "not tolerated: 1 undecided" in ran.out


def test_a_run_that_stopped_early_is_not_tolerated(suite):
    ran = run_tolerant(suite.write({"test_a.py": FLAKY, "test_b.py": STEADY}), "-x")

    assert ran.code == 1
    assert "not tolerated: the run was stopped before its last test" in ran.out


def test_an_error_of_collection_is_not_tolerated(suite):
    suite.write({"test_a.py": FLAKY, "test_b.py": "import nothing_of_this_name\n"})

    ran = run_tolerant(suite, "--continue-on-collection-errors")

    assert ran.code == 1
    assert "not tolerated: pytest counts 2 failures, and 1 are of tests" in ran.out


def test_an_answer_that_leaves_a_failure_out_tolerates_nothing(suite):
    answer = {"triage": {"failures": [], "tolerable": True}, "summary": [], "notes": []}

    ran = run_tolerant(suite.write({"test_a.py": FLAKY}), STAND_IN_ANSWER=json.dumps(answer))

    assert ran.code == 1
    assert "not tolerated: test_a.py::test_flaky was not judged" in ran.out


@pytest.mark.skipif(pytest_version() < (9, 0) and not has("pytest_subtests"), reason="needs subtests")
def test_failed_subtests_may_be_tolerated(suite):
    suite.write(
        {
            "test_a.py": """
                calls = []

                def test_it(subtests):
                    calls.append(1)
                    for number in range(3):
                        with subtests.test(number=number):
                            assert number == 0 or len(calls) > 1
            """
        }
    )

    assert run_tolerant(suite, *(() if pytest_version() >= (9, 0) else ("-p", "subtests"))).code == 0


def answer_with(*failures: dict, tolerable: bool = True) -> str:
    """An answer of the controller, whose failures are completed."""
    verdicts = [{"evidence": "", "reruns": [], **failure} for failure in failures]
    return json.dumps({"triage": {"failures": verdicts, "tolerable": tolerable}, "summary": [], "notes": []})


RED = {"test_a.py": "def test_1(): assert 0\ndef test_2(): assert 0\ndef test_3(): assert 0\n"}
PROVEN = [{"id": f"test_a.py::test_{number}", "verdict": "flaky", "tolerable": True} for number in (1, 2, 3)]


def test_what_was_tolerated_is_counted_with_its_reasons(suite):
    why = {"why_tolerable": "fail as often at 1a2b3c"}
    failures = [{**PROVEN[0], **why}, {**PROVEN[1], **why}, {**PROVEN[2], "verdict": "unrelated"}]

    ran = run_tolerant(suite.write(RED), STAND_IN_ANSWER=answer_with(*failures))

    assert ran.code == 0
    assert "\ntolerated: 2 flaky (fail as often at 1a2b3c), 1 broken before\n" in ran.out
    assert "proven flaky" not in ran.out


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ({"verdict": "undecided", "tolerable": False}, "1 undecided"),
        ({"verdict": "likely-real", "tolerable": False}, "1 likely real"),
        ({"verdict": "unrelated", "tolerable": False}, "1 unrelated without proof"),
        ({"verdict": "flaky", "tolerable": "yes"}, "1 flaky without proof"),
        ({"verdict": "flaky"}, "1 flaky without proof"),
    ],
)
def test_one_failure_without_proof_is_enough_to_tolerate_nothing(suite, last, said):
    failures = [*PROVEN[:2], {"id": "test_a.py::test_3", **last}]

    ran = run_tolerant(suite.write(RED), STAND_IN_ANSWER=answer_with(*failures))

    assert ran.code == 1
    assert f"\nnot tolerated: {said}\n" in ran.out


def test_verdicts_that_are_not_tolerable_as_a_whole_are_not_tolerated(suite):
    ran = run_tolerant(suite.write(RED), STAND_IN_ANSWER=answer_with(*PROVEN, tolerable=False))

    assert ran.code == 1
    assert "not tolerated: the verdicts are not proven as a whole" in ran.out


# Ways in which a conftest sets the exit status, and the status that it sets.
STATUS_SETTERS = {
    "a hook": """
        def pytest_sessionfinish(session): session.exitstatus = {status}
    """,
    "the first hook": """
        import pytest
        @pytest.hookimpl(tryfirst=True)
        def pytest_sessionfinish(session): session.exitstatus = {status}
    """,
    "the last hook": """
        import pytest
        @pytest.hookimpl(trylast=True)
        def pytest_sessionfinish(session): session.exitstatus = {status}
    """,
    "a wrapper, before": """
        import pytest
        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_sessionfinish(session):
            session.exitstatus = {status}
            yield
    """,
    "a wrapper, afterwards": """
        import pytest
        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_sessionfinish(session):
            yield
            session.exitstatus = {status}
    """,
    "the inner wrapper, afterwards": """
        import pytest
        @pytest.hookimpl(hookwrapper=True, trylast=True)
        def pytest_sessionfinish(session):
            yield
            session.exitstatus = {status}
    """,
    "the summary": """
        def pytest_terminal_summary(terminalreporter): terminalreporter._session.exitstatus = {status}
    """,
    "a plugin that is registered during the tests": """
        import pytest

        class Late:
            @pytest.hookimpl(tryfirst=True)
            def pytest_sessionfinish(self, session): session.exitstatus = {status}

        def pytest_runtest_setup(item):
            if not item.config.pluginmanager.hasplugin("late"):
                item.config.pluginmanager.register(Late(), "late")
    """,
}


@pytest.mark.parametrize(
    ("way", "status"),
    [("a hook", "pytest.ExitCode.TESTS_FAILED"), *((way, status) for way in STATUS_SETTERS for status in (1, 3))],
)
def test_an_exit_status_that_another_plugin_sets_stays(suite, way, status):
    code = "import pytest\n" + dedent(STATUS_SETTERS[way]).format(status=status)

    ran = run_tolerant(suite.write({"test_a.py": FLAKY, "conftest.py": code}))

    assert ran.code == (status if isinstance(status, int) else 1)
    assert f"another plugin or a conftest has set the exit status to {ran.code}" in ran.out


@pytest.mark.parametrize("name", ["testsfailed", "shouldfail"])
def test_a_failure_that_another_plugin_counts_at_the_end_is_not_tolerated(suite, name):
    code = f"""
        import pytest

        @pytest.hookimpl(hookwrapper=True)
        def pytest_sessionfinish(session):
            yield
            session.{name} += 1
    """
    if name == "shouldfail":
        code = code.replace("+= 1", '= "stop"')

    ran = run_tolerant(suite.write({"test_a.py": FLAKY, "conftest.py": code}))

    assert ran.code == 1
    assert "not tolerated after all: something else failed at the end" in ran.out


def test_a_plugin_that_ends_pytest_at_the_end_is_not_tolerated(suite):
    code = """
        import pytest

        def pytest_terminal_summary(): pytest.exit("the check of the licence failed", returncode=9)
    """

    ran = run_tolerant(suite.write({"test_a.py": FLAKY, "conftest.py": code}))

    assert ran.code == suite.plain().code
    assert ran.code == 9 or pytest_version() < (7, 0)  # whose own wrappers warn of it


def test_other_plugins_see_the_status_as_pytest_gave_it_until_the_failures_are_tolerated(suite):
    code = """
        import pytest

        def note(status):
            same = status == pytest.ExitCode(int(status)) and {status: 1}.get(pytest.ExitCode(int(status)))
            with open("calls.txt", "a") as file:
                print(repr(status), status.name, isinstance(status, pytest.ExitCode), same, file=file)

        def pytest_sessionfinish(session, exitstatus):
            note(session.exitstatus)
            note(exitstatus)

        def pytest_unconfigure(config):
            note(config.pluginmanager.getplugin("session").exitstatus)
    """

    ran = run_tolerant(suite.write({"test_a.py": FLAKY, "conftest.py": code}))

    assert ran.code == 0, ran.out
    red, green = "<ExitCode.TESTS_FAILED: 1> TESTS_FAILED True 1", "<ExitCode.OK: 0> OK True 1"
    assert suite.lines() == [red, red, green]


def test_a_fault_of_ours_tolerates_nothing(suite):
    code = """
        from flakehound_inside.triage import tolerance

        def broken(*_arguments): raise RuntimeError("planted")

        tolerance._counts = broken
    """

    ran = run_tolerant(suite.write({"test_a.py": FLAKY, "conftest.py": code}))

    assert ran.code == 1
    assert "RuntimeError: planted" in ran.out
