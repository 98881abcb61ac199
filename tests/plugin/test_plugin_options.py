"""Every option: on the command line, in the environment, in pytest.ini, and what is said of a bad one."""

from __future__ import annotations

import re
import shlex

import pytest
from plugin_projects import BROKEN, FLAKY, STEADY, Suite, pytest_version

from flakehound_inside.triage.options import without_own_options

REVEAL = """
    import json, pytest

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(session):
        triage = session.config.pluginmanager.getplugin("flakehound-triage")
        options = None if triage is None else {**triage._options.__dict__}
        with open("options.json", "w") as file:
            json.dump(options, file)
"""
DEFAULTS = {
    "immediate": 1,
    "postponed": 1,
    "forked": 3,
    "threshold": 0.01,
    "since": None,
    "intersect": True,
    "check_base": False,
    "time_s": 60.0,
    "tolerate": False,
    "json": None,
    "store": None,
}


@pytest.fixture
def suite_that_shows_options(suite: Suite) -> Suite:
    return suite.write({"test_it.py": STEADY, "conftest.py": REVEAL})


def options(suite: Suite, *arguments: str, ini: str = "", **variables: str) -> dict | None:
    import json

    suite.write({"pytest.ini": "[pytest]\n" + ini})
    ran = suite.plain(*arguments, **variables)
    assert ran.code == 0, ran.out + ran.err
    return json.loads((suite.folder / "options.json").read_text())


def usage_error(suite: Suite, *arguments: str, ini: str = "", **variables: str) -> str:
    suite.write({"test_it.py": STEADY, "pytest.ini": "[pytest]\n" + ini})
    ran = suite.plain(*arguments, **variables)
    assert ran.code == 4, ran.out + ran.err
    return " ".join((ran.out + ran.err).split())


def test_without_the_option_nothing_is_registered(suite_that_shows_options):
    assert options(suite_that_shows_options) is None


def test_the_defaults_are_few_reruns_of_few_failures(suite_that_shows_options):
    assert options(suite_that_shows_options, "--flakehound") == DEFAULTS


def test_every_option_is_taken_from_the_command_line(suite_that_shows_options):
    told = options(
        suite_that_shows_options,
        "--flakehound",
        "--flakehound-immediate=3",
        *("--flakehound-postponed", "4", "--flakehound-forked", "0", "--flakehound-threshold", "2.5%"),
        *("--flakehound-since", "main", "--flakehound-no-intersect", "--flakehound-check-base"),
        *("--flakehound-tolerate", "--flakehound-json", "out.json", "--flakehound-store", "new/place.db"),
        *("--flakehound-time", "2m"),
    )

    assert told == {
        "immediate": 3,
        "postponed": 4,
        "forked": 0,
        "threshold": 0.025,
        "since": "main",
        "intersect": False,
        "check_base": True,
        "time_s": 120.0,
        "tolerate": True,
        "json": "out.json",
        "store": "new/place.db",
    }


def test_every_option_is_taken_from_pytest_ini(suite_that_shows_options):
    told = options(
        suite_that_shows_options,
        ini="flakehound = true\nflakehound_immediate = 3\nflakehound_postponed = 4\nflakehound_forked = 5\n"
        "flakehound_threshold = 0.2\nflakehound_since = v1\nflakehound_no_intersect = true\n"
        "flakehound_check_base = yes\nflakehound_tolerate = 1\n"
        "flakehound_time = 90s\nflakehound_json = a.json\nflakehound_store = b.db\n",
    )

    assert told == {
        "immediate": 3,
        "postponed": 4,
        "forked": 5,
        "threshold": 0.2,
        "since": "v1",
        "intersect": False,
        "check_base": True,
        "time_s": 90.0,
        "tolerate": True,
        "json": "a.json",
        "store": "b.db",
    }


