"""The tests of a file: the same that pytest collects, and the properties of each."""

from __future__ import annotations

import pytest
from lint_samples import (
    SAMPLE_SUITE,
    cases_in,
    collect_with_pytest,
    ids_in,
    only_case,
    parse_module,
    project_of,
    write_files,
)

from flakehound.core.collection_patterns import CollectionPatterns
from flakehound.lint.collect.cases import cases_of

PYTHON = {path: text for path, text in SAMPLE_SUITE.items() if path.endswith(".py")}
TEST_FILES = sorted(path for path in PYTHON if CollectionPatterns().is_test_file(path))
NEVER_ENTERED = (
    "build/test_built.py",
    ".hidden/test_hidden.py",
    "below/test_ignored.py",
    "below/test_generated.py",
)


@pytest.fixture(scope="module")
def from_pytest(tmp_path_factory):
    return collect_with_pytest(write_files(tmp_path_factory.mktemp("suite"), SAMPLE_SUITE))


@pytest.mark.parametrize("path", [path for path in TEST_FILES if path not in NEVER_ENTERED])
def test_ids_and_their_order_are_pytests(path, from_pytest):
    project = project_of(PYTHON)

    ids = [case.id for case in cases_of(project.module(path), project.patterns, project)]

    assert ids == [test_id for test_id in from_pytest if test_id.startswith(f"{path}::")]


def test_the_samples_contain_tests(from_pytest):
    assert len(from_pytest) > 60


def test_the_projects_own_patterns_decide():
    text = "def check_a(): pass\ndef test_b(): pass\nclass SuiteOne:\n    def check_c(self): pass\n"

    assert ids_in(text, functions=("check",), classes=("Suite",)) == ["check_a", "SuiteOne::check_c"]
    assert ids_in(text, functions=("*_b",)) == ["test_b"]


def test_a_parametrised_test_is_one_case():
    text = "import pytest\n@pytest.mark.parametrize('n, m', [(1, 2)])\ndef test_n(n, m, tmp_path): pass\n"

    (case,) = cases_in(text)

    assert case.is_parametrised
    assert case.id == "test_it.py::test_n"
    assert case.fixtures == ("tmp_path",)


def test_parametrisation_of_a_class_counts_for_its_tests():
    text = "import pytest\n@pytest.mark.parametrize('n', [1])\nclass TestN:\n    def test_n(self, n): pass\n"

    (case,) = cases_in(text)

    assert case.is_parametrised
    assert case.fixtures == ()


def test_an_indirect_parameter_stays_a_fixture():
    text = "import pytest\n@pytest.mark.parametrize('a, b', [1], indirect=['a'])\ndef test_n(a, b): pass\n"

    (case,) = cases_in(text)

    assert case.fixtures == ("a",)


def test_fixtures_come_from_parameters_and_from_marks():
    text = """
        import pytest
        from unittest import mock
        pytestmark = [pytest.mark.usefixtures("of_module")]
        @pytest.mark.usefixtures("of_class")
        class TestIt:
            @pytest.mark.usefixtures("of_test")
            @mock.patch("os.getcwd")
            def test_it(self, getcwd, tmp_path, *, capsys, flag=False): pass
    """

    (case,) = cases_in(text)

    assert set(case.fixtures) == {"of_module", "of_class", "of_test", "tmp_path", "capsys"}


def test_a_case_has_the_path_line_and_classes_of_its_function():
    text = "class TestA:\n    class TestB:\n        async def test_c(self): pass\n"

    (case,) = cases_in(text)

    assert (case.path, case.line, case.name) == ("test_it.py", 3, "test_c")
    assert case.classes == ("TestA", "TestB")
    assert case.is_async
    assert not case.is_unittest


def test_an_inherited_test_has_the_module_that_contains_it():
    project = project_of(
        {
            "base.py": "import unittest\nclass Base(unittest.TestCase):\n    def test_it(self): pass\n",
            "test_a.py": "from base import Base\nclass A(Base): pass\n",
        }
    )

    tests = cases_of(project.module("test_a.py"), project.patterns, project)

    assert [case.id for case in tests] == ["test_a.py::Base::test_it", "test_a.py::A::test_it"]
    assert {case.module.path for case in tests} == {"base.py"}
    assert {case.collected_module.path for case in tests} == {"test_a.py"}
    assert all(case.is_unittest for case in tests)


@pytest.mark.parametrize(
    "base",
    [
        "django.test.TestCase",
        "twisted.trial.unittest.SynchronousTestCase",
        "rest_framework.test.APITestCase",
        "testtools.TestCase",
    ],
)
def test_a_base_outside_the_project_is_unittests_by_its_name(base):
    package, _, name = base.rpartition(".")

    (case,) = cases_in(f"from {package} import {name} as Base\nclass Shop(Base):\n    def test_it(self): pass\n")

    assert case.is_unittest


@pytest.mark.parametrize("base", ["abc.TestCaseMixin", "unittest.TestResult", "shop.Something"])
def test_other_bases_outside_the_project_are_not_unittests(base):
    package, _, name = base.rpartition(".")

    assert (
        cases_in(f"from {package} import {name} as Base\nclass Shop(Base):\n    def test_it(self): pass\n") == ()
    )


def test_a_cycle_of_base_classes_ends():
    assert ids_in("class TestA(TestB):\n    def test_a(self): pass\nclass TestB(TestA): pass\n")


def test_a_cycle_of_star_imports_ends():
    project = project_of(
        {
            "test_a.py": "from test_b import *\nfrom test_b import test_y as test_x\n",
            "test_b.py": "from test_a import *\nfrom test_a import test_x as test_y\n",
        }
    )

    assert cases_of(project.module("test_a.py"), project.patterns, project) == ()


def test_a_lambda_is_a_test_with_a_function():
    (case,) = cases_in("test_l = lambda tmp_path: tmp_path.exists()\n")

    assert case.fixtures == ("tmp_path",)
    assert case.function.name == "test_l"


def test_a_file_without_tests_has_no_cases():
    assert cases_of(parse_module("x = 1\n"), CollectionPatterns()) == ()


def test_an_imported_test_is_found_with_a_project_only():
    files = {"helpers.py": "def test_h(): pass\n", "test_a.py": "from helpers import test_h\n"}
    project = project_of(files)

    assert only_case(project, "test_a.py").module.path == "helpers.py"
    assert cases_of(parse_module(files["test_a.py"]), CollectionPatterns()) == ()


def test_expanded_tests_have_their_own_names():
    text = """
        import unittest
        from parameterized import parameterized, param
        ROWS = [("a b", 1), (2, "x"), param("c-d", flag=True)]
        class ShopTest(unittest.TestCase):
            @parameterized.expand(ROWS)
            def test_rows(self, *args): pass
            @parameterized.expand(["x"] * 3)
            def test_unknown(self, x): pass
            @parameterized.expand([("a",)] + [("b",)], name_func=str)
            def test_named(self, x): pass
            @parameterized.expand([(1,), (2,), (3,), (4,), (5,), (6,), (7,), (8,), (9,), (10,), ("k",)])
            def test_many(self, x): pass
    """

    names = [name.rpartition("::")[2] for name in ids_in(text)]

    assert [name for name in names if "rows" in name] == ["test_rows_0_a_b", "test_rows_1", "test_rows_2_c_d"]
    assert "test_many_00" in names
    assert "test_many_10_k" in names
    assert {"test_unknown", "test_named"} <= set(names)
