from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_REPORT = Path(__file__).parents[2] / "src" / "flakehound" / "report"


def test_no_report_loads_rich() -> None:
    names = [f"flakehound.report.{path.stem}" for path in _REPORT.glob("[a-z]*.py")]
    code = f"import sys, {', '.join(names)}; print('rich' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"
