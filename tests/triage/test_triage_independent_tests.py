"""Tests that came, went or were defined anew concern nobody but themselves, if that is plain."""

from __future__ import annotations

import pytest
from triage_samples import changed, told

from flakehound.core.collection_patterns import CollectionPatterns

FILE = "tests/test_shop.py"
HEAD = "import pytest\nimport unittest\n\ndef test_old():\n    assert x\n"


def added_to(head, extra, **more):
    return told(changed(head, head + extra, path=FILE, **more))


def removed_from(head, extra):
    return told(changed(head + extra, head, path=FILE))


@pytest.mark.parametrize(
    "extra",
    [
        "def test_new():\n    assert x\n",
        "async def test_new():\n    assert x\n",
        "def test_new(tmp_path, a=1, b: int = 2) -> None:\n    assert x\n",
        "@pytest.mark.slow\ndef test_new():\n    assert x\n",
        "@pytest.mark.parametrize('a', [1, pytest.param(2, marks=pytest.mark.skip), DATA, -1])\n"
        "def test_new(a):\n    assert x\n",
        "@pytest.mark.skipif(sys.version_info < (3, 11), reason='x')\ndef test_new():\n    assert x\n",
        "@pytest.mark.parametrize('f', [lambda: 1])\ndef test_new(f):\n    assert x\n",
        "def test_new():\n    def inner():\n        return test_new\n    assert inner\n",
    ],
)
def test_a_plain_test_that_comes_or_goes_is_an_entity_of_its_own(extra):
    assert added_to(HEAD, extra) == {("test_new", "added", "test")}
    assert removed_from(HEAD, extra) == {("test_new", "removed", "test")}


def test_the_lines_of_an_added_test_are_those_of_its_body():
    (found,) = changed(HEAD, HEAD + "def test_new():\n    x = 1\n    assert x\n", path=FILE)

    assert found.body_lines == (range(7, 9),)


@pytest.mark.parametrize(
    "extra",
    [
        "def helper():\n    assert x\n",
        "@pytest.fixture\ndef test_new():\n    assert x\n",
        "@register\ndef test_new():\n    assert x\n",
        "@register('x')\ndef test_new():\n    assert x\n",
        "@pytest.mark.parametrize('a', load())\ndef test_new(a):\n    assert x\n",
        "@pytest.mark.parametrize('a', [x for x in y])\ndef test_new(a):\n    assert x\n",
        "@pytest.mark.parametrize('f', [lambda x=load(): 1])\ndef test_new(f):\n    assert x\n",
        "def test_new(a=load()):\n    assert x\n",
        "def test_new(a: load()):\n    assert x\n",
        "if x:\n    def test_new():\n        assert x\n",
        "def test_new():\n    assert x\ndef test_new():\n    assert y\n",
        "test_new = test_old\n",
        "def pytest_generate_tests(metafunc):\n    assert x\n",
        "def setup_module():\n    assert x\n",
    ],
)
def test_what_is_not_plainly_a_test_of_its_own_is_the_modules_code(extra):
    assert {reach for _name, _how, reach in added_to(HEAD, extra)} == {"import"}
    assert {reach for _name, _how, reach in removed_from(HEAD, extra)} == {"import"}


@pytest.mark.parametrize(
    "use",
    [
        "test_new()\n",
        "alias = {'f': test_new}\n",
        "def test_other():\n    test_new()\n",
        "@pytest.mark.dependency(depends=['test_new'])\ndef test_other():\n    assert x\n",
        "__all__ = ['test_new']\n",
        "class TestA:\n    def test_a(self):\n        self.test_new()\n",
        "def test_other(test_new):\n    assert x\n",
        "from helpers import test_new\n",
        "def test_other():\n    global test_new\n",
    ],
)
def test_a_test_that_other_code_of_the_file_mentions_is_the_modules_code(use):
    extra = "def test_new():\n    assert x\n"

    assert added_to(HEAD + use, extra) == {("test_new", "added", "import")}
    assert removed_from(HEAD + use, extra) == {("test_new", "removed", "import")}


@pytest.mark.parametrize(
    "use",
    ["globals()", "vars(m)", "dir()", "getattr(m, n)", "inspect.getmembers(m)", "m.__dict__", "sys.modules[n]"],
)
def test_code_that_can_find_a_test_without_its_name_makes_every_test_the_modules_code(use):
    found = added_to(f"{HEAD}def test_other():\n    {use}\n", "def test_new():\n    assert x\n")

    assert found == {("test_new", "added", "import")}


def test_only_files_that_pytest_collects_have_tests():
    found = changed("x = 1\n", "x = 1\ndef test_new():\n    assert x\n", path="shop/cart.py")

    assert told(found) == {("test_new", "added", "import")}


def test_the_project_says_what_a_test_is():
    patterns = CollectionPatterns(files=("check_*.py",), functions=("check", "*_spec"), classes=("Check",))
    extra = "def cart_spec():\n    assert x\n"

    found = changed("x = 1\n", "x = 1\n" + extra, path="tests/check_shop.py", patterns=patterns)

    assert told(found) == {("cart_spec", "added", "test")}
    assert patterns.is_test_function("check_it")
    assert patterns.is_test_class("CheckIt")
    assert not patterns.is_test_function("test_it")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def test_a():\n    assert x\n", "def test_a(tmp_path):\n    assert x\n"),
        ("def test_a():\n    assert x\n", "async def test_a():\n    assert x\n"),
        ("def test_a():\n    assert x\n", "def test_a():\n    'Says.'\n    assert x\n"),
        (
            "@pytest.mark.parametrize('a', [1])\ndef test_a(a):\n    assert x\n",
            "@pytest.mark.parametrize('a', [1, 2])\ndef test_a(a):\n    assert y\n",
        ),
    ],
)
def test_a_redefined_test_concerns_itself_alone(before, after):
    assert told(changed(HEAD + before, HEAD + after, path=FILE)) == {("test_a", "changed", "test")}


