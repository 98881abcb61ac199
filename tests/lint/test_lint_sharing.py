"""What a test shares with others, counted in small programs."""

from __future__ import annotations

from lint_samples import project_with

from flakehound.lint.collect.cases import cases_of
from flakehound.lint.facts.case_context import FactsCache
from flakehound.lint.facts.read_context import context_of
from flakehound.lint.scoring.shared_objects import FileSharing


def sharing_of(name, path="test_it.py", **files):
    """The counts of the test of that name."""
    project = project_with(**files)
    cases = cases_of(project.module(path), project.patterns, project)
    sharing, cache = FileSharing(cases), FactsCache()
    (case,) = [case for case in cases if case.name == name]
    return sharing.counts_of(case, context_of(case, project, cache))


def test_a_name_that_a_function_changes_is_state():
    text = """
        SEEN = []
        LIMIT = 3

        def test_reads():
            assert len(SEEN) < LIMIT

        def test_changes():
            SEEN.append(1)

        def test_none():
            seen = []
            assert not seen
    """

    assert sharing_of("test_reads", test_it=text).state_in_tests == 1
    assert sharing_of("test_none", test_it=text).state_in_tests == 0


def test_a_local_name_hides_the_modules():
    text = """
        SEEN = []

        def fill():
            SEEN.append(1)

        def test_own():
            SEEN = []
            assert SEEN == []
    """

    assert sharing_of("test_own", test_it=text).state_in_tests == 0


def test_state_of_the_code_under_test_is_counted_separately():
    shop = """
        _rates = {}

        def learn(name, rate):
            _rates[name] = rate

        def rate(name):
            return _rates.get(name, 1)
    """
    test = """
        from shop import rate

        def test_rate():
            assert rate("book") == 1
    """

    counts = sharing_of("test_rate", shop=shop, test_it=test)

    assert (counts.state_in_tests, counts.state_in_production, counts.production_functions) == (0, 1, 1)


def test_objects_of_the_module_and_of_the_class_are_shared():
    text = """
        client = object()
        NAME = "shop"

        class TestShop:
            cart = []

            def test_both(self):
                assert client and NAME and self.cart == []
    """

    assert sharing_of("test_both", test_it=text).shared_objects == 2


def test_fixtures_and_set_ups_are_counted_by_their_scope():
    text = """
        import pytest

        @pytest.fixture(scope="module")
        def server():
            return 1

        @pytest.fixture
        def page(server):
            return server

        class TestPage:
            @classmethod
            def setup_class(cls):
                pass

            def setup_method(self):
                pass

            def test_page(self, page):
                assert page
    """

    counts = sharing_of("test_page", test_it=text)

    assert (counts.fixtures, counts.wide_fixtures, counts.set_up_once, counts.set_up_each) == (2, 1, 1, 1)


def test_position_and_number_of_the_tests_of_a_file():
    text = """
        def test_a(): ...
        def test_b(): ...

        class TestC:
            def test_c(self): ...
    """

    first, last = sharing_of("test_a", test_it=text), sharing_of("test_c", test_it=text)

    assert (first.tests_in_file, first.tests_in_class, first.place_in_file) == (3, 2, 0.0)
    assert (last.tests_in_file, last.tests_in_class, last.place_in_file) == (3, 1, 1.0)


def test_a_numbered_name_is_counted():
    text = "def test_1_login(): ...\ndef test_login(): ...\n"

    assert sharing_of("test_1_login", test_it=text).numbered_name == 1
    assert sharing_of("test_login", test_it=text).numbered_name == 0


def test_distinct_strings_that_look_like_paths_are_counted():
    text = """
        import pytest

        @pytest.fixture
        def saved():
            return "data/saved.json"

        def test_loads(saved):
            '''Reads data/nothing.json.'''
            for name in ("rates.csv", "rates.csv", "/tmp/x", "https://example.org/a", "a b/c", "plain", "v1.2"):
                assert name

        def test_talks():
            assert "no path here"
    """

    assert sharing_of("test_loads", test_it=text).paths == 3
    assert sharing_of("test_talks", test_it=text).paths == 0


def test_attributes_of_other_objects_set_at_import_are_counted():
    text = """
        import os
        import shop

        LIMIT = 3
        os.environ["SHOP"] = "test"
        if LIMIT:
            shop.rates.limit = LIMIT

        class TestShop:
            shop.closed = True

        def test_sets_nothing_at_import():
            shop.open = True
    """

    assert sharing_of("test_sets_nothing_at_import", test_it=text).set_at_import == 2
