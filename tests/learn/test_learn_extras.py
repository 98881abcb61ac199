"""Libraries of the extras come only when they are needed, and a missing one is an error with its remedy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from flakehound.learn.extras import MissingExtra, check_installed, requires_libraries

HEAVY = ("numpy", "scipy", "sklearn", "imblearn", "matplotlib", "shap", "statsmodels")


@pytest.mark.parametrize(("name", "extra"), [("sklearn", "learn"), ("imblearn", "learn"), ("shap", "study")])
def test_a_missing_library_is_an_error_that_says_how_to_install_it(monkeypatch, name, extra):
    monkeypatch.setitem(sys.modules, name, None)  # what Python itself takes for "not there"

    with pytest.raises(MissingExtra, match=f"needs {name}, which is not installed") as error:
        check_installed("numpy", name)

    assert error.value.remedy == f"python -m pip install 'flakehound[{extra}]'"


def test_a_plain_import_of_a_missing_library_is_the_same_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)

    @requires_libraries("numpy")
    def work() -> object:
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier

    with pytest.raises(MissingExtra, match="needs sklearn, which is not installed") as error:
        work()

    assert error.value.remedy == "python -m pip install 'flakehound[learn]'"


def test_work_that_requires_a_missing_library_does_not_begin(monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    begun = []

    with pytest.raises(MissingExtra):
        requires_libraries("shap")(begun.append)(1)

    assert begun == []


def test_a_missing_module_of_no_extra_stays_an_import_error():
    with pytest.raises(ModuleNotFoundError), requires_libraries("numpy"):
        import no_such_module_anywhere  # noqa: F401


def test_installed_libraries_are_no_error():
    check_installed("numpy", "sklearn")


def test_neither_a_hunt_nor_the_command_line_imports_any_of_it():
    modules = "flakehound.cli.main, flakehound.app.hunt.run, flakehound.cli.study, flakehound.cli.data"
    code = f"import sys, {modules}; print([name for name in {HEAVY} if name in sys.modules])"

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert said.stdout.strip() == "[]"
