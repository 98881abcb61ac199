"""Finding test files as pytest does, and analysing them in several processes and with the cache."""

from __future__ import annotations

import json
from functools import partial

import pytest
from lint_samples import SAMPLE_SUITE, collect_with_pytest, encode_source, write_files

from flakehound.app.lint import files
from flakehound.app.lint.cache import AnswerCodec
from flakehound.app.lint.files import scan
from flakehound.app.lint.layout import layout_of
from flakehound.core.errors import UsageError
from flakehound.lint.analyse import case_ids
from flakehound.lint.collect.cases import cases_of
from flakehound.lint.collect.pytest_settings import MalformedSettings, options_in, settings_from
from flakehound.lint.links.reached_code import reached_functions

FILE_WITH_CHECKS = "def check_c(): pass\ndef test_c(): pass\nclass MySuite:\n    def check_d(self): pass\n"
TEST = "def test_it(): pass\n"
USES_LIB = "import a\ndef test_it(): a.f()\ndef check_it(): pass\n"


def codec(name):
    return AnswerCodec(name=name, encode=list, decode=tuple)


IDS, LINES = codec("ids"), codec("lines")


def collected_ids(folder, *targets, cwd=None, **options):
    result = scan(targets, case_ids, cwd=cwd or folder, **options)
    return [test_id for answer in result.answers.values() for test_id in answer]


def reached_lines(project, module):
    cases = cases_of(module, project.patterns, project)
    return tuple(reached.function.lineno for case in cases for reached in reached_functions(case, project))


def fail_if_called(project, module):
    raise AssertionError("analysed again")


def word_and_path(project, module, *, word):
    return (word, module.path)


def test_the_whole_sample_suite_is_collected_as_pytest_does(tmp_path):
    write_files(tmp_path, SAMPLE_SUITE)

    assert collected_ids(tmp_path) == collect_with_pytest(tmp_path)


CONFIGURATIONS = {
    "pytest.ini": "[pytest]\npython_files = check_*.py\npython_functions = check\npython_classes = *Suite\n",
    "pyproject.toml": '[tool.pytest.ini_options]\npython_files = ["check_*.py"]\nnorecursedirs = ["inner"]\n',
    "tox.ini": "[tox]\nenvlist = x\n[pytest]\ntestpaths = tests/unit other*\n",
    "setup.cfg": "[metadata]\na = %\n[tool:pytest]\naddopts = --ignore=tests/unit --ignore-glob='*/test_p*'\n",
    "setup.py": "raise SystemExit\n",
    "README": "",
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
@pytest.mark.parametrize(
    "arguments", [(), ("tests",), ("tests/unit/test_a.py", "other"), ("tests/unit/check_c.py",)]
)
def test_configuration_is_read_as_pytest_reads_it(name, arguments, tmp_path):
    folder = write_files(
        tmp_path,
        {
            name: CONFIGURATIONS[name],
            "tests/unit/test_a.py": TEST,
            "tests/unit/check_c.py": FILE_WITH_CHECKS,
            "tests/inner/check_e.py": TEST,
            "tests/test_b.py": TEST,
            "other/test_o.py": TEST,
            "othertoo/test_p.py": TEST,
        },
    )

    assert collected_ids(folder, *arguments) == collect_with_pytest(folder, *arguments)


@pytest.mark.parametrize("start", ["tests", "tests/unit"])
def test_ids_are_relative_to_the_rootdir_in_any_folder(start, tmp_path):
    folder = write_files(tmp_path, {"tox.ini": "[pytest]\ntestpaths = other\n", "tests/unit/test_a.py": TEST})

    assert collected_ids(folder, cwd=folder / start) == collect_with_pytest(folder, cwd=folder / start)


def test_only_pytest_ini_configures_pytest_without_a_section():
    assert options_in("pytest.ini", "") == {}
    assert options_in("tox.ini", "[tox]\n") is None
    assert options_in("setup.cfg", "[pytest]\n") is None
    assert options_in("pyproject.toml", "[tool.black]\n") is None
    assert options_in("pyproject.toml", "[tool.pytest.ini_options]\n") == {}


def test_absent_options_have_pytests_defaults():
    settings = settings_from({"python_files": "a.py  b.py", "testpaths": ["x y", "z"]})

    assert settings.patterns.files == ("a.py", "b.py")
    assert settings.patterns.functions == ("test",)
    assert settings.testpaths == ("x y", "z")
    assert "node_modules" in settings.skipped_folders


@pytest.mark.parametrize(("name", "text"), [("pyproject.toml", "[tool"), ("tox.ini", "words\n")])
def test_a_configuration_that_cannot_be_read_is_an_error(name, text, tmp_path):
    with pytest.raises(MalformedSettings):
        options_in(name, text)
    write_files(tmp_path, {name: text, "test_a.py": TEST})
    with pytest.raises(UsageError, match="cannot be read"):
        layout_of([], tmp_path)


def test_a_target_that_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="nowhere"):
        layout_of(["nowhere.py"], tmp_path)


def test_a_target_inside_a_file_becomes_a_prefix_of_ids(tmp_path):
    folder = write_files(tmp_path, {"pytest.ini": "", "test_a.py": TEST, "test_b.py": TEST})

    layout = layout_of(["test_a.py::test_it[1]", "test_b.py"], folder)

    assert layout.id_prefixes == ("test_a.py::test_it", "test_b.py")
    assert layout.test_files == ("test_a.py", "test_b.py")


