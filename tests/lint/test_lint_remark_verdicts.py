"""The verdicts on drawn remarks are complete, and the table counts them."""

from __future__ import annotations

from pathlib import Path

import pytest

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")


@pytest.fixture
def verdicts(monkeypatch):
    """The module of the benchmark."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    import lint_remark_verdicts

    return lint_remark_verdicts


def test_each_verdict_is_one_of_four_and_has_a_reason(verdicts):
    rows = verdicts.read_verdicts()

    assert {row["verdict"] for row in rows} <= set(verdicts.VERDICTS)
    assert all(row["reason"] and row["path"] and int(row["line"]) for row in rows)
    assert {row["round"] for row in rows} <= set(verdicts.ROUNDS)


def test_the_table_counts_verdicts(verdicts):
    rows = [{"round": "after", "verdict": verdict} for verdict in ("right", "wrong", "harmless", "right")]

    assert list(verdicts.table(rows, ["round"]))[-1] == "| after | 4 | 2 | 1 | 1 | 0 | 25% |"
