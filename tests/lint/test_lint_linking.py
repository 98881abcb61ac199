"""Links from tests to the production code they are about."""

from __future__ import annotations

import pytest
from lint_samples import only_case, project_of

from flakehound.lint.links.name_words import subject_words, words_of
from flakehound.lint.links.tested_code import LinkSource, link_of
from flakehound.lint.source.functions import full_name

SHOP = {
    "shop/__init__.py": "",
    "shop/cart.py": """
        class Cart:
            def add(self, thing): pass
            def total(self): pass
        class Coupon:
            def redeem(self): pass
        def empty_cart(): return Cart()
    """,
    "shop/rates.py": "def rate(): pass\n",
}


def link_in(text, path="tests/test_cart.py", **more):
    project = project_of({**SHOP, path: text, **more})
    return link_of(only_case(project, path), project)


def target_in(text, path="tests/test_cart.py", **more):
    link = link_in(text, path, **more)
    return (full_name(link.target) if link.target else None), link.source


@pytest.mark.parametrize("name", ["TestCoupon", "CouponTest", "CouponTests", "CouponTestCase", "TestCouponCase"])
def test_a_test_class_is_about_the_class_it_names(name):
    text = f"import unittest\nclass {name}(unittest.TestCase):\n    def test_it(self): pass\n"

    assert target_in(text) == ("shop.cart.Coupon", LinkSource.NAMING)


def test_a_test_function_is_about_the_function_it_names():
    assert target_in("def test_empty_cart_has_nothing(): pass\n") == ("shop.cart.empty_cart", LinkSource.NAMING)


def test_a_test_function_is_about_the_class_whose_method_it_names():
    assert target_in("def test_redeem_twice(): pass\n") == ("shop.cart.Coupon", LinkSource.NAMING)


def test_a_test_file_is_about_the_class_it_names():
    assert target_in("def test_something_else(): pass\n") == ("shop.cart.Cart", LinkSource.NAMING)


def test_without_a_matching_name_the_most_used_code_is_the_target():
    text = """
        from shop.cart import Cart, Coupon
        def test_works():
            coupon = Coupon()
            coupon.redeem()
            Cart()
    """

    assert target_in(text, "tests/test_flow.py") == ("shop.cart.Coupon", LinkSource.IMPORTS)


def test_uses_in_a_fixture_count_too():
    text = """
        import pytest
        from shop.cart import Coupon
        @pytest.fixture
        def thing(): return Coupon()
        def test_works(thing): assert thing
    """

    assert target_in(text, "tests/test_flow.py") == ("shop.cart.Coupon", LinkSource.IMPORTS)


def test_a_module_is_the_target_if_no_class_matches():
    assert target_in("def test_works(): pass\n", "tests/test_rates.py") == ("shop.rates", LinkSource.MODULE)
    assert target_in("import shop.cart as c\ndef test_works(): pass\n", "tests/test_flow.py") == (
        "shop.cart",
        LinkSource.MODULE,
    )


def test_among_files_of_the_same_name_the_mirrored_folder_is_preferred():
    text = "def test_works(): pass\n"
    more = {"a/store.py": "class Store: pass\n", "b/store.py": "class Store: pass\n"}

    assert target_in(text, "tests/b/test_store.py", **more) == ("b.store.Store", LinkSource.NAMING)


def test_a_test_that_uses_nothing_of_the_project_is_not_linked():
    link = link_in("import os\ndef test_works(): os.getcwd()\n", "tests/test_flow.py")

    assert link.target is None
    assert link.source is None


def test_test_code_is_never_the_target():
    text = "from helpers import Flow\ndef test_works(): Flow()\n"

    assert target_in(text, "tests/test_flow.py", **{"tests/helpers.py": "class Flow: pass\n"}) == (None, None)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("HTTPServer", ("http", "server")),
        ("http_server", ("http", "server")),
        ("base64", ("base", "64")),
        ("_private", ("private",)),
    ],
)
def test_words_of_a_name(name, words):
    assert words_of(name) == words


def test_a_name_that_only_says_test_has_no_words():
    assert subject_words("tests") == ()
