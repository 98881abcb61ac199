"""The words in the names that a test's code uses."""

from __future__ import annotations

import pytest
from lint_samples import project_with

from flakehound.core.vocabulary import WORDS, column_of
from flakehound.lint.collect.cases import cases_of
from flakehound.lint.facts.case_context import FactsCache
from flakehound.lint.facts.read_context import context_of
from flakehound.lint.scoring.vocabulary import all_words_of, word_columns, words_in_name, words_of


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("path_of_file", {"path", "of", "file"}),
        ("readAll", {"read", "all"}),
        ("HTTPServer2", {"http", "server"}),
        ("assertEqual", {"assert", "equal"}),
        ("x", set()),
        ("__init__", {"init"}),
        ("_1", set()),
    ],
)
def test_a_name_is_split_into_words(name, words):
    assert words_in_name(name) == words


def functions_of(name, **files):
    """The functions of test code that the test runs."""
    project = project_with(**files)
    cases = cases_of(project.module("test_it.py"), project.patterns, project)
    (case,) = [case for case in cases if case.name == name]
    return context_of(case, project, FactsCache()).test_code


SHOP = """
    def rates(filename):
        return open(filename)
"""
TESTS = """
    import os
    import pytest
    from shop import rates

    @pytest.fixture
    def place(tmp_path):
        return tmp_path / "expected.txt"

    def checked(value):
        return not value.error

    def test_rates(place):
        # the result is a list
        kept = rates(filename=place, **{})
        assert checked(kept), "with exception"

    def test_other():
        assert os.path.join("a")
"""


def test_only_names_in_the_test_its_fixtures_and_helpers_count():
    functions = functions_of("test_rates", test_it=TESTS, shop=SHOP)

    assert words_of(functions) == ["error", "path", "pytest", "value"]
    assert {"tmp", "kept", "filename", "checked", "place"} <= all_words_of(functions)
    assert not {"open", "result", "list", "expected", "exception", "join"} & all_words_of(functions)


def test_every_word_has_a_column():
    columns = word_columns(["path", "file"])

    assert list(columns) == [column_of(word) for word in WORDS]
    assert {name for name, used in columns.items() if used} == {"word_path", "word_file"}


def test_the_vocabulary_contains_distinct_single_words():
    assert len(set(WORDS)) == len(WORDS)
    assert all(words_in_name(word) == {word} for word in WORDS)
