"""pytest-xdist: workers rerun, the controller decides."""

from __future__ import annotations

from pathlib import Path

import pytest
from plugin_projects import BROKEN, FLAKY, STEADY, PytestResult, Suite, has

pytestmark = pytest.mark.skipif(not has("xdist"), reason="needs pytest-xdist")

FILES = {"test_a.py": FLAKY, "test_b.py": BROKEN, "test_c.py": STEADY, "test_d.py": STEADY}


@pytest.fixture(scope="module")
def temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("temp")


@pytest.fixture(scope="module")
def red_run(shared_suite: Suite, temporary_folder: Path) -> PytestResult:
    """One run with two workers that several tests look at."""
    return shared_suite.write(FILES).run("-n2", "--flakehound-seed=70", TMPDIR=str(temporary_folder))


def assert_facts_of_all_workers(ran: PytestResult) -> None:
    assert ran.facts is not None
    assert ran.reruns("test_flaky") == ["immediate P", "immediate P same state"]
    assert ran.reruns("test_broken") == ["immediate F", "postponed F"]
    assert sorted("".join(session["outcomes"] for session in ran.facts["sessions"])) == ["F", "F", "P", "P"]
    assert (ran.facts["tests"], ran.code) == (4, 1)
    assert ran.outcomes == "2 failed, 2 passed"


def test_workers_rerun_and_send_their_facts_to_the_controller(red_run):
    assert_facts_of_all_workers(red_run)


@pytest.mark.parametrize(
    "arguments",
    [
        ("-n1", "--dist=loadscope"),
        ("-n2", "--dist=worksteal"),
        ("-n3", "--maxprocesses=1"),
        ("-n1", "--dist=loadgroup"),
    ],
)
def test_workers_send_their_facts_under_every_scheduler(suite, arguments):
    assert_facts_of_all_workers(suite.write(FILES).run(*arguments))


def test_a_failure_is_at_its_place_in_the_order_of_its_worker(red_run):
    orders = {session["worker"]: session["order"] for session in red_run.facts["sessions"]}
    assert all(worker.startswith("gw") for worker in orders)
    for failure in red_run.facts["failures"]:
        assert orders[failure["worker"]][failure["place"]] == failure["id"]


def test_without_workers_the_run_is_an_ordinary_one(suite):
    ran = suite.write(FILES).run("-n0")

    assert ran.reruns("test_flaky") == ["immediate P", "immediate P same state"]
    assert [session["worker"] for session in ran.facts["sessions"]] == [""]


def test_all_workers_count_their_seeds_from_the_same(red_run):
    assert {failure["reruns"][0]["seed"] for failure in red_run.facts["failures"]} == {71}
    assert red_run.facts["options"]["seed"] == 70


def test_a_test_that_kills_its_worker_has_no_reruns(suite):
    suite.write(
        {"test_a.py": FLAKY, "test_b.py": "import os\ndef test_dies(): os._exit(1)\n", "test_c.py": BROKEN}
    )

    ran = suite.run("-n1")

    assert ran.reruns("test_dies") == []
    assert ran.failure("test_dies")["phase"] == "call"
    assert "crashed while running" in ran.failure("test_dies")["message"]
    assert ran.reruns("test_broken") == ["immediate F", "postponed F"]
    assert [session["outcomes"] for session in ran.facts["sessions"]] == ["FC", "F"]
    assert len(ran.facts["failures"]) == 3


def test_failures_of_all_workers_are_counted_together(suite):
    body = """
        import pytest

        @pytest.mark.parametrize("number", range(8))
        def test_many(number): assert 0
    """
    suite.write({f"test_{letter}.py": body for letter in "abc"})

    ran = suite.run("-n2", "--dist=loadfile")

    assert ran.facts["not_rerun"].startswith("more than 10 of 24 tests failed")
    assert ran.facts["not_rerun"] in ran.out
    assert sum(bool(failure["reruns"]) for failure in ran.facts["failures"]) <= 10


def test_failures_are_judged_after_the_first_ended_the_run(suite):
    ran = suite.write({"test_a.py": BROKEN, "test_b.py": BROKEN}).run("-n1", "-x")

    assert ran.reruns("test_a.py::test_broken") == ["immediate F", "postponed F"]
    assert ran.code == suite.plain("-n1", "-x").code


def test_a_tolerant_run_counts_what_the_workers_report(suite):
    ran = suite.write({"test_a.py": FLAKY, "test_b.py": STEADY}).run("-n1", "--flakehound-tolerate")

    assert (ran.code, ran.outcomes) == (0, "1 failed, 1 passed")
    assert "tolerated: 1 flaky\n" in ran.out


def test_a_passing_run_does_not_start_the_controller(suite):
    ran = suite.write({"test_a.py": STEADY}).run("-n1")

    assert (ran.code, ran.facts) == (0, None)


def test_text_that_execnet_cannot_send_arrives(suite):
    suite.write(
        {
            "test_it.py": """
                calls = []

                def test_it():
                    calls.append(1)
                    assert 0, "first" if len(calls) == 1 else "\\udc80"
            """
        }
    )

    ran = suite.run("-n1")

    assert "\udc80" in ran.failure("test_it")["reruns"][0]["message"]


def test_nothing_is_left_in_the_temporary_folder(red_run, temporary_folder):
    assert [path.name for path in temporary_folder.iterdir() if path.name.startswith("fh-")] == []