def test_a_test_redefined_by_an_unknown_decorator_is_the_modules_code():
    found = changed(
        HEAD + "def test_a():\n    assert x\n", HEAD + "@wrap\ndef test_a():\n    assert x\n", path=FILE
    )

    assert told(found) == {("test_a", "changed", "import")}


def test_a_test_that_moves_is_the_modules_code():
    one, two = "def test_a():\n    assert x\n", "x = 1\n"

    assert told(changed(one + two, two + one, path=FILE)) == {("<module>", "changed", "import")}


def test_a_changed_body_of_a_test_is_a_changed_function():
    found = changed("def test_a():\n    assert x\n", "def test_a():\n    assert y\n", path=FILE)

    assert told(found) == {("test_a", "changed", "body")}


def test_a_change_of_the_module_beside_a_new_test_is_still_seen():
    found = changed("x = 1\n", "x = 2\ndef test_new():\n    assert x\n", path=FILE)

    assert told(found) == {("test_new", "added", "test"), ("<module>", "changed", "import")}


@pytest.mark.parametrize(
    "head",
    [
        "class TestA:\n    def test_a(self):\n        assert x\n",
        "@pytest.mark.slow\nclass TestA(object):\n    def test_a(self):\n        assert x\n",
        "import unittest\nclass ShopTests(unittest.TestCase):\n    def test_a(self):\n        assert x\n",
        "from unittest import TestCase as T\nclass ShopTests(T):\n    def test_a(self):\n        assert x\n",
    ],
)
def test_a_method_that_comes_or_goes_in_a_plain_test_class_concerns_itself_alone(head):
    extra = "    def test_new(self):\n        assert x\n"
    owner = "TestA" if "TestA" in head else "ShopTests"

    assert added_to(head, extra) == {(f"{owner}.test_new", "added", "test")}
    assert removed_from(head, extra) == {(f"{owner}.test_new", "removed", "test")}


@pytest.mark.parametrize(
    "head",
    [
        "class TestA(Base):\n    def test_a(self):\n        assert x\n",
        "from base import TestCase\nclass TestA(TestCase):\n    def test_a(self):\n        assert x\n",
        "class TestA(metaclass=M):\n    def test_a(self):\n        assert x\n",
        "@wrap\nclass TestA:\n    def test_a(self):\n        assert x\n",
        "class Helper:\n    def test_a(self):\n        assert x\n",
        "class TestB: pass\nclass TestA(TestB):\n    def test_a(self):\n        assert x\n",
        "x = lambda: TestA\nclass TestA:\n    def test_a(self):\n        assert x\n",
        "class TestA: pass\nclass TestA:\n    def test_a(self):\n        assert x\n",
    ],
)
def test_a_method_of_any_other_class_is_the_modules_code(head):
    extra = "    def test_new(self):\n        assert x\n"

    assert {reach for _name, _how, reach in added_to(head, extra)} == {"import"}
    assert {reach for _name, _how, reach in removed_from(head, extra)} == {"import"}


def test_a_method_of_a_class_that_another_class_inherits_from_is_the_modules_code():
    tail = "class TestB(TestA):\n    def test_b(self):\n        assert x\n"
    head = "class TestA:\n    def test_a(self):\n        assert x\n"
    extra = "    def test_new(self):\n        assert x\n"

    assert told(changed(head + tail, head + extra + tail, path=FILE)) == {("TestA.test_new", "added", "import")}


def test_one_name_in_two_classes_is_no_mention():
    one = "class TestA:\n    def test_same(self):\n        assert x\n"
    head = one + "class TestB:\n    def test_b(self):\n        assert x\n"

    found = added_to(head, "    def test_same(self):\n        assert x\n")

    assert found == {("TestB.test_same", "added", "test")}


def test_a_class_of_nothing_but_tests_comes_and_goes_as_one():
    extra = (
        "class TestNew:\n    'Says.'\n    SIZE: int = 3\n    names = ['a']\n\n"
        "    def setup_method(self):\n        self.x = 1\n\n"
        "    @pytest.mark.slow\n    def test_a(self):\n        assert self.x\n"
    )

    (found,) = changed(HEAD, HEAD + extra, path=FILE)

    assert told([found]) == {("TestNew", "added", "test")}
    assert len(found.body_lines) == 2
    assert removed_from(HEAD, extra) == {("TestNew", "removed", "test")}


@pytest.mark.parametrize(
    "extra",
    [
        "class TestNew:\n    x = load()\n    def test_a(self):\n        assert x\n",
        "class TestNew:\n    load()\n    def test_a(self):\n        assert x\n",
        "class TestNew:\n    @load\n    def test_a(self):\n        assert x\n",
        "class TestNew:\n    class Inner:\n        pass\n",
        "class TestNew(Base):\n    def test_a(self):\n        assert x\n",
        "class TestNew:\n    other.x = 1\n",
        "if x:\n    class TestNew:\n        def test_a(self):\n            assert x\n",
    ],
)
def test_a_class_that_does_more_than_define_tests_is_the_modules_code(extra):
    assert {reach for _name, _how, reach in added_to(HEAD, extra)} == {"import"}
