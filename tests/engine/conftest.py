from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from dependency_samples import below, record
from engine_samples import BARE, OUTER_PYTEST, Sample, sample_at
from git_projects import GitProject, forget_machine_settings


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OUTER_PYTEST:
        monkeypatch.delenv(name, raising=False)
    for name, value in BARE.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def open_sample(tmp_path: Path) -> Iterator[Callable[..., Sample]]:
    opened: list[Sample] = []

    def _open(files: dict[str, str], **options: object) -> Sample:
        opened.append(sample_at(tmp_path / f"sample{len(opened)}", files, **options))
        return opened[-1]

    yield _open
    for sample in opened:
        sample.close()


@pytest.fixture(scope="module")
def open_shared_sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Sample]]:
    """Opens samples that many tests of one module only read."""
    opened: list[Sample] = []

    def _open(files: dict[str, str], **options: object) -> Sample:
        opened.append(sample_at(tmp_path_factory.mktemp("shared") / "sample", files, **options))
        return opened[-1]

    yield _open
    for sample in opened:
        sample.close()


@pytest.fixture
def own_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of the machine, and no build server around us."""
    forget_machine_settings(monkeypatch)


@pytest.fixture
def project(own_git: None, tmp_path: Path) -> GitProject:
    """A repository to change."""
    return GitProject(tmp_path / "project")


@pytest.fixture
def record_test(open_sample):
    """A function that records the test of one sample, with paths relative to the sample's root."""

    def _record_test(source: str, files=(), **others: str):
        sample = open_sample({"test_it.py": source, **others})
        run = record(sample, files=files)
        assert run.dependencies is not None
        return below(sample.root, run.dependencies), run.records[0].last

    return _record_test
