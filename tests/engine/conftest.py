from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from engine_samples import BARE, OUTER_PYTEST, Sample, sample_at


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
