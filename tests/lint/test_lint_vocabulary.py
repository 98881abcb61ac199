"""The names and words that a test's code uses, and how they are counted."""

from __future__ import annotations

import pytest
from lint_samples import project_with

from flakehound.lint.collect.cases import cases_of
from flakehound.lint.facts.case_context import FactsCache
from flakehound.lint.facts.read_context import context_of
from flakehound.lint.scoring.code_size import code_size, words_of_test
from flakehound.lint.scoring.vocabulary import words_in_name


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


def size_of(name, **files):
    """The counts of names and words of the test."""
    return code_size(context_in(name, **files))


def context_in(name, **files):
    """The test with all functions that it runs."""
    project = project_with(**files)
    cases = cases_of(project.module("test_it.py"), project.patterns, project)
    (case,) = [case for case in cases if case.name == name]
    return context_of(case, project, FactsCache())


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
        return tmp_path.joinpath("expected.txt")

    def checked(value):
        return bool(value.error)

    def test_rates(place):
        # the result is a list
        kept = rates(filename=place, **{})
        assert checked(kept), "with exception"

    def test_other():
        assert os.path.join("a") == os.path.join("a", "a")
"""


def test_each_called_name_of_the_test_its_fixtures_and_helpers_counts_once():
    size = size_of("test_rates", test_it=TESTS, shop=SHOP)

    assert size.called_names == len({"rates", "checked", "tmp_path.joinpath", "bool"})
    assert size_of("test_other", test_it=TESTS).called_names == 1


def test_words_are_those_of_the_test_function_alone():
    size = size_of("test_rates", test_it=TESTS, shop=SHOP)

    assert size.name_words == len({"test", "rates", "place", "kept", "filename", "checked"})
    assert size.string_words == len({"with", "exception"})
    assert words_of_test(context_in("test_rates", test_it=TESTS, shop=SHOP)) == {
        *("test", "rates", "place", "kept", "filename", "checked"),
        *("with", "exception"),
    }


def test_each_import_of_the_file_counts():
    assert size_of("test_rates", test_it=TESTS, shop=SHOP).imported_names == 3


def test_calls_far_from_the_test_are_counted_apart():
    chain = "\n".join(f"def step{n}(): return step{n + 1}()" for n in range(3)) + "\ndef step3(): return len([])"

    size = size_of("test_chain", test_it="from chain import step0\n\ndef test_chain(): step0()", chain=chain)

    assert (size.called_names, size.far_called_names) == (1, 2)