def test_every_option_is_taken_from_the_environment(suite_that_shows_options):
    told = options(
        suite_that_shows_options,
        FLAKEHOUND="1",
        FLAKEHOUND_IMMEDIATE="3",
        FLAKEHOUND_POSTPONED="4",
        FLAKEHOUND_FORKED="5",
        FLAKEHOUND_THRESHOLD="7%",
        FLAKEHOUND_SINCE="v1",
        FLAKEHOUND_NO_INTERSECT="true",
        FLAKEHOUND_CHECK_BASE="on",
        FLAKEHOUND_TIME="90",
        FLAKEHOUND_TOLERATE="0",
        FLAKEHOUND_JSON="a.json",
        FLAKEHOUND_STORE="b.db",
    )

    assert told == {
        "immediate": 3,
        "postponed": 4,
        "forked": 5,
        "threshold": 0.07,
        "since": "v1",
        "intersect": False,
        "check_base": True,
        "time_s": 90.0,
        "tolerate": False,
        "json": "a.json",
        "store": "b.db",
    }


@pytest.mark.parametrize("way", ["../base", "{folder}/../base", "./../base/"])
def test_the_base_may_be_a_folder(suite_that_shows_options, way):
    base = suite_that_shows_options.folder.parent / "base"
    base.mkdir()

    given = way.format(folder=suite_that_shows_options.folder)
    told = options(suite_that_shows_options, "--flakehound", f"--flakehound-since={given}")

    assert told["since"] == str(base)


def test_a_name_that_may_be_a_branch_or_a_folder_is_left_to_the_controller(suite_that_shows_options):
    (suite_that_shows_options.folder / "base").mkdir()

    assert options(suite_that_shows_options, "--flakehound", "--flakehound-since=base")["since"] == "base"


@pytest.mark.parametrize(("given", "time_s"), [("90", 90.0), ("1.5m", 90.0), ("0.5s", 0.5)])
def test_the_time_is_in_seconds_or_minutes(suite_that_shows_options, given, time_s):
    told = options(suite_that_shows_options, "--flakehound", f"--flakehound-time={given}")

    assert told["time_s"] == time_s


def test_the_command_line_beats_the_environment_which_beats_the_file(suite_that_shows_options):
    ini = "flakehound_immediate = 2\nflakehound_postponed = 2\nflakehound_forked = 7\n"

    told = options(
        suite_that_shows_options,
        *("--flakehound", "--flakehound-immediate", "4"),
        ini=ini,
        FLAKEHOUND_IMMEDIATE="3",
        FLAKEHOUND_POSTPONED="3",
    )

    assert (told["immediate"], told["postponed"], told["forked"]) == (4, 3, 7)


def test_the_environment_switches_off_what_the_file_asks_for(suite_that_shows_options):
    assert options(suite_that_shows_options, ini="flakehound = true\n", FLAKEHOUND="0") is None


def test_numbers_in_toml_need_no_quotes(suite):
    if pytest_version() < (9, 0):
        pytest.skip("pytest 9 is the first to take numbers from TOML")
    (suite.folder / "pytest.ini").unlink()
    suite.write(
        {
            "pyproject.toml": "[tool.pytest]\nflakehound = true\nflakehound_immediate = 3\n",
            "test_it.py": STEADY,
            "conftest.py": REVEAL,
        }
    )

    ran = suite.plain()

    assert ran.code == 0, ran.out
    assert '"immediate": 3' in (suite.folder / "options.json").read_text()


@pytest.mark.parametrize(
    ("option", "value", "what"),
    [
        ("immediate", "two", "takes a number of reruns, 0 or more, not 'two'"),
        ("postponed", "-1", "takes a number of reruns, 0 or more, not '-1'"),
        ("forked", "1.5", "takes a number of reruns, 0 or more, not '1.5'"),
        ("threshold", "2", "takes a share of the tests, from 0 to 100% or from 0 to 1, not '2'"),
        ("threshold", "nan", "takes a share of the tests"),
        ("since", "", "takes a commit, branch or tag, or a folder, sdist or wheel that exists, not ''"),
        ("since", "./nowhere", "takes a commit, branch or tag, or a folder, sdist or wheel that exists"),
        ("time", "0", "takes seconds or minutes, as 90, 90s or 2m, not '0'"),
        ("time", "2h", "takes seconds or minutes, as 90, 90s or 2m, not '2h'"),
        ("time", "nan", "takes seconds or minutes"),
        ("time", "inf", "takes seconds or minutes"),
        ("time", "", "takes seconds or minutes"),
        ("json", "nowhere/out.json", "takes a file in a folder that exists, not 'nowhere/out.json'"),
        ("store", ".", "takes the path of a file, not '.'"),
    ],
)
def test_a_bad_value_is_named_and_its_remedy_works(suite, option, value, what):
    said = usage_error(suite, "--flakehound", f"--flakehound-{option}={value}")

    assert f"--flakehound-{option} {what}" in said
    remedy = re.search(r"Try: (.*?)( ERROR|$)", said)[1]
    assert suite.plain("--flakehound", *shlex.split(remedy)).code == 0


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({"FLAKEHOUND": "1", "FLAKEHOUND_IMMEDIATE": "x"}, "the environment variable FLAKEHOUND_IMMEDIATE takes"),
        ({"FLAKEHOUND": "maybe"}, "the environment variable FLAKEHOUND takes 1 or 0, true or false, not 'maybe'"),
    ],
)
def test_a_bad_value_in_the_environment_is_named(suite, where, said):
    assert said in usage_error(suite, **where)


