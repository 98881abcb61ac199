"""One folder per test for the suite that it runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from plugin_projects import Suite


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    """An empty suite with its own rootdir."""
    (tmp_path / "suite").mkdir()
    return Suite(folder=tmp_path / "suite").write({"pytest.ini": "[pytest]\n"})


@pytest.fixture(scope="module")
def shared_suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    """A suite for a run that many tests of one module inspect."""
    return Suite(folder=tmp_path_factory.mktemp("shared")).write({"pytest.ini": "[pytest]\n"})
