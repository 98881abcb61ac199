"""Libraries of the extras are imported only when needed, and a missing one is an error with its remedy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from flakehound.learn.extras import MissingExtra, check_installed, requires_libraries

HEAVY = ("numpy", "scipy", "sklearn", "imblearn", "matplotlib", "shap", "statsmodels")


@pytest.mark.parametrize(("name", "extra"), [("sklearn", "learn"), ("imblearn", "learn"), ("shap", "study")])
def test_a_missing_library_is_an_error_that_says_how_to_install_it(monkeypatch, name, extra):
    monkeypatch.setitem(sys.modules, name, None)  # Python treats it as not installed

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


def test_a_function_that_requires_a_missing_library_is_not_called(monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    calls = []

    with pytest.raises(MissingExtra):
        requires_libraries("shap")(calls.append)(1)

    assert calls == []


def test_a_missing_module_that_belongs_to_no_extra_stays_an_import_error():
    with pytest.raises(ModuleNotFoundError), requires_libraries("numpy"):
        import no_such_module_anywhere  # noqa: F401


def test_installed_libraries_are_no_error():
    check_installed("numpy", "sklearn")


def test_neither_a_hunt_nor_the_command_line_imports_heavy_libraries():
    modules = "flakehound.cli.main, flakehound.app.hunt.run, flakehound.cli.study, flakehound.cli.data"
    code = f"import sys, {modules}; print([name for name in {HEAVY} if name in sys.modules])"

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "[]"
