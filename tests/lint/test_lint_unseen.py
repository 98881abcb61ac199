"""Tests that pytest's own rules do not collect are named, with a command that reads them."""

from __future__ import annotations

import itertools
import shlex

import pytest
from lint_samples import write_files

from flakehound.app.lint.run import LintOptions, lint_project
from flakehound.core.errors import UsageError
from flakehound.lint.collect.unseen_tests import named_like_tests

PLUGIN_CLASS = """
    class CartTest(Base):
        def test_total(self): pass
        async def test_empty(self): pass
"""
SMOKE = """
    import unittest
    class Smoke(unittest.TestCase):
        def test_start(self): pass
    def test_stop(): pass
"""


def lint(folder, **options):
    return lint_project(LintOptions(cwd=folder, cached=False, score="rules", processes=1, **options))


def words_of(command):
    """The values behind `-o` in a command."""
    words = shlex.split(command)
    return tuple(word for option, word in itertools.pairwise(words) if option == "-o")


@pytest.mark.parametrize(
    ("files", "unseen", "ids"),
    [
        (
            {"pytest.ini": "", "test_cart.py": PLUGIN_CLASS},
            [("test_cart.py", 1, "CartTest", 2)],
            ["test_cart.py::CartTest::test_total", "test_cart.py::CartTest::test_empty"],
        ),
        (
            {"pytest.ini": "", "tests/smoke.py": SMOKE},
            [("tests/smoke.py", 1, "", 2)],
            ["tests/smoke.py::Smoke::test_start", "tests/smoke.py::test_stop"],
        ),
    ],
)
def test_the_command_reads_what_was_not_seen(tmp_path, files, unseen, ids):
    folder = write_files(tmp_path, files)

    result = lint(folder)
    again = lint(folder, override=words_of(result.command_for_unseen))

    assert [(one.path, one.line, one.class_name, one.tests) for one in result.unseen] == unseen
    assert result.tests_read == 0
    assert sorted(test.id for test in again.predictions) == sorted(ids)
    assert again.unseen == ()


@pytest.mark.parametrize(
    "text",
    [
        # The tests of a mixin run in the classes that derive from it.
        "class Shared:\n    def test_a(self): pass\nclass TestOne(Shared): pass\n",
        "class Off:\n    __test__ = False\n    def test_a(self): pass\ndef test_b(): pass\n",
        "class TestOne:\n    def test_a(self): pass\n",
        "import unittest\nclass One(unittest.TestCase):\n    def test_a(self): pass\n",
        "class Cart:\n    def total(self): pass\ndef test_b(): pass\n",
    ],
)
def test_classes_that_are_read_or_are_no_tests_are_not_named(tmp_path, text):
    assert lint(write_files(tmp_path, {"pytest.ini": "", "test_it.py": text})).unseen == ()


def test_helpers_that_tests_use_and_production_code_are_not_named(tmp_path):
    files = {
        "pytest.ini": "",
        "shop.py": "def test_connection(): pass\n",
        "tests/cases.py": "def test_it(): pass\n",
        "tests/test_cart.py": "from cases import test_it\n",
    }

    assert lint(write_files(tmp_path, files)).unseen == ()


def test_words_in_strings_and_inner_functions_do_not_count():
    text = 'NAME = """\ndef test_a(): pass\n"""\n\ndef make():\n    def test_b(): pass\n'

    assert named_like_tests(text).classes == []


def test_an_option_that_lint_does_not_heed_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="timeout=3"):
        lint(write_files(tmp_path, {"pytest.ini": ""}), override=("timeout=3",))
