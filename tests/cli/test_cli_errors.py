"""Whatever the user gets wrong: what happened, the offending value, a remedy that works, the right exit code."""

from __future__ import annotations

import ast
import re
import subprocess
import sys

import pytest
from cli_projects import SRC, commands_in, flakehound_in, parsed, paste, remedy_in, write_project
from click.testing import CliRunner

from flakehound.cli.main import COMMANDS, main, show_error
from flakehound.core.errors import UsageError


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["hunt", "--budget", "soon"], "soon"),
        (["hunt", "--budget", "0"], "0"),
        (["hunt", "--budget", "-5s"], "-5s"),
        (["hunt", "--memory-limit", "much"], "much"),
        (["hunt", "--memory-limit", "0G"], "0G"),
        (["hunt", "--python", "no-such-python"], "no-such-python"),
        (["hunt", "--test-timeout", "ages"], "ages"),
        (["polluter", "--memory-limit", "much", "test_calm.py::test_one"], "much"),
        (["polluter", "--python", "no-such-python", "test_calm.py::test_one"], "no-such-python"),
    ],
)
def test_a_value_that_cannot_be_is_shown_with_a_remedy_that_parses_and_ends_with_code_2(say, arguments, shown):
    said = say(*arguments)

    assert said.code == 2
    assert f"{shown!r}" in said.err
    parsed(remedy_in(said))
    assert said.out == ""
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    "option",
    [
        "--budget",
        "--test-timeout",
        "--memory-limit",
        "--python",
    ],
)
def test_an_empty_value_is_refused_and_not_quietly_ignored(say, option):
    said = say("hunt", option, "", "--runs", "1", "--shuffles", "0")

    assert said.code == 2


@pytest.mark.parametrize(
    ("command", "option", "value"),
    [
        ("hunt", "--test-timeout", "ages"),
        ("polluter", "--test-timeout", "ages"),
        ("polluter", "--memory-limit", "much"),
        ("polluter", "--python", "no-such-python"),
    ],
)
def test_a_remedy_is_about_the_command_and_the_option_that_was_wrong(say, command, option, value):
    test = ["test_calm.py::test_one"] if command == "polluter" else []

    said = say(command, option, value, *test)

    assert said.code == 2
    assert option in remedy_in(said)


@pytest.mark.parametrize(
    "arguments",
    [
        ["hunt", "--no-such-option"],
        ["hunt", "--runs", "0"],
        ["hunt", "--runs", "many"],
        ["hunt", "--shuffles", "-1"],
        ["hunt", "--jobs", "0"],
        ["hunt", "--seed", "-1"],
        ["hunt", "--technique", "magic"],
        ["hunt", "--pairs", "some"],
        ["hunt", "--isolation", "none"],
        ["replay"],
        ["explain"],
        ["merge"],
        ["polluter"],
        ["replay", "--times", "0", "x"],
        ["no-such-command"],
        ["--no-such-option"],
    ],
)
def test_a_command_line_that_cannot_be_ends_with_code_2_and_shows_the_usage(say, arguments):
    said = say(*arguments)

    assert said.code == 2
    assert "Usage:" in said.err
    assert "Traceback" not in said.err


def test_an_unknown_option_is_named(say):
    said = say("hunt", "--no-such-option")

    assert "--no-such-option" in said.err


@pytest.mark.parametrize("place", ["missing/report.json", "."])
def test_a_json_file_that_cannot_be_written_is_refused_before_the_hunt(project, place):
    said = flakehound_in(project, "hunt", "--json", place)

    assert said.code == 2
    assert place.split("/")[0] in said.err
    assert "Traceback" not in said.err
    assert not (project / ".flakehound").exists()


def test_polluter_refuses_a_json_file_that_cannot_be_written(project):
    said = flakehound_in(project, "polluter", "--json", "missing/answer.json", "test_calm.py::test_one")

    assert said.code == 2
    assert "Traceback" not in said.err
    parsed(remedy_in(said))


# The suite cannot be collected or run


def test_a_folder_without_tests_ends_with_code_3_and_names_the_command_that_shows_why(tmp_path):
    folder = write_project(tmp_path / "empty", {})

    said = flakehound_in(folder, "hunt")

    assert said.code == 3
    assert str(folder) in said.err
    assert remedy_in(said).startswith(f"cd {folder} && ")
    assert paste(folder, remedy_in(said)).code == 5  # pytest's own code for "no tests collected"


