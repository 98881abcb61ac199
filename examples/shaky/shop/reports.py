"""Daily sales reports."""

from __future__ import annotations

from pathlib import Path


def write_report(report_file: Path, sales: dict[str, int]) -> None:
    """Write one line per item, best seller first."""
    best_first = sorted(sales, key=lambda item: -sales[item])
    report_file.write_text("".join(f"{item}: {sales[item]}\n" for item in best_first), encoding="utf-8")
