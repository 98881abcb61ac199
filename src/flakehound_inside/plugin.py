"""The pytest plugin that installing flakehound registers: one option, and nothing else unless asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our options; nothing is imported or registered until one of them is used."""
    group = parser.getgroup("flakehound", "flaky tests")
    group.addoption(
        "--flakehound-seed",
        type=int,
        default=None,
        metavar="SEED",
        help="seed random, numpy and hypothesis as a run of `flakehound hunt` did, to replay its failure",
    )


def pytest_collection_finish(session: pytest.Session) -> None:
    """Seed where a hunted run is seeded: after collection, before the first test."""
    seed = session.config.getoption("--flakehound-seed", None)
    if seed is not None:
        from flakehound_inside.seeds import apply_seed

        apply_seed(seed)
