"""Errors in our own code cause one warning and do not change the user's run."""

from __future__ import annotations

import pytest
from plugin_projects import BROKEN, FLAKY, STEADY, PytestResult, Suite, has

FILES = {
    "test_a.py": FLAKY,
    "test_b.py": """
        import pytest
        calls = []

        @pytest.fixture(scope="module")
        def room():
            calls.append("up")
            yield
            with open("calls.txt", "a") as file: file.write("down\\n")

        def test_green(room): pass
        def test_red(room): assert 0
        def test_after(room): assert calls == ["up"]
    """,
    "test_c.py": STEADY,
}
# Where a fault is planted: module, then attribute.
PLACES = [
    "listener:FailureListener._inspect",
    "session:TriageSession.__init__",
    "session:TriageSession._listen",
    "session:TriageSession._make_failed_tests",
    "session:TriageSession._rerun_postponed",
    "session:TriageSession._judge",
    "journal:attempt_of",
    "journal:SessionJournal.add",
    "journal:SessionJournal.add_failure",
    "failed_tests:FailedTests.add",
    "failed_tests:FailedTests.rerun_postponed",
    "random_generators:RandomGenerators.snapshot",
    "random_generators:RandomGenerators.restore",
    "random_generators:RandomGenerators.as_json",
    "threshold:Threshold.count_failure",
    "fresh_item:FailedItem.fresh_item",
    "rerun:Rerunner._rerun",
    "rerun:Rerunner._run_once",
    "rerun:_Protocol._excluded_plugins",
    "rerun:_log_handlers",
    "fresh_item:FailedFixtures.forget",
    "controller:facts_of",
    "controller:Controller.ask",
    "output.terminal:TriageOutput.set_answer",
    "output.terminal:TriageOutput.print",
    "output.terminal:_answer_lines",
]
PLANT = """
    import importlib

    module, path = "{place}".split(":")
    owner = importlib.import_module("flakehound_inside.triage." + module)
    *classes, attribute = path.split(".")
    for name in classes:
        owner = getattr(owner, name)

    def broken(*arguments, **named):
        raise RuntimeError("planted")

    setattr(owner, attribute, broken)
"""


@pytest.fixture(scope="module")
def plain(shared_suite: Suite) -> PytestResult:
    return shared_suite.write(FILES).plain("-rA", "--tb=no")


def outcome_lines(ran: PytestResult) -> list[str]:
    words = ("PASSED", "FAILED", "ERROR")
    return sorted(line for line in ran.out.splitlines() if line.startswith(words))


@pytest.mark.parametrize("place", PLACES)
def test_a_fault_of_ours_is_one_warning_and_changes_no_outcome(suite, plain, place):
    suite.write({**FILES, "conftest.py": PLANT.format(place=place)})

    ran = suite.run("-rA", "--tb=no")

    assert outcome_lines(ran) == outcome_lines(plain)
    assert ran.code == plain.code
    assert ran.out.count("PytestWarning: flakehound") == 1, ran.out
    assert "RuntimeError: planted" in ran.out
    assert "INTERNALERROR" not in ran.out + ran.err


@pytest.mark.skipif(not has("xdist"), reason="needs pytest-xdist")
@pytest.mark.parametrize(
    "place",
    [
        "xdist:XdistWorkers._shared_file",
        "xdist:_WorkerReports.add",
        "xdist:_WorkerReports.end_test",
        "xdist:XdistWorkers.journals",
        "session:TriageSession._send_to_controller",
        "failed_tests:FailedTests.add",
    ],
)
def test_an_error_of_ours_changes_no_outcome_of_workers_and_their_controller(suite, plain, place):
    suite.write({**FILES, "conftest.py": PLANT.format(place=place)})

    ran = suite.run("-rA", "--tb=no", "-n1")

    assert outcome_lines(ran) == outcome_lines(plain)
    assert ran.code == plain.code
    assert "PytestWarning: flakehound stands aside, pytest goes on without it: RuntimeError: planted" in ran.out
    assert "INTERNALERROR" not in ran.out + ran.err


def test_flakehound_does_nothing_if_tests_run_concurrently_in_one_process(suite):
    suite.write(
        {
            "test_it.py": "def test_a(): assert 0\ndef test_b(): pass\ndef test_c(): pass\n",
            "conftest.py": """
                import pytest

                @pytest.hookimpl(tryfirst=True)
                def pytest_runtest_protocol(item, nextitem):
                    if item.name == "test_a":
                        other = item.session.items.pop()
                        item.config.hook.pytest_runtest_protocol(item=other, nextitem=item)
            """,
        }
    )

    ran = suite.run()

    assert "SideBySide: another plugin runs tests side by side in one process" in ran.out
    assert ran.outcomes == "1 failed, 2 passed, 1 warning"


def test_the_warning_names_the_place_in_our_code(suite):
    suite.write({"test_it.py": BROKEN, "conftest.py": PLANT.format(place="controller:facts_of")})

    assert "RuntimeError: planted (session.py:" in suite.run().out


def test_a_fault_under_warnings_that_are_errors_changes_nothing_either(suite):
    suite.write({"test_it.py": BROKEN, "conftest.py": PLANT.format(place="failed_tests:FailedTests.add")})

    ran = suite.run("-W", "error")

    assert (ran.code, ran.outcomes) == (1, "1 failed, 1 warning")
