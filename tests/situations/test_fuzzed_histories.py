"""Random histories: no regression is cleared."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "triage_fuzz.py"
NUMBER = 20
LIMIT_S = 3000.0


@pytest.mark.slow
def test_no_regression_of_a_random_history_is_cleared(tmp_path: Path) -> None:
    out = tmp_path / "histories.jsonl"
    words = ["--number", str(NUMBER), "--seed", "1000", "--jobs", "1", "--out", str(out)]

    told = subprocess.run(
        [sys.executable, str(SCRIPT), *words], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )

    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    total = lines.pop()["summary"]
    assert told.returncode == 0, told.stdout + told.stderr
    assert len(lines) == NUMBER
    assert total["unexpected"] == total["no_answer"] == 0
    assert total["with_failing_regression"] >= NUMBER / 3