def test_unparsable_files_are_reported_and_the_others_are_analysed(tmp_path):
    folder = write_files(
        tmp_path, {"pytest.ini": "", "test_a.py": "def (\n", "test_b.py": TEST, "test_c.py": b"\0"}
    )

    result = scan([], case_ids, cwd=folder)

    assert list(result.answers) == ["test_b.py"]
    assert [file.path for file in result.unparsable] == ["test_a.py", "test_c.py"]


def test_unchanged_files_are_not_analysed_again(tmp_path):
    folder = write_files(tmp_path, {"pytest.ini": "", "test_a.py": TEST, "test_b.py": "def (\n"})
    first = scan([], case_ids, codec=IDS, cwd=folder)

    again = scan([], fail_if_called, codec=IDS, cwd=folder)

    assert again.reused == 2
    assert again.answers == first.answers
    assert again.unparsable == first.unparsable


@pytest.mark.parametrize(
    ("path", "analysed_again"), [("test_a.py", 1), ("helpers.py", 1), ("conftest.py", 2), ("unrelated.py", 0)]
)
def test_only_files_that_depend_on_a_changed_file_are_analysed_again(path, analysed_again, tmp_path):
    files = {
        "pytest.ini": "",
        "conftest.py": "",
        "helpers.py": "def f(): pass\n",
        "unrelated.py": "",
        "test_a.py": "import helpers\ndef test_it(): helpers.f()\n",
        "test_b.py": TEST,
    }
    folder = write_files(tmp_path, files)
    scan([], reached_lines, codec=LINES, cwd=folder)
    write_files(folder, {path: "# new\n" + files[path]})

    again = scan([], reached_lines, codec=LINES, cwd=folder)

    assert again.reused == 2 - analysed_again
    assert again.answers == scan([], reached_lines, cwd=folder).answers


@pytest.mark.parametrize("option", ["python_functions = check", "pythonpath = lib"])
def test_changed_settings_of_pytest_invalidate_the_cache(option, tmp_path):
    folder = write_files(
        tmp_path, {"pytest.ini": "[pytest]\n", "lib/a.py": "def f(): pass\n", "test_a.py": USES_LIB}
    )
    scan([], reached_lines, codec=LINES, cwd=folder)
    write_files(folder, {"pytest.ini": f"[pytest]\n{option}\n"})

    again = scan([], reached_lines, codec=LINES, cwd=folder)

    assert again.reused == 0
    assert again.answers == scan([], reached_lines, cwd=folder).answers


def test_a_new_file_invalidates_the_cache_because_imports_may_refer_to_it(tmp_path):
    folder = write_files(tmp_path, {"pytest.ini": "", "test_a.py": "import new\ndef test_it(): new.f()\n"})
    scan([], reached_lines, codec=LINES, cwd=folder)
    write_files(folder, {"new.py": "def f(): pass\n"})

    assert scan([], reached_lines, codec=LINES, cwd=folder).answers == {"test_a.py": (1,)}


def test_another_analysis_does_not_reuse_cached_answers(tmp_path):
    folder = write_files(tmp_path, {"pytest.ini": "", "test_a.py": TEST})

    answers = [
        scan([], partial(word_and_path, word=word), codec=codec(word), cwd=folder).answers["test_a.py"]
        for word in ("one", "two")
    ]

    assert answers == [("one", "test_a.py"), ("two", "test_a.py")]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"key": 1}', "\x00"])
def test_a_broken_cache_counts_as_empty(content, tmp_path):
    folder = write_files(
        tmp_path, {"pytest.ini": "", "test_a.py": TEST, ".flakehound/lint/cache.json": content.encode()}
    )

    assert collected_ids(folder, codec=IDS) == ["test_a.py::test_it"]
    assert json.loads((folder / ".flakehound/lint/cache.json").read_text())["files"]


def test_several_processes_give_the_same_answers_as_one(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_BYTES_PER_PROCESS", 10)
    folder = write_files(tmp_path, {"pytest.ini": "", **{f"test_{n}.py": TEST for n in range(6)}})

    assert (
        collected_ids(folder, processes=2)
        == collected_ids(folder, processes=1)
        == [f"test_{n}.py::test_it" for n in range(6)]
    )


def test_if_no_process_can_start_the_current_one_analyses_all_files(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_BYTES_PER_PROCESS", 10)
    monkeypatch.setattr(files, "ProcessPoolExecutor", _no_process)
    folder = write_files(tmp_path, {"pytest.ini": "", "test_a.py": TEST, "test_b.py": TEST})

    assert collected_ids(folder, processes=2) == ["test_a.py::test_it", "test_b.py::test_it"]


def _no_process(*_args, **_kwargs):
    raise PermissionError("no processes here")


def test_nothing_of_the_project_is_executed(tmp_path):
    code_that_exits = encode_source("raise SystemExit('executed')\ndef test_it(): pass\n")
    folder = write_files(
        tmp_path,
        {
            "pytest.ini": "",
            "conftest.py": code_that_exits,
            "test_a.py": code_that_exits,
            "setup.py": code_that_exits,
        },
    )

    assert collected_ids(folder) == ["test_a.py::test_it"]
