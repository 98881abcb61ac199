"""The outputs of verdicts: JUnit and GitHub."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from plugin_projects import BROKEN, FLAKY, STEADY, Suite, has

from flakehound_inside.triage.output.github import GitHubJob
from flakehound_inside.triage.output.junit import write_verdicts

LATER = """
    calls = []

    def test_later():
        calls.append(1)
        assert len(calls) > 2, "at the %d. time" % len(calls)
"""
BAD_FIXTURE = """
    import pytest

    @pytest.fixture
    def bad(): raise OSError("no disk")

    def test_errs(bad): pass
"""


@pytest.fixture(scope="module")
def junit(shared_suite: Suite) -> dict[str, ElementTree.Element]:
    """The test cases of a JUnit file, by name."""
    bodies = {"a": FLAKY, "b": BROKEN, "c": LATER, "d": BAD_FIXTURE, "e": STEADY}
    shared_suite.write({f"test_{name}.py": body for name, body in bodies.items()})
    shared_suite.run("--junitxml=out/junit.xml", "--flakehound-seed=4")
    return cases(shared_suite)


def cases(suite: Suite) -> dict[str, ElementTree.Element]:
    tree = ElementTree.parse(suite.folder / "out/junit.xml")
    return {case.get("name"): case for case in tree.iter("testcase")}


def properties(case: ElementTree.Element) -> dict[str, str]:
    return {found.get("name"): found.get("value") for found in case.iter("property")}


def tags(case: ElementTree.Element) -> list[str]:
    return [child.tag for child in case]


def test_a_failed_test_has_its_verdict_as_properties(junit):
    assert properties(junit["test_flaky"]) == {
        "flakehound.verdict": "flaky",
        "flakehound.kind": "not-bursty",
        "flakehound.stage": "immediate",
        "flakehound.evidence": "passed in the immediate rerun",
    }
    assert properties(junit["test_broken"]) == {
        "flakehound.verdict": "undecided",
        "flakehound.evidence": "failed in every rerun",
    }


def test_the_failure_stays_and_every_failed_attempt_of_a_flaky_test_is_added(junit):
    assert tags(junit["test_flaky"]) == ["properties", "failure", "flakyFailure"]
    assert tags(junit["test_later"]) == ["properties", "failure", "flakyFailure", "flakyFailure"]
    first, second = junit["test_later"].findall("flakyFailure")
    assert first.get("message").startswith("AssertionError: at the 1. time")
    assert second.get("message").startswith("AssertionError: at the 2. time")


def test_the_reruns_of_a_test_that_never_passed_are_added_to_its_failure(junit):
    assert tags(junit["test_broken"]) == ["properties", "failure", "rerunFailure", "rerunFailure"]
    rerun = junit["test_broken"].find("rerunFailure")
    assert rerun.get("message").startswith("AssertionError: one is not two")
    assert rerun.get("type") == "AssertionError"
    assert 'assert 1 == 2, "one is not two"' in rerun.find("stackTrace").text
    assert rerun.find("system-out").text == "flakehound: immediate rerun, seed 5"


def test_an_error_of_setup_is_an_error_in_the_reruns_too(junit):
    assert tags(junit["test_errs"]) == ["properties", "error", "rerunError", "rerunError"]


def test_a_test_that_passed_is_left_alone(junit):
    assert tags(junit["test_steady"]) == []


def test_the_numbers_of_the_file_are_those_of_pytest(junit, shared_suite):
    [totals] = ElementTree.parse(shared_suite.folder / "out/junit.xml").iter("testsuite")

    assert [totals.get(name) for name in ("tests", "failures", "errors")] == ["5", "3", "1"]


@pytest.mark.skipif(not has("xdist"), reason="needs pytest-xdist")
def test_prefix_classes_parameters_and_workers_are_found_again(suite):
    suite.write(
        {
            "deep/test_a.py": """
                import pytest

                class TestIt:
                    @pytest.mark.parametrize("value", ["a::b", "c/d", "\\x07", "[x]"])
                    def test_it(self, value): assert 0
            """
        }
    )

    suite.run("--junitxml=out/junit.xml", "--junitprefix=all", "-n2")

    verdicts = {name: properties(case).get("flakehound.verdict") for name, case in cases(suite).items()}
    assert set(verdicts.values()) == {"undecided"}
    assert len(verdicts) == 4


def test_a_test_that_failed_and_could_not_be_torn_down_has_its_verdict_twice_and_its_attempts_once(suite):
    suite.write(
        {
            "test_a.py": """
                import pytest

                @pytest.fixture
                def bad():
                    yield
                    raise OSError("no disk")

                def test_both(bad): assert 0
            """
        }
    )

    suite.run("--junitxml=out/junit.xml")

    tree = ElementTree.parse(suite.folder / "out/junit.xml")
    both = [tags(case) for case in tree.iter("testcase")]
    assert both == [["properties", "failure", "rerunFailure", "rerunFailure"], ["properties", "error"]]


def test_captured_output_comes_after_the_attempts(suite):
    suite.write({"test_a.py": "def test_a():\n    print('said')\n    assert 0\n"})

    suite.run("--junitxml=out/junit.xml", "-o", "junit_logging=all")

    assert tags(cases(suite)["test_a"])[:4] == ["properties", "failure", "rerunFailure", "rerunFailure"]
    assert "system-out" in tags(cases(suite)["test_a"])[4:]


def test_properties_of_the_test_itself_stay(suite):
    suite.write({"test_a.py": "def test_a(record_property):\n    record_property('mine', 1)\n    assert 0\n"})

    suite.run("--junitxml=out/junit.xml", "-o", "junit_family=xunit1")

    assert properties(cases(suite)["test_a"]) == {
        "mine": "1",
        "flakehound.verdict": "undecided",
        "flakehound.evidence": "failed in every rerun",
    }


def test_reruns_by_the_controller_are_reported_with_their_stage(tmp_path):
    path = tmp_path / "junit.xml"
    path.write_text('<testsuites><testcase classname="test_a" name="test_a"><failure/></testcase></testsuites>')
    verdict = {
        "id": "test_a.py::test_a",
        "verdict": "flaky",
        "reruns": [
            {"stage": "immediate", "outcome": "F", "seed": 1},
            {"stage": "forked", "outcome": "C", "seed": None},
            {"stage": "forked", "outcome": "P", "seed": 3},
        ],
    }
    failure = {"id": "test_a.py::test_a", "phase": "setup", "message": "m", "exception": "E", "text": "t"}
    failure["reruns"] = [{"stage": "immediate", "outcome": "F", "seed": 1, "message": "inside", "text": "trace"}]

    write_verdicts(str(path), None, [verdict], [failure])

    case = ElementTree.parse(path).find("testcase")
    assert tags(case) == ["properties", "failure", "flakyError", "flakyFailure", "flakyError"]
    assert [child.get("message") for child in case][2:] == ["m", "inside", "failed in the forked rerun"]
    assert case[4].find("system-out").text == "flakehound: forked rerun"


def test_a_failure_that_is_likely_real_is_not_called_flaky_because_a_rerun_passed(tmp_path):
    path = tmp_path / "junit.xml"
    path.write_text('<testsuites><testcase classname="test_a" name="test_a"><failure/></testcase></testsuites>')
    reruns = [{"stage": "immediate", "outcome": "P", "seed": 1}, {"stage": "forked", "outcome": "F", "seed": 2}]
    verdict = {"id": "test_a.py::test_a", "verdict": "likely-real", "reruns": reruns}

    write_verdicts(str(path), None, [verdict], [])

    assert tags(ElementTree.parse(path).find("testcase")) == ["properties", "failure", "rerunFailure"]


def test_a_file_that_cannot_be_read_again_is_a_warning(suite):
    suite.write(
        {
            "test_a.py": BROKEN,
            "conftest.py": """
                import pytest

                @pytest.hookimpl(hookwrapper=True)
                def pytest_sessionfinish(session):
                    yield

                class Spoiler:
                    @pytest.hookimpl(tryfirst=True)
                    def pytest_sessionfinish(self, session):
                        import os
                        os.makedirs("out/junit.xml.part")

                def pytest_configure(config): config.pluginmanager.register(Spoiler())
            """,
        }
    )

    ran = suite.run("--junitxml=out/junit.xml")

    assert "flakehound could not write its verdicts into the JUnit file: IsADirectoryError" in ran.out
    assert "UNDECIDED" in ran.out
    assert tags(cases(suite)["test_broken"]) == ["failure"]


@pytest.fixture
def job(tmp_path) -> dict[str, str]:
    """The environment of a job of GitHub Actions whose checkout is the folder above the suite."""
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_WORKSPACE": str(tmp_path),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }


def test_github_gets_a_warning_for_what_is_flaky_and_an_error_for_the_rest(suite, job, tmp_path):
    suite.write({"test_a.py": FLAKY, "test_b.py": BROKEN})

    ran = suite.run(**job)

    lines = [line for line in ran.out.splitlines() if line.startswith("::")]
    assert lines == [
        "::warning file=suite/test_a.py,line=4,title=flaky test::"
        "test_a.py::test_flaky: passed in the immediate rerun",
        "::error file=suite/test_b.py,line=2,title=undecided failure::"
        "test_b.py::test_broken: failed in every rerun",
    ]
    assert (tmp_path / "summary.md").read_text().splitlines() == [
        "### flakehound",
        "",
        "| test | verdict | evidence |",
        "|---|---|---|",
        "| `test_a.py::test_flaky` | flaky (not-bursty) | passed in the immediate rerun |",
        "| `test_b.py::test_broken` | undecided | failed in every rerun |",
        "",
    ]


def test_outside_github_no_workflow_command_is_printed(suite):
    ran = suite.write({"test_b.py": BROKEN}).run()

    assert "::error" not in ran.out


def test_characters_that_end_a_command_of_github_are_escaped():
    github = GitHubJob({"GITHUB_ACTIONS": "true"}, "/root,dir")
    verdict = {"id": "a:b.py::test[%]", "verdict": "likely-real", "evidence": "first\r\nsecond: 100%"}

    [line] = github.annotations([verdict], [])

    assert line == (
        "::error file=/root%2Cdir/a%3Ab.py,title=likely a real failure::"
        "a:b.py::test[%25]: first%0D%0Asecond: 100%25"
    )


def test_characters_that_end_a_cell_of_the_summary_are_escaped(tmp_path):
    github = GitHubJob({"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}, "/root")
    (tmp_path / "summary.md").write_text("before\n")

    github.append_summary([{"id": "a.py::t[a|b]", "verdict": "flaky", "evidence": "one\ntwo <b>"}])

    text = (tmp_path / "summary.md").read_text()
    assert text.startswith("before\n### flakehound\n")
    assert "| `a.py::t[a\\|b]` | flaky | one two &lt;b> |" in text
