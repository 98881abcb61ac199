"""`flakehound hunt`: what it finds, prints, writes and returns."""

from __future__ import annotations

import json

import pytest
from cli_projects import QUICK, SHOP_KINDS, commands_in, flakehound_in, parsed, paste, write_project


def report_of(hunted):
    return json.loads(hunted.json_file.read_text(encoding="utf-8"))


def told_about(hunted, name):
    return next(test for test in report_of(hunted)["tests"] if test["id"].endswith(f"::{name}"))


# Exit codes


def test_a_suite_with_flaky_tests_ends_with_code_1(shop):
    assert shop.said.code == 1


def test_a_suite_without_a_fault_ends_with_code_0(calm):
    assert calm.said.code == 0, calm.said.err


# What is found


def test_every_kind_is_found_in_a_real_suite(shop):
    found = {test["id"].rpartition("::")[2]: test["kind"] for test in report_of(shop)["tests"]}

    assert found == SHOP_KINDS


def test_the_victim_and_the_brittle_test_are_told_with_their_other_test(shop):
    assert told_about(shop, "test_victim")["polluters"] == ["test_shop.py::test_ban"]
    assert told_about(shop, "test_brittle")["state_setters"] == ["test_shop.py::test_open"]


# The report on the screen


def test_the_report_names_each_flaky_test_with_its_kind_and_ends_with_a_command(shop):
    for label, name in (
        ("NOD", "luck"),
        ("VICTIM", "victim"),
        ("BRITTLE", "brittle"),
        ("NON-IDEMPOTENT", "again"),
    ):
        assert f"test_shop.py::test_{name}" in next(
            line for line in shop.said.out.splitlines() if line.startswith(label)
        )

    assert commands_in(shop.said.out.splitlines()[-1])


def test_output_that_goes_to_no_terminal_has_no_escape_codes(shop):
    assert "\x1b" not in shop.said.out + shop.said.err


def test_every_command_the_report_prints_is_understood_by_our_own_parser(shop):
    commands = commands_in(shop.said.out)

    assert len(commands) >= 5
    for command in commands:
        parsed(command)


def test_progress_goes_to_the_error_stream_and_names_the_seed(shop):
    assert "seed 3" in shop.said.err
    assert "hunting" not in shop.said.out


def test_a_quiet_hunt_says_nothing_on_the_error_stream(calm):
    assert calm.said.err == ""
    assert "2 tests" in calm.said.out


# The report as JSON


def test_the_json_report_follows_the_contract(shop):
    report = report_of(shop)

    assert report["schema"] == "flakehound/report/1"
    assert {"wall_s", "cpu_s", "test_runs", "processes"} <= set(report["spent"])
    assert {"tests", "original_order_s", "python", "pytest", "commit"} <= set(report["suite"])
    assert report["suite"]["tests"] == len(report["tests"]) == len(SHOP_KINDS)
    assert report["seed"] == 3


def test_every_test_in_the_json_report_has_all_keys_of_the_contract(shop):
    keys = {
        "id", "kind", "runs", "failure_rate", "polluters", "state_setters", "cleaners", "causes", "prior",
        "minimal_order", "replay",
    }  # fmt: skip

    for test in report_of(shop)["tests"]:
        assert keys <= set(test)
        assert {"original", "shuffled", "alone", "repeated"} <= set(test["runs"])
        assert all({"n", "failed"} <= set(tally) for tally in test["runs"].values())
        assert test["failure_rate"]["low"] <= test["failure_rate"]["mean"] <= test["failure_rate"]["high"]
        assert all({"cause", "evidence"} <= set(cause) for cause in test["causes"])


def test_runs_and_shuffles_are_exact(calm):
    runs = report_of(calm)["runs"]

    assert runs["original"] == 3
    # Two tests have one other order.
    assert runs["shuffled"] == 1


def test_replay_commands_in_the_json_report_are_understood_by_our_own_parser(shop):
    commands = [test["replay"] for test in report_of(shop)["tests"] if test["replay"]]

    assert len(commands) == 5
    for command in commands:
        parsed(command)


def test_the_json_report_replaces_an_older_file(project):
    (project / "report.json").write_text("old words, longer than any report " * 2000)

    said = flakehound_in(project, "hunt", *QUICK, "-q", "--json", "report.json", "test_calm.py::test_one")

    assert said.code == 0, said.err
    assert len(json.loads((project / "report.json").read_text())["tests"]) == 1


# Arguments for pytest