@pytest.mark.parametrize("line", ["flakehound_immediate = x", "flakehound = perhaps", "flakehound_threshold = 5"])
def test_a_bad_value_in_the_file_names_setting_and_remedy(suite, line):
    setting = line.partition(" ")[0]
    ini = line if setting == "flakehound" else "flakehound = 1\n" + line

    said = usage_error(suite, ini=ini)

    assert f"{setting} in {suite.folder / 'pytest.ini'}" in said
    assert f"Try: {setting} = " in said


def test_an_option_that_has_no_effect_alone_is_an_error(suite):
    said = usage_error(suite, "--flakehound-forked", "3")

    assert "--flakehound-forked does nothing without --flakehound" in said
    assert "Try: pytest --flakehound --flakehound-forked 3" in said


def test_a_project_may_keep_such_options_in_its_addopts(suite_that_shows_options):
    assert options(suite_that_shows_options, ini="addopts = --flakehound-forked 3\n") is None


def test_collecting_alone_starts_no_triage(suite):
    suite.write({"test_it.py": BROKEN})

    ran = suite.run("--collect-only")

    assert (ran.code, ran.facts) == (0, None)


def test_the_help_describes_every_option(suite):
    said = " ".join(suite.plain("--help").out.split())

    assert "--flakehound when tests fail, rerun them and say which failures are flaky" in said
    for name in ("immediate", "postponed", "forked", "threshold", "since", "time", "json", "store", "tolerate"):
        assert f"--flakehound-{name}" in said
        assert f"FLAKEHOUND_{name.upper()} in the environment" in said
    assert "for example 1% or 0.01" in said


def test_the_facts_have_the_options_and_the_arguments_without_our_options(suite):
    suite.write({"test_it.py": FLAKY, "out/keep": ""})

    ran = suite.run(
        *("-k", "flaky", "--flakehound-since", "v1", "--flakehound-no-intersect", "--flakehound-forked=4"),
        *("--flakehound-seed", "7", "--flakehound-json", "out/t.json", "test_it.py"),
    )

    assert ran.facts["args"][-3:] == ["-k", "flaky", "test_it.py"]
    assert not [argument for argument in ran.facts["args"] if argument.startswith("--flakehound")]
    assert ran.facts["options"] == {
        "forked": 4,
        "since": "v1",
        "intersect": False,
        "check_base": False,
        "time_s": 60.0,
        "json": "out/t.json",
        "store": None,
        "seed": 7,
    }


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["--flakehound", "tests"], ["tests"]),
        (["--flakehound-forked", "2", "-x"], ["-x"]),
        (["--flakehound-forked=2", "-x"], ["-x"]),
        (["--flakehound-tolerate", "-x"], ["-x"]),
        (["--flakehound-no-intersect", "--flakehound-check-base", "a", "b"], ["a", "b"]),
        (["--flakehound-seed", "3", "a"], ["a"]),
        (["-k", "a", "--", "--flakehound"], ["-k", "a", "--", "--flakehound"]),
    ],
)
def test_our_options_are_taken_out_of_the_arguments(given, kept):
    assert without_own_options(given) == kept