def test_a_collection_error_ends_with_code_3_in_pytests_own_words(tmp_path):
    folder = write_project(tmp_path / "broken", {"test_a.py": "import no_such_module_of_ours\n"})

    said = flakehound_in(folder, "hunt")

    assert said.code == 3
    assert "test_a.py" in said.err
    assert "No module named 'no_such_module_of_ours'" in said.err
    assert "no_such_module_of_ours" in paste(folder, remedy_in(said)).out


def test_an_argument_pytest_does_not_know_ends_with_code_3_in_pytests_own_words(project):
    said = flakehound_in(project, "hunt", "--", "--no-such-pytest-option")

    assert said.code == 3
    assert "--no-such-pytest-option" in said.err
    assert "Traceback" not in said.err


def test_a_path_that_does_not_exist_ends_with_code_3_and_names_it(project):
    said = flakehound_in(project, "hunt", "no_such_folder")

    assert said.code == 3
    assert "no_such_folder" in said.err


def test_a_conftest_that_raises_ends_with_code_3_in_its_own_words(tmp_path):
    folder = write_project(
        tmp_path / "broken",
        {"conftest.py": "raise RuntimeError('no luck today')\n", "test_a.py": "def test_a(): pass\n"},
    )

    said = flakehound_in(folder, "hunt")

    assert said.code == 3
    assert "no luck today" in said.err


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory):
    """An interpreter without pytest."""
    place = tmp_path_factory.mktemp("bare") / "with space"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True, timeout=300)
    return place / "bin" / "python"


def test_an_interpreter_without_pytest_ends_with_code_3_and_the_pip_command(project, bare_python):
    said = flakehound_in(project, "hunt", "--python", str(bare_python))

    assert said.code == 3
    assert "has no pytest" in said.err
    assert "-m pip install pytest" in remedy_in(said)


def test_the_pip_command_names_the_interpreter_as_a_shell_needs_it(project, bare_python):
    said = flakehound_in(project, "hunt", "--python", str(bare_python))

    assert "No module named pip" in paste(project, remedy_in(said)).err


def test_a_program_that_is_no_interpreter_is_refused_before_it_is_taken_for_a_suite(say):
    said = say("hunt", "--python", "/bin/true")

    assert said.code == 2
    assert "'/bin/true' is not an interpreter" in said.err
    assert parsed(remedy_in(said)).params["python"] == sys.executable


def test_a_folder_without_tests_is_not_left_with_a_store(tmp_path):
    folder = write_project(tmp_path / "empty", {})

    said = flakehound_in(folder, "hunt")

    assert said.code == 3
    assert not (folder / ".flakehound").exists()


def test_a_current_folder_that_was_removed_is_an_error_and_not_a_traceback(say, project, monkeypatch):
    def gone():
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr("pathlib.Path.cwd", gone)

    said = say("hunt")

    assert said.code == 2
    assert "the current folder was removed" in said.err
    assert remedy_in(said) == "cd"


def test_a_mistyped_command_is_told_with_the_nearest(say):
    said = say("hutn")

    assert said.code == 2
    assert "Did you mean 'hunt'?" in said.err


def test_a_fault_of_our_own_does_not_look_like_flaky_tests(say, monkeypatch):
    def fails():
        raise RuntimeError("something nobody thought of")

    monkeypatch.setattr("flakehound.cli.main.current_folder", fails)

    said = say("history")

    assert said.code == 3
    assert "something nobody thought of" in said.err


def _is_bare_raise(statement):
    return isinstance(statement, ast.Raise) and statement.exc is None


