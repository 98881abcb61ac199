"""One folder per test for the suite that it runs.

Each scenario runs twice: in a usual interpreter, and in a strict one, in which every warning is an error. Of the
latter, `make test` runs what concerns the controller; the rest is marked as slow.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from plugin_projects import STRICT, Suite

_FLAGS = {"usual": (), "strict": STRICT}
_ALWAYS_STRICT = ("test_plugin_outside", "test_plugin_warnings")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "interpreter" in metafunc.fixturenames:
        marks = () if metafunc.module.__name__ in _ALWAYS_STRICT else (pytest.mark.slow,)
        metafunc.parametrize(
            "interpreter", ["usual", pytest.param("strict", marks=marks)], indirect=True, scope="module"
        )


@pytest.fixture(scope="module")
def interpreter(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The flags of the interpreter that runs the suite."""
    return _FLAGS[request.param]


@pytest.fixture
def suite(tmp_path: Path, interpreter: tuple[str, ...]) -> Suite:
    """An empty suite with its own rootdir."""
    (tmp_path / "suite").mkdir()
    return Suite(folder=tmp_path / "suite", flags=interpreter).write({"pytest.ini": "[pytest]\n"})


@pytest.fixture(scope="module")
def shared_suite(tmp_path_factory: pytest.TempPathFactory, interpreter: tuple[str, ...]) -> Suite:
    """A suite for a run that many tests of one module inspect."""
    folder = tmp_path_factory.mktemp("shared")
    return Suite(folder=folder, flags=interpreter).write({"pytest.ini": "[pytest]\n"})
