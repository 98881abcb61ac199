"""Class 7: many failures at once, and projects whose base must import its own code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .project import Project
from .situation import Situations

LAYOUTS = Situations("7-many-and-layouts")
CART = "def total(prices):\n    return sum(prices)\n"
TOTAL = "from shop.cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
NO_PATH = "[pytest]\ntestpaths = tests\n"


def bug(project: Project, path: str = "shop/cart.py") -> None:
    """Break `total`."""
    project.replace(path, "sum(prices)", "sum(prices) + 1")
    project.commit("a bug")


def many(project: Project, number: int) -> None:
    """One broken function with many tests."""
    tests = "".join(f"def test_{n}():\n    assert total([1, 2]) == 3\n\n\n" for n in range(number))
    project.start({"shop/cart.py": CART, "tests/test_many.py": f"from shop.cart import total\n\n\n{tests}"})
    bug(project)


@LAYOUTS.add(*[f"test_{n}" for n in range(13)])
def one_broken_function_lets_13_tests_fail(project: Project) -> None:
    many(project, 13)


@LAYOUTS.add(*[f"test_{n}" for n in range(40)])
def one_broken_function_lets_40_tests_fail(project: Project) -> None:
    many(project, 40)


@LAYOUTS.add(*[f"test_one[{n}]" for n in range(20)])
def one_broken_function_lets_20_parameters_fail_with_their_values(project: Project) -> None:
    test = """
        import pytest
        from shop.cart import total


        @pytest.mark.parametrize("n", range(20))
        def test_one(n):
            assert total([n]) == n
    """
    project.start({"shop/cart.py": CART, "tests/test_many.py": test})
    bug(project)


@LAYOUTS.add("test_total")
def the_modules_are_below_src(project: Project) -> None:
    ini = "[pytest]\npythonpath = src\ntestpaths = tests\n"
    project.start({"pytest.ini": ini, "src/shop/cart.py": CART, "tests/test_total.py": TOTAL})
    bug(project, "src/shop/cart.py")


@LAYOUTS.add("test_total")
def a_variable_names_the_folder_of_the_modules(project: Project) -> None:
    project.env["PYTHONPATH"] = str(project.folder / "src")
    project.write_all({"pytest.ini": NO_PATH, "src/shop/cart.py": CART, "tests/test_total.py": TOTAL})
    project.commit()
    project.branch()
    bug(project, "src/shop/cart.py")


@LAYOUTS.add("test_total")
def the_project_is_installed_editable(project: Project) -> None:
    environment = project.room / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    (site,) = environment.glob("lib/python*/site-packages")
    # As pip does it for a src layout: a file that adds a folder to the path. Ours and pytest come from our own.
    ours = [path for path in sys.path if path and Path(path).is_dir() and "site-packages" in path]
    source = Path(__file__).parents[2] / "src"
    (site / "shop.pth").write_text("\n".join([str(project.folder / "src"), str(source), *ours]) + "\n")
    project.python = str(environment / "bin/python")
    project.write_all({"pytest.ini": NO_PATH, "src/shop/cart.py": CART, "tests/test_total.py": TOTAL})
    project.commit()
    project.branch()
    bug(project, "src/shop/cart.py")


@LAYOUTS.add("test_total")
def a_subprocess_imports_the_project_from_the_working_directory(project: Project) -> None:
    test = """
        import subprocess
        import sys


        def test_total():
            code = "from shop.cart import total; print(total([1, 2]))"
            assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "3\\n"
    """
    project.start({"shop/cart.py": CART, "tests/test_total.py": test})
    bug(project)


@LAYOUTS.add("test_total", base_runs=False)
def a_subprocess_imports_the_project_from_an_absolute_path(project: Project) -> None:
    test = """
        import os
        import subprocess
        import sys

        ROOT = os.environ["SHOP_ROOT"]


        def test_total():
            code = f"import sys; sys.path.insert(0, {ROOT!r}); from shop.cart import total; print(total([1, 2]))"
            assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "3\\n"
    """
    project.env["SHOP_ROOT"] = str(project.folder)
    project.start({"shop/cart.py": CART, "tests/test_total.py": test})
    bug(project)


@LAYOUTS.add("test_total")
def the_project_is_a_folder_of_a_larger_repository(project: Project) -> None:
    project.write_all({"libs/shop/cart.py": CART, "libs/tests/test_total.py": TOTAL})
    os.replace(project.folder / "pytest.ini", project.folder / "libs/pytest.ini")
    project.commit()
    project.branch()
    bug(project, "libs/shop/cart.py")
    project.folder /= "libs"


@LAYOUTS.add("test_total", sometimes=True)
def a_flaky_test_with_a_value_in_its_message_is_broken_as_well(project: Project) -> None:
    test = """
        import os

        from shop.cart import total


        def test_total():
            noise = os.urandom(1)[0] if os.urandom(1)[0] < 50 else 0
            assert total([1, 2]) + noise == 3
    """
    project.write_all({"shop/cart.py": CART, "tests/test_total.py": test})
    project.commit()
    project.branch()
    bug(project)
