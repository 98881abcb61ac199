"""Resolving names through imports, aliases, re-exports and inheritance."""

from __future__ import annotations

import pytest
from lint_samples import project_of

from flakehound.lint.source.definitions import Definition, External
from flakehound.lint.source.functions import full_name


def resolved_name(files, path, name, **options):
    project = project_of(files, **options)
    return full_name(project.resolve(project.module(path), name))


@pytest.mark.parametrize(
    ("statement", "name", "expected"),
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
def test_a_name_outside_the_project_resolves_to_its_full_name(statement, name, expected):
    assert resolved_name({"a.py": statement}, "a.py", name) == expected


SHOP = {
    "src/shop/__init__.py": "from .cart import Cart, total as sum_up\nfrom . import till\n",
    "src/shop/cart.py": "class Cart:\n    def add(self): pass\ndef total(): pass\n",
    "src/shop/till/__init__.py": "from ..cart import *\n",
    "src/shop/till/drawer.py": "import shop.cart\nfrom time import sleep\ndef open_it(): pass\n",
}


@pytest.mark.parametrize(
    ("statement", "name", "expected"),
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
def test_a_name_inside_the_project_resolves_to_its_definition(statement, name, expected):
    assert resolved_name({**SHOP, "tests/test_a.py": statement}, "tests/test_a.py", name) == expected


def test_of_two_helpers_of_the_same_name_the_nearer_is_imported():
    files = {
        "a/helpers.py": "def help(): pass\n",
        "b/helpers.py": "def help(): pass\n",
        "b/test_x.py": "from helpers import help\n",
    }

    assert resolved_name(files, "b/test_x.py", "help") == "b.helpers.help"


def test_a_folder_on_the_python_path_is_an_import_root():
    files = {"code/shop.py": "x = [1]\n", "tests/test_a.py": "import shop\n"}

    assert resolved_name(files, "tests/test_a.py", "shop.x", import_roots=["code"]) == "code.shop.x"


def test_tests_in_a_package_import_from_its_root():
    files = {
        "tests/__init__.py": "",
        "tests/unit/__init__.py": "",
        "tests/base.py": "class Base: pass\n",
        "tests/unit/test_a.py": "from tests.base import Base\nfrom ..base import Base as Again\n",
    }

    assert resolved_name(files, "tests/unit/test_a.py", "Base") == "tests.base.Base"
    assert resolved_name(files, "tests/unit/test_a.py", "Again") == "tests.base.Base"


def test_a_cycle_of_imports_ends():
    files = {"a.py": "from b import x\n", "b.py": "from a import x\n"}

    assert resolved_name(files, "a.py", "x") in ("a.x", "b.x")


def test_attributes_are_looked_up_in_pythons_method_resolution_order():
    project = project_of(
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

    member = project.resolve(project.module("a.py"), "D.f")

    assert isinstance(member, Definition)
    assert member.name == "C.f"


def test_the_mro_ends_at_a_base_outside_the_project():
    project = project_of({"a.py": "import unittest as u\nclass A(u.TestCase): pass\nclass B(A): pass\n"})
    owner = project.resolve(project.module("a.py"), "B")

    assert [base.name for base in project.mro(owner)] == ["B", "A", "unittest.TestCase"]


def test_conftests_are_those_above_the_file_nearest_first():
    files = dict.fromkeys(
        ["conftest.py", "a/conftest.py", "a/b/conftest.py", "c/conftest.py", "a/b/test_x.py"], ""
    )
    project = project_of(files)

    chain = project.conftests(project.module("a/b/test_x.py"))

    assert [conftest.path for conftest in chain] == ["a/b/conftest.py", "a/conftest.py", "conftest.py"]


def test_an_unparsable_file_is_reported_and_skipped():
    project = project_of({"a.py": "from b import x\n", "b.py": "def (\n"})

    with project.track_reads() as read_paths:
        assert project.resolve(project.module("a.py"), "x") == External(name="b.x")

    assert [file.path for file in project.unparsable_in(read_paths)] == ["b.py"]


def test_a_cached_result_still_records_the_files_it_depends_on():
    project = project_of({"a.py": "from b import x\n", "b.py": "from c import x\n", "c.py": "def x(): pass\n"})
    project.resolve(project.module("a.py"), "x")

    with project.track_reads() as read_paths:
        project.resolve(project.module("a.py"), "x")

    assert read_paths == {"a.py", "b.py", "c.py"}


def test_a_rootdir_that_is_a_package_can_be_imported_by_any_name():
    files = {"__init__.py": "", "base.py": "class Base: pass\n", "test_a.py": "from shop.base import Base\n"}

    assert resolved_name(files, "test_a.py", "Base") == "base.Base"
