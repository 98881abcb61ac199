"""What the facts say of a red run."""

from __future__ import annotations

from typing import Any

import pytest
from plugin_projects import BROKEN, STEADY, PytestResult, Suite

FILES = {
    "test_all.py": """
        import pytest

        @pytest.fixture
        def broken_setup():
            raise OSError("no disk")

        @pytest.fixture
        def broken_teardown():
            yield
            raise ValueError("left over")

        def test_passes(): pass

        @pytest.mark.skip
        def test_skipped(): pass

        def test_fails():
            print("said before the failure")
            assert 1 == 2, "one is not two"

        def test_errs(broken_setup): pass

        def test_errs_late(broken_teardown): pass

        @pytest.mark.xfail(strict=True)
        def test_passes_against_expectation(): pass

        @pytest.mark.xfail
        def test_fails_as_expected(): assert 0

        @pytest.mark.xfail
        def test_passes_unexpectedly(): pass
    """
}


@pytest.fixture(scope="module")
def ran(shared_suite: Suite) -> PytestResult:
    return shared_suite.write(FILES).run("--flakehound-seed=100")


def test_the_facts_name_the_suite_and_how_it_was_started(ran, shared_suite):
    facts = ran.facts

    assert facts["schema"] == "flakehound/triage-facts/1"
    assert facts["rootdir"] == facts["cwd"] == str(shared_suite.folder)
    assert facts["tests"] == 8


def test_the_facts_hold_what_ran_in_its_order_with_outcome_and_time(ran):
    [session] = ran.facts["sessions"]

    assert session["worker"] == ""
    assert [test.partition("::")[2] for test in session["order"]] == [
        *("test_passes", "test_skipped", "test_fails", "test_errs", "test_errs_late"),
        *("test_passes_against_expectation", "test_fails_as_expected", "test_passes_unexpectedly"),
    ]
    assert session["outcomes"] == "PSFEEFxX"
    assert len(session["durations_us"]) == 8
    assert all(0 < duration_us < 60_000_000 for duration_us in session["durations_us"])


@pytest.mark.parametrize(
    ("conftest", "words"),
    [
        ("def pytest_report_teststatus(report): pass", ()),
        ("def pytest_runtest_protocol(item): pass", ()),
        ("", ("-p", "no:terminal")),
    ],
    ids=["names reports", "runs tests", "no terminal"],
)
def test_the_facts_are_the_same_with_a_plugin_that_changes_reports(ran, suite, conftest, words):
    heard = suite.write({**FILES, "conftest.py": conftest}).run("--flakehound-seed=100", *words)

    assert [one["outcomes"] for one in heard.facts["sessions"]] == ["PSFEEFxX"]
    assert [known(one) for one in heard.facts["failures"]] == [known(one) for one in ran.facts["failures"]]


def known(failure: dict[str, Any]) -> dict[str, Any]:
    """What does not change from run to run."""
    return {name: failure[name] for name in ("id", "place", "phase", "exception", "message", "reruns")}


def test_a_warning_of_a_failing_test_is_no_report(suite):
    suite.write({"test_a.py": "import warnings\ndef test_a():\n    warnings.warn('beware')\n    assert 0\n"})

    facts = suite.run().facts

    assert [failure["id"] for failure in facts["failures"]] == ["test_a.py::test_a"]


def test_every_failed_phase_is_a_failure_and_nothing_else(ran):
    told = {
        failure["id"].partition("::")[2]: (failure["phase"], failure["place"]) for failure in ran.facts["failures"]
    }

    assert told == {
        "test_fails": ("call", 2),
        "test_errs": ("setup", 3),
        "test_errs_late": ("teardown", 4),
        "test_passes_against_expectation": ("call", 5),
    }


def test_a_failure_is_reported_with_pytests_text(ran, shared_suite):
    failure = ran.failure("::test_fails")

    assert failure["exception"] == "AssertionError"
    assert failure["message"].startswith("AssertionError: one is not two\nassert 1 == 2")
    assert failure["where"].endswith("test_all.py:20")
    assert 'assert 1 == 2, "one is not two"' in failure["text"]
    assert "said before the failure" in failure["text"]
    assert failure["worker"] == ""


def test_a_failure_carries_the_random_state_that_it_started_with(ran):
    state = ran.failure("::test_fails")["random_state"]

    version, numbers, gauss = state["random"]
    assert (version, len(numbers), gauss) == (3, 625, None)
    assert (state["numpy"], state["seed"]) == (None, None)


def test_a_test_that_was_expected_to_fail_passes_when_it_fails(ran):
    assert ran.reruns("test_passes_against_expectation") == ["immediate F", "postponed F"]


def test_a_rerun_is_reported_with_its_seed_and_its_message(ran):
    first, second = ran.failure("::test_fails")["reruns"]

    assert (first["stage"], first["outcome"], first["seed"]) == ("immediate", "F", 101)
    assert (second["stage"], second["outcome"], second["seed"]) == ("postponed", "F", 102)
    assert first["message"].startswith("AssertionError: one is not two")
    assert set(first) == {"stage", "outcome", "seed", "message"}


def test_the_verdicts_stand_in_a_section_of_their_own(ran):
    section, summary = ran.out.index("= flakehound ="), ran.out.index("short test summary info")

    assert section < ran.out.index("UNDECIDED  test_all.py::test_fails  failed in every rerun") < summary


def test_the_exit_code_stays(ran):
    assert ran.code == 1


def test_a_passing_run_does_not_start_the_controller_and_prints_nothing(suite):
    suite.write({"test_it.py": STEADY})

    ran = suite.run()

    assert (ran.code, ran.facts) == (0, None)
    assert "flakehound" not in ran.out.partition("collected")[2]


def test_a_run_that_collects_nothing_does_not_start_the_controller(suite):
    ran = suite.run()

    assert (ran.code, ran.facts) == (5, None)


def test_an_error_of_collection_is_left_to_pytest(suite):
    suite.write({"test_it.py": "import nothing_of_this_name\n"})

    ran = suite.run()

    assert (ran.code, ran.facts) == (2, None)


def test_failures_are_judged_even_with_a_collection_error(suite):
    suite.write({"test_bad.py": "import nothing_of_this_name\n", "test_it.py": BROKEN})

    ran = suite.run("--continue-on-collection-errors")

    assert (ran.code, len(ran.facts["failures"])) == (1, 1)


@pytest.mark.parametrize(
    ("body", "code"), [("import pytest; pytest.exit('enough', 7)", 7), ("raise KeyboardInterrupt", 2)]
)
def test_a_run_that_was_cut_short_is_not_judged(suite, body, code):
    suite.write({"test_a.py": BROKEN, "test_b.py": f"def test_end(): {body}\n"})

    ran = suite.run("--flakehound-immediate=0")

    assert (ran.code, ran.facts) == (code, None)


def test_an_internal_error_is_left_to_pytest(suite):
    suite.write(
        {
            "test_a.py": BROKEN,
            "test_b.py": STEADY,
            "conftest.py": """
                def pytest_runtest_logstart(nodeid):
                    assert "test_b" not in nodeid
            """,
        }
    )

    ran = suite.run()

    assert (ran.code, ran.facts) == (3, None)
    assert "INTERNALERROR" in ran.out