def _caught(path):
    """The names of the exceptions a file catches and does not raise again."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        is_passed_on = isinstance(node, ast.ExceptHandler) and _is_bare_raise(node.body[-1])
        if isinstance(node, ast.ExceptHandler) and node.type is not None and not is_passed_on:
            yield from (part.id for part in ast.walk(node.type) if isinstance(part, ast.Name))


def test_only_the_entry_point_turns_our_errors_into_exit_codes():
    ours = {"FlakehoundError", "UsageError", "StoreError", "SuiteUnusable"}

    catchers = [path.name for path in (SRC / "flakehound" / "cli").glob("*.py") if ours & set(_caught(path))]

    assert catchers == ["main.py"]


# The store


@pytest.fixture
def with_corrupt_store(project):
    store = project / ".flakehound" / "flakehound.db"
    store.parent.mkdir()
    store.write_bytes(b"this is no database at all" * 100)
    return project


@pytest.mark.parametrize(
    "arguments", [["hunt"], ["history"], ["explain", "x"], ["replay", "x"], ["hunt", "--resume"]]
)
def test_a_corrupt_store_is_an_error_with_a_remedy_and_is_left_as_it_is(with_corrupt_store, arguments):
    store = with_corrupt_store / ".flakehound" / "flakehound.db"
    before = store.read_bytes()

    said = flakehound_in(with_corrupt_store, *arguments)

    assert said.code == 3
    assert "flakehound.db" in said.err
    assert "Traceback" not in said.err
    assert store.read_bytes() == before


def test_the_remedy_for_a_corrupt_store_works_when_pasted(with_corrupt_store):
    said = flakehound_in(with_corrupt_store, "history")

    assert paste(with_corrupt_store, remedy_in(said)).code == 0
    assert flakehound_in(with_corrupt_store, "hunt", "--runs", "1", "--shuffles", "0", "-q").code == 0


@pytest.mark.parametrize("arguments", [["history"], ["explain", "x"], ["replay", "x"]])
def test_a_missing_store_says_that_nothing_was_hunted_yet(say, arguments):
    said = say(*arguments)

    assert said.code == 3
    assert "nothing was hunted yet" in said.err
    assert parsed(remedy_in(said)).command.name == "hunt"


def test_there_is_nothing_to_resume_in_a_project_never_hunted(say, project):
    said = say("hunt", "--resume")

    assert said.code == 2
    assert str(project) in said.err
    assert parsed(remedy_in(said)).command.name == "hunt"


def test_a_hunt_that_cannot_be_resumed_leaves_no_empty_store_behind(say, project):
    say("hunt", "--resume", "--store", "elsewhere.db")

    assert not (project / "elsewhere.db").exists()


def test_the_remedy_for_a_hunt_that_cannot_be_resumed_names_the_same_store(say):
    said = say("hunt", "--resume", "--store", "elsewhere.db")

    assert str(parsed(remedy_in(said)).params["store_path"]) == "elsewhere.db"


# Printed commands


def _remedies():
    """Every remedy and every command in backquotes that stands as a whole string in the source."""
    for path in sorted((SRC / "flakehound").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from commands_in(node.value) if node.value.startswith("flakehound ") else ()
                yield from re.findall(r"`(flakehound (?:hunt|replay|explain|polluter) [^`]*)`", node.value)


@pytest.mark.parametrize("command", sorted(set(_remedies())))
def test_every_command_written_in_the_source_is_understood_by_our_own_parser(command):
    parsed(command)


def test_there_are_commands_in_the_source_to_check():
    assert set(_remedies())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_in_the_help_is_understood_by_our_own_parser(name):
    text = CliRunner().invoke(main, [name, "--help"]).output

    examples = [
        re.split(r"\s{2,}", line.strip())[0] for line in text.splitlines() if line.startswith("    flakehound")
    ]

    for example in examples:
        parsed(example)


def test_the_help_lists_every_command_and_the_exit_codes():
    said = CliRunner().invoke(main, ["--help"])

    assert said.exit_code == 0
    assert all(name in said.output for name in COMMANDS)
    assert all(code in said.output for code in ("0 nothing flaky", "1 flaky", "2 usage", "130 interrupted"))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help(name):
    said = CliRunner().invoke(main, [name, "--help"])

    assert said.exit_code == 0
    assert "Usage:" in said.output


def test_the_version_is_told():
    said = CliRunner().invoke(main, ["--version"])

    assert said.exit_code == 0
    assert re.search(r"flakehound, version \d+\.\d+", said.output)


def test_an_error_of_ours_is_told_in_three_parts(capsys):
    show_error(UsageError("it cannot be", remedy="flakehound hunt", detail="one\ntwo"))

    assert capsys.readouterr().err == "flakehound: it cannot be\n    one\n    two\ntry: flakehound hunt\n"
