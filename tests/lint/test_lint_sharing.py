"""What a test shares with others, read from small programs."""

from __future__ import annotations

from lint_samples import project

from flakehound.lint.collect.cases import cases_of
from flakehound.lint.facts.case_context import FactsCache
from flakehound.lint.facts.read_context import context_of
from flakehound.lint.scoring.shared_objects import FileSharing


def sharing(name, path="test_it.py", **files):
    """Of the test of that name."""
    found = project(**files)
    cases = cases_of(found.module(path), found.patterns, found)
    sharing, cache = FileSharing(cases), FactsCache()
    (case,) = [one for one in cases if one.name == name]
    return sharing.counts_of(case, context_of(case, found, cache))


def test_a_name_that_some_function_changes_is_state():
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

    assert sharing("test_reads", test_it=text).state_in_tests == 1
    assert sharing("test_none", test_it=text).state_in_tests == 0


def test_a_local_name_hides_the_modules():
    text = """
        SEEN = []

        def fill():
            SEEN.append(1)

        def test_own():
            SEEN = []
            assert SEEN == []
    """

    assert sharing("test_own", test_it=text).state_in_tests == 0


def test_state_of_the_code_under_test_counts_apart():
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

    found = sharing("test_rate", shop=shop, test_it=test)

    assert (found.state_in_tests, found.state_in_production, found.production_functions) == (0, 1, 1)


def test_objects_of_the_module_and_of_the_class_are_shared():
    text = """
        client = object()
        NAME = "shop"

        class TestShop:
            cart = []

            def test_both(self):
                assert client and NAME and self.cart == []
    """

    assert sharing("test_both", test_it=text).shared_objects == 2


def test_fixtures_and_set_ups_are_counted_by_how_long_they_live():
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

    found = sharing("test_page", test_it=text)

    assert (found.fixtures, found.wide_fixtures, found.set_up_once, found.set_up_each) == (2, 1, 1, 1)


def test_place_and_number_of_the_tests_of_a_file():
    text = """
        def test_a(): ...
        def test_b(): ...

        class TestC:
            def test_c(self): ...
    """

    first, last = sharing("test_a", test_it=text), sharing("test_c", test_it=text)

    assert (first.tests_in_file, first.tests_in_class, first.place_in_file) == (3, 2, 0.0)
    assert (last.tests_in_file, last.tests_in_class, last.place_in_file) == (3, 1, 1.0)


def test_a_name_that_asks_for_an_order_is_noticed():
    text = "def test_1_login(): ...\ndef test_login(): ...\n"

    assert sharing("test_1_login", test_it=text).numbered_name == 1
    assert sharing("test_login", test_it=text).numbered_name == 0


def test_texts_that_look_like_paths_are_counted_once_each():
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

    assert sharing("test_loads", test_it=text).paths == 3
    assert sharing("test_talks", test_it=text).paths == 0


def test_what_a_file_sets_in_others_while_it_is_imported_is_counted():
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

    assert sharing("test_sets_nothing_at_import", test_it=text).set_at_import == 2
