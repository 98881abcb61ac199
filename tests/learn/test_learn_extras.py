"""Libraries of the extras come only when they are needed, and a missing one is an error with its remedy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from flakehound.learn.extras import MissingExtra, check_installed, library

HEAVY = ("numpy", "scipy", "sklearn", "imblearn", "matplotlib", "shap", "statsmodels")


@pytest.mark.parametrize(("name", "extra"), [("sklearn", "learn"), ("imblearn", "learn"), ("shap", "study")])
def test_a_missing_library_is_an_error_that_says_how_to_install_it(monkeypatch, name, extra):
    monkeypatch.setitem(sys.modules, name, None)  # what Python itself takes for "not there"

    with pytest.raises(MissingExtra, match=f"needs {name}, which is not installed") as error:
        library(name)

    assert error.value.remedy == f"python -m pip install 'flakehound[{extra}]'"


def test_installed_libraries_are_no_error():
    check_installed("numpy", "sklearn")


def test_neither_a_hunt_nor_the_command_line_imports_any_of_it():
    modules = "flakehound.cli.main, flakehound.app.hunt.run, flakehound.cli.study, flakehound.cli.data"
    code = f"import sys, {modules}; print([name for name in {HEAVY} if name in sys.modules])"

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert said.stdout.strip() == "[]"
