"""Metrics of the tests of a project, as rows of a table."""

from __future__ import annotations

import ast
import sysconfig
from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import pytest
from metric_samples import metrics_in, project_of

from flakehound.lint.collect.cases import cases_of
from flakehound.lint.links.tested_code import link_of
from flakehound.lint.metrics import table
from flakehound.lint.metrics.case import CaseSource, case_metrics
from flakehound.lint.metrics.import_names import imported_names
from flakehound.lint.metrics.lines import LineCounter
from flakehound.lint.metrics.production import UnitSource, production_metrics
from flakehound.lint.metrics.table import COLUMNS, METRIC_NAMES, metrics_of, metrics_row

CANNIER_FEATURES = (
    "ast_depth",
    "assertions",
    "external_modules",
    "halstead_volume",
    "cyclomatic_complexity",
    "test_lines_of_code",
    "maintainability",
)
CART = """
class Cart:
    def __init__(self):
        self.prices = []

    def add(self, price):
        self.prices.append(price)

    def total(self):
        return sum(self.prices)
"""
TESTS = """
from cart import Cart


class TestCart:
    def test_adds(self):
        cart = Cart()
        cart.add(1)
        assert cart.total() == 1

    def test_is_empty(self):
        assert Cart().total() == 0


def test_nothing():
    assert 1 + 1 == 2
"""


@pytest.fixture
def shop():
    return project_of(
        cart=CART, test_cart=TESTS, unrelated="x = 1\n", test_alone="def test_alone():\n    assert 1\n"
    )


def rows_of(project):
    cases = [case for module in project.test_modules() for case in cases_of(module, project.patterns, project)]
    return {case.id: metrics_row(case, project).cells() for case in cases}


def test_a_row_has_the_columns_in_their_order(shop):
    (row, *_others) = rows_of(shop).values()

    assert tuple(row) == COLUMNS
    assert len(METRIC_NAMES) == 25 + 7


def test_the_seven_features_are_named_as_in_the_table_of_features():
    assert METRIC_NAMES[-7:] == CANNIER_FEATURES


def test_a_row_contains_the_link_of_the_test(shop):
    row = rows_of(shop)["test_cart.py::TestCart::test_adds"]

    assert (row["path"], row["line"]) == ("test_cart.py", 5)
    assert (row["linked_to"], row["linked_by"]) == ("cart.py:Cart", "naming")
    assert (row["wmc"], row["eager_test"], row["god_class"]) == (3, 2, 0)


def test_smells_are_written_as_numbers(shop):
    row = rows_of(shop)["test_cart.py::TestCart::test_adds"]

    assert type(row["complex_class"]) is int


def test_metrics_of_production_code_are_unknown_if_none_is_linked(shop):
    metrics = metrics_in(shop, "test_alone")

    assert {getattr(metrics, name) for name in METRIC_NAMES[:15]} == {None}
    assert metrics.eager_test is None
    assert metrics.assertions == 1


def test_production_code_is_measured_once_for_all_its_tests(shop, monkeypatch):
    measured = []

    def count_call(node, source):
        measured.append(node)
        return production_metrics(node, source)

    monkeypatch.setattr(table, "production_metrics", count_call)
    rows_of(shop)

    assert len(measured) == len(set(measured))


def test_a_linked_method_is_measured_as_its_class(shop):
    cases = cases_of(shop.module("test_cart.py"), shop.patterns, shop)

    wmc = {case.name: metrics_of(case, shop).wmc for case in cases if link_of(case, shop).target is not None}

    assert wmc["test_adds"] == wmc["test_is_empty"] == 3


def test_metrics_are_immutable_and_compared_by_value(shop):
    metrics = metrics_in(shop, "test_alone")

    with pytest.raises(FrozenInstanceError):
        metrics.wmc = 1
    assert metrics == metrics_in(shop, "test_alone")
    assert [field for field in fields(metrics) if not field.kw_only] == []


LIBRARY = Path(sysconfig.get_path("stdlib"))
MODULES = [LIBRARY / name for name in ("ast.py", "argparse.py", "dataclasses.py", "typing.py", "asyncio/tasks.py")]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_any_code_can_be_measured(path):
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    lines, imports = LineCounter(text), imported_names(tree.body)
    source = CaseSource(lines=lines, imports=imports, is_own=lambda _package: False, methods=())

    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            metrics = case_metrics(node, source)
            assert 0 <= metrics.maintainability <= 100
            assert metrics.tloc >= 1
            assert metrics.test_lines_of_code >= 1
        elif isinstance(node, ast.ClassDef | ast.Module):
            unit = production_metrics(node, UnitSource(name="x", lines=lines, imports=imports))
            assert 0 <= unit.lcom2 <= 1
            assert unit.loc >= 1


@pytest.mark.parametrize("assignment", ["test_one = make()", "test_one = functools.partial(check)"])
def test_a_test_from_another_file_is_measured_in_that_file(assignment):
    below = "A = 1\n" * 30
    factory = "def make():\n    def inner():\n        assert 1\n        assert 2\n    return inner\n\n\n"
    check = "def check():\n    assert 1\n    assert 2\n"
    test = f"import functools\nfrom helpers import check, make\n{assignment}\n"
    project = project_of(helpers=below + factory + check, test_a=test)

    (case,) = cases_of(project.module("test_a.py"), project.patterns, project)

    assert case.module.path == "helpers.py"
    assert metrics_of(case, project).tloc == 3
