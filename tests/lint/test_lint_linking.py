"""Which production code a test is about."""

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


def link(text, path="tests/test_cart.py", **more):
    found = project_of({**SHOP, path: text, **more})
    return link_of(only_case(found, path), found)


def target(text, path="tests/test_cart.py", **more):
    found = link(text, path, **more)
    return (full_name(found.target) if found.target else None), found.source


@pytest.mark.parametrize("name", ["TestCoupon", "CouponTest", "CouponTests", "CouponTestCase", "TestCouponCase"])
def test_a_test_class_is_about_the_class_it_names(name):
    text = f"import unittest\nclass {name}(unittest.TestCase):\n    def test_it(self): pass\n"

    assert target(text) == ("shop.cart.Coupon", LinkSource.NAMING)


def test_a_test_function_is_about_the_function_it_names():
    assert target("def test_empty_cart_has_nothing(): pass\n") == ("shop.cart.empty_cart", LinkSource.NAMING)


def test_a_test_function_is_about_the_class_whose_method_it_names():
    assert target("def test_redeem_twice(): pass\n") == ("shop.cart.Coupon", LinkSource.NAMING)


def test_a_test_file_is_about_the_class_it_names():
    assert target("def test_something_else(): pass\n") == ("shop.cart.Cart", LinkSource.NAMING)


def test_where_names_say_nothing_what_is_used_most_decides():
    text = """
        from shop.cart import Cart, Coupon
        def test_works():
            coupon = Coupon()
            coupon.redeem()
            Cart()
    """

    assert target(text, "tests/test_flow.py") == ("shop.cart.Coupon", LinkSource.IMPORTS)


def test_what_a_fixture_uses_counts_too():
    text = """
        import pytest
        from shop.cart import Coupon
        @pytest.fixture
        def thing(): return Coupon()
        def test_works(thing): assert thing
    """

    assert target(text, "tests/test_flow.py") == ("shop.cart.Coupon", LinkSource.IMPORTS)


def test_a_module_is_the_target_where_no_class_fits():
    assert target("def test_works(): pass\n", "tests/test_rates.py") == ("shop.rates", LinkSource.MODULE)
    assert target("import shop.cart as c\ndef test_works(): pass\n", "tests/test_flow.py") == (
        "shop.cart",
        LinkSource.MODULE,
    )


def test_of_files_of_one_name_the_mirrored_folder_is_meant():
    text = "def test_works(): pass\n"
    more = {"a/store.py": "class Store: pass\n", "b/store.py": "class Store: pass\n"}

    assert target(text, "tests/b/test_store.py", **more) == ("b.store.Store", LinkSource.NAMING)


def test_a_test_that_touches_nothing_of_the_project_is_not_linked():
    found = link("import os\ndef test_works(): os.getcwd()\n", "tests/test_flow.py")

    assert found.target is None
    assert found.source is None


def test_test_code_is_never_the_target():
    text = "from helpers import Flow\ndef test_works(): Flow()\n"

    assert target(text, "tests/test_flow.py", **{"tests/helpers.py": "class Flow: pass\n"}) == (None, None)


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
