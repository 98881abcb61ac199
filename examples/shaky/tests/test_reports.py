"""Tests of shop.reports: the polluter that changes the working directory."""

from __future__ import annotations

import os
from pathlib import Path

from shop import reports


def test_report_starts_with_the_best_seller(tmp_path):
    """Steady, with a temporary directory."""
    report_file = tmp_path / "report.txt"
    reports.write_report(report_file, {"tea": 2, "honey": 5})
    assert report_file.read_text(encoding="utf-8") == "honey: 5\ntea: 2\n"


def test_report_lands_in_the_working_directory(tmp_path):
    """Polluter (working directory): goes to the temporary directory and never comes back."""
    os.chdir(tmp_path)
    reports.write_report(Path("report.txt"), {"tea": 2})
    assert (tmp_path / "report.txt").exists()