def test_options_for_pytest_follow_two_dashes(project):
    said = flakehound_in(project, "hunt", *QUICK, "-q", "--json", "report.json", "--", "-k", "two")

    assert said.code == 0, said.err
    report = json.loads((project / "report.json").read_text())
    assert [test["id"] for test in report["tests"]] == ["test_calm.py::test_two"]


def test_a_budget_is_kept(project):
    said = flakehound_in(project, "hunt", "--policy", "rerun", "--budget", "3s", "--json", "report.json")

    assert said.code == 0, said.err
    assert 2.0 < json.loads((project / "report.json").read_text())["spent"]["wall_s"] < 12.0


def test_files_that_cannot_be_collected_twice_at_once_are_collected_one_after_the_other(tmp_path):
    source = """
        import os, time

        if not os.path.exists("made_by_import"):
            time.sleep(1.5)  # longer than two sessions are apart
            os.mkdir("made_by_import")

        def test_a():
            assert os.path.isdir("made_by_import")
    """
    folder = write_project(tmp_path / "racing", {"pytest.ini": "[pytest]\n", "test_a.py": source})

    said = flakehound_in(folder, "hunt", *QUICK, "-q")

    assert said.code == 0, said.err
    assert "1 steady" in said.out


def test_a_fresh_project_is_not_said_to_write_lasting_files_because_of_pytests_own_cache(tmp_path):
    folder = write_project(
        tmp_path / "fresh", {"pytest.ini": "[pytest]\n", "test_a.py": "def test_a():\n    pass\n"}
    )

    said = flakehound_in(folder, "hunt", *QUICK, "-q")

    assert said.code == 0
    assert "lasting files" not in said.out


def test_a_suite_that_writes_lasting_files_is_hunted_as_thoroughly_as_any_other(tmp_path):
    tests = [
        f"def test_{name}():\n    assert '{name}' not in seen\n    seen.add('{name}')\n"
        "    open('log.txt', 'a').write('x')\n"
        for name in "abcdef"
    ]
    folder = write_project(tmp_path / "writes", {"test_w.py": "seen = set()\n" + "".join(tests)})

    said = flakehound_in(folder, "hunt", *QUICK, "-q", "--json", "report.json")

    assert "lasting files" in said.out
    found = [test["kind"] for test in json.loads((folder / "report.json").read_text())["tests"]]
    assert found == ["non-idempotent"] * 6
    assert not (folder / "log.txt").exists()


# Names that a shell would take apart

AWKWARD = ["a b", "it's", 'say "hi"', "x[1]", "$HOME", "a;b", "back\\slash", "a::b", "--seed", "*", "naïve-日本"]


@pytest.fixture(scope="module")
def awkward(tmp_path_factory):
    cases = ", ".join(f"pytest.param({number}, id={name!r})" for number, name in enumerate(AWKWARD))
    files = {
        "pytest.ini": "[pytest]\naddopts = -p no:cacheprovider\n"
        "disable_test_id_escaping_and_forfeit_all_rights_to_community_support = true\n",
        "my tests/test_spaß.py": f"""
            import pytest
            seen = set()

            @pytest.mark.parametrize("number", [{cases}])
            def test_once(number):
                assert number not in seen
                seen.add(number)
        """,
    }
    folder = write_project(tmp_path_factory.mktemp("awkward project"), files)
    said = flakehound_in(folder, "hunt", *QUICK, "-q", "--pairs", "none", "--json", "report.json")
    assert said.code == 1, said.err
    return folder, said, json.loads((folder / "report.json").read_text(encoding="utf-8"))


def test_tests_with_awkward_names_are_told_under_their_own_names(awkward):
    _folder, _said, report = awkward

    ids = [test["id"] for test in report["tests"]]
    assert ids == [f"my tests/test_spaß.py::test_once[{name}]" for name in AWKWARD]
    assert {test["kind"] for test in report["tests"]} == {"non-idempotent"}


def test_commands_about_awkward_names_reach_our_parser_unharmed(awkward):
    _folder, said, report = awkward

    named = {parsed(command).params["test"] for command in commands_in(said.out)}
    assert named == {test["id"] for test in report["tests"]}


@pytest.mark.parametrize("number", [0, 1, 2, 6, 10], ids=["space", "quote", "quotes", "backslash", "unicode"])
def test_replay_of_an_awkward_name_works_when_pasted(awkward, number):
    folder, _said, report = awkward

    said = paste(folder, report["tests"][number]["replay"])

    assert said.code == 1, said.err
    assert said.out.startswith("FAILED  my tests/test_spaß.py::test_once[")
