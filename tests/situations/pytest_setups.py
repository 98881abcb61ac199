"""Class 7: how pytest is set up and started, and what else than a module decides."""

from __future__ import annotations

from .project import Project
from .situation import Situations

PYTEST_SETUPS = Situations("7-pytest-setups")
add = PYTEST_SETUPS.add
CART = "def total(prices):\n    return sum(prices)\n"
TOTAL = "from shop.cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
FILES = {"shop/cart.py": CART, "tests/test_total.py": TOTAL}


def bug(project: Project, path: str = "shop/cart.py") -> None:
    """Break `total`."""
    project.replace(path, "sum(prices)", "sum(prices) + 1")
    project.commit("a bug")


@add("test_total")
def a_plugin_of_the_tree_is_named_on_the_command_line(project: Project) -> None:
    plugin = "import pytest\n\n\n@pytest.fixture\ndef prices():\n    return [1, 2]\n"
    test = "def test_total(prices):\n    assert sum(prices) == 3\n"
    project.args = ("-p", "tools.prices")
    project.start({"tools/prices.py": plugin, "tests/test_total.py": test})
    project.replace("tools/prices.py", "[1, 2]", "[1, 3]")
    project.commit()


@add("test_total")
def a_conftest_above_the_tests_is_broken(project: Project) -> None:
    conftest = "import pytest\n\n\n@pytest.fixture\ndef prices():\n    return [1, 2]\n"
    test = "def test_total(prices):\n    assert sum(prices) == 3\n"
    project.start({"conftest.py": conftest, "tests/unit/test_total.py": test})
    project.replace("conftest.py", "[1, 2]", "[1, 3]")
    project.commit()
    project.folder /= "tests"
    project.args = ("unit",)


@add("test_b_second")
def a_fixture_gets_a_wider_scope(project: Project) -> None:
    conftest = "import pytest\n\n\n@pytest.fixture\ndef basket():\n    return []\n"
    tests = """
        def test_a_first(basket):
            basket.append(1)


        def test_b_second(basket):
            assert basket == []
    """
    project.start({"tests/conftest.py": conftest, "tests/test_basket.py": tests})
    project.replace("tests/conftest.py", "@pytest.fixture\n", '@pytest.fixture(scope="module")\n')
    project.commit()


@add("test_leaks")
def a_resource_warning_is_an_error(project: Project) -> None:
    ini = "[pytest]\npythonpath = .\ntestpaths = tests\nfilterwarnings = error\n"
    reader = "def first(path):\n    with open(path) as file:\n        return file.read(1)\n"
    test = """
        import gc

        from shop.reader import first


        def test_leaks():
            assert first(__file__)
            gc.collect()
    """
    project.start({"pytest.ini": ini, "shop/reader.py": reader, "tests/test_leaks.py": test})
    project.write("shop/reader.py", "def first(path):\n    return open(path).read(1)\n")
    project.commit()


@add("test_row[de-20]", base_runs=False)
def the_values_of_a_parameter_come_from_changed_data(project: Project) -> None:
    test = """
        import csv

        import pytest

        ROWS = list(csv.reader(open("data/rates.csv")))


        @pytest.mark.parametrize("land,rate", ROWS)
        def test_row(land, rate):
            assert rate in ("19", "10")
    """
    project.start({"data/rates.csv": "de,19\nat,10\n", "tests/test_rows.py": test})
    project.write("data/rates.csv", "de,20\nat,10\n")
    project.commit()


@add("test_total", base_runs=False)
def the_path_of_the_project_is_in_a_file_of_the_home_folder(project: Project) -> None:
    test = """
        import sys
        from pathlib import Path

        sys.path.insert(0, (Path.home() / "shop-path").read_text())
        from cart import total


        def test_total():
            assert total([1, 2]) == 3
    """
    for home in ("home", "copy-home"):
        (project.room / home).mkdir()
        (project.room / home / "shop-path").write_text(str(project.folder / "lib"))
    project.start({"lib/cart.py": CART, "tests/test_total.py": test})
    bug(project, "lib/cart.py")


@add("test_total")
def a_conftest_ends_every_copy_of_its_process(project: Project) -> None:
    conftest = """
        import os

        PROCESS = os.getpid()


        def pytest_runtest_setup():
            if os.getpid() != PROCESS:
                os._exit(70)
    """
    project.start({**FILES, "conftest.py": conftest})
    bug(project)
