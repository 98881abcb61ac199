"""What a name stands for, through imports, aliases, re-exports and inheritance."""

from __future__ import annotations

import pytest
from lint_samples import project_of

from flakehound.lint.source.definitions import Definition, External
from flakehound.lint.source.functions import full_name


def meaning(files, path, name, **options):
    found = project_of(files, **options)
    return full_name(found.resolve(found.module(path), name))


@pytest.mark.parametrize(
    ("statement", "name", "means"),
    [
        ("import random", "random.random", "random.random"),
        ("import numpy as np", "np.random.rand", "numpy.random.rand"),
        ("import os.path", "os.path.join", "os.path.join"),
        ("import os.path as p", "p.join", "os.path.join"),
        ("from datetime import datetime as dt", "dt.now", "datetime.datetime.now"),
        ("from os import *", "getcwd", "getcwd"),
        ("import time\nsleep = time.sleep", "sleep", "time.sleep"),
        (
            "try:\n    import simplejson as json\nexcept ImportError:\n    import json",
            "json.dumps",
            "simplejson.dumps",
        ),
        ("", "open", "open"),
    ],
)
def test_what_is_outside_the_project_has_its_full_name(statement, name, means):
    assert meaning({"a.py": statement}, "a.py", name) == means


SHOP = {
    "src/shop/__init__.py": "from .cart import Cart, total as sum_up\nfrom . import till\n",
    "src/shop/cart.py": "class Cart:\n    def add(self): pass\ndef total(): pass\n",
    "src/shop/till/__init__.py": "from ..cart import *\n",
    "src/shop/till/drawer.py": "import shop.cart\nfrom time import sleep\ndef open_it(): pass\n",
}


@pytest.mark.parametrize(
    ("statement", "name", "means"),
    [
        ("import shop", "shop.Cart.add", "src.shop.cart.Cart.add"),
        ("from shop import sum_up", "sum_up", "src.shop.cart.total"),
        ("from shop import till", "till.Cart", "src.shop.cart.Cart"),
        ("from shop.till import drawer as d", "d.sleep", "time.sleep"),
        ("import shop.till.drawer", "shop.till.drawer.open_it", "src.shop.till.drawer.open_it"),
        ("import shop.till.drawer as x", "x.shop.cart.total", "src.shop.cart.total"),
        ("from shop.cart import Cart as C\nD = C", "D.add", "src.shop.cart.Cart.add"),
        ("from shop import nothing", "nothing", "shop.nothing"),
        ("import shop", "shop.missing.deep", "shop.missing.deep"),
    ],
)
def test_what_is_inside_is_found_where_it_is_defined(statement, name, means):
    assert meaning({**SHOP, "tests/test_a.py": statement}, "tests/test_a.py", name) == means


def test_of_two_helpers_of_one_name_the_nearer_is_meant():
    files = {
        "a/helpers.py": "def help(): pass\n",
        "b/helpers.py": "def help(): pass\n",
        "b/test_x.py": "from helpers import help\n",
    }

    assert meaning(files, "b/test_x.py", "help") == "b.helpers.help"


def test_a_folder_on_the_python_path_is_an_import_root():
    files = {"code/shop.py": "x = [1]\n", "tests/test_a.py": "import shop\n"}

    assert meaning(files, "tests/test_a.py", "shop.x", import_roots=["code"]) == "code.shop.x"


def test_tests_in_a_package_import_from_its_root():
    files = {
        "tests/__init__.py": "",
        "tests/unit/__init__.py": "",
        "tests/base.py": "class Base: pass\n",
        "tests/unit/test_a.py": "from tests.base import Base\nfrom ..base import Base as Again\n",
    }

    assert meaning(files, "tests/unit/test_a.py", "Base") == "tests.base.Base"
    assert meaning(files, "tests/unit/test_a.py", "Again") == "tests.base.Base"


def test_a_circle_of_imports_ends():
    files = {"a.py": "from b import x\n", "b.py": "from a import x\n"}

    assert meaning(files, "a.py", "x") in ("a.x", "b.x")


def test_a_class_is_asked_before_its_bases_as_python_does():
    found = project_of(
        {
            "a.py": """
                class A:
                    def f(self): pass
                class B(A): pass
                class C(A):
                    def f(self): pass
                class D(B, C): pass
            """
        }
    )

    member = found.resolve(found.module("a.py"), "D.f")

    assert isinstance(member, Definition)
    assert member.name == "C.f"


def test_the_lineage_ends_outside_the_project():
    found = project_of({"a.py": "import unittest as u\nclass A(u.TestCase): pass\nclass B(A): pass\n"})
    owner = found.resolve(found.module("a.py"), "B")

    assert [one.name for one in found.mro(owner)] == ["B", "A", "unittest.TestCase"]


def test_conftests_are_those_above_the_file_nearest_first():
    files = dict.fromkeys(
        ["conftest.py", "a/conftest.py", "a/b/conftest.py", "c/conftest.py", "a/b/test_x.py"], ""
    )
    found = project_of(files)

    chain = found.conftests(found.module("a/b/test_x.py"))

    assert [one.path for one in chain] == ["a/b/conftest.py", "a/conftest.py", "conftest.py"]


def test_a_file_that_does_not_parse_is_told_and_passed_over():
    found = project_of({"a.py": "from b import x\n", "b.py": "def (\n"})

    with found.track_reads() as consulted:
        assert found.resolve(found.module("a.py"), "x") == External(name="b.x")

    assert [one.path for one in found.unparsable_in(consulted)] == ["b.py"]


def test_what_was_known_before_still_tells_what_it_depends_on():
    found = project_of({"a.py": "from b import x\n", "b.py": "from c import x\n", "c.py": "def x(): pass\n"})
    found.resolve(found.module("a.py"), "x")

    with found.track_reads() as consulted:
        found.resolve(found.module("a.py"), "x")

    assert consulted == {"a.py", "b.py", "c.py"}


def test_a_rootdir_that_is_a_package_is_known_by_any_name():
    files = {"__init__.py": "", "base.py": "class Base: pass\n", "test_a.py": "from shop.base import Base\n"}

    assert meaning(files, "test_a.py", "Base") == "base.Base"
