"""The log of every use of the report split: when, by which code, what for, and what it gave."""

from __future__ import annotations

import csv
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from lint_figures import KINDS, OURS, Judged, RankingFigures
from lint_intervals import Figure

import flakehound

USES = Path(__file__).with_name("lint_report_uses.csv")


def append_use(
    reason: str, judged: Judged, shares: Mapping[str, Figure], figures: Sequence[RankingFigures], path: Path = USES
) -> None:
    """Append one line with the figures of lint's refitted model; figures have their interval in brackets."""
    line = {
        "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
        "commit": commit_of_checkout(),
        "reason": reason,
        "projects": str(len(judged.names)),
        "tests": str(len(judged.tests)),
        **{kind: str(judged.positives(judged.tests, kind).sum()) for kind in KINDS},
        **{f"findings {name}": figure.text() for name, figure in shares.items()},
    }
    for ranking in (figure for figure in figures if figure.name == OURS):
        line[f"{ranking.kind} auc"] = ranking.auc_pooled.text()
        line[f"{ranking.kind} auc within"] = ranking.auc_within.text()
        line[f"{ranking.kind} top mean"] = ranking.top_mean.text()
        line[f"{ranking.kind} top pooled"] = ranking.top_pooled.text()
        line[f"{ranking.kind} ece"] = ranking.calibration_error.text(4) if ranking.calibration_error else ""
    is_new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(line), lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(line)


def commit_of_checkout() -> str:
    """The commit of the flakehound that is judged; with "+" if its sources differ from the commit."""
    folder = Path(flakehound.__file__).parent
    commit = _git(folder, "rev-parse", "--short=12", "HEAD")
    return f"{commit}+" if _git(folder, "status", "--porcelain", "--", ".") else commit


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False)
    return done.stdout.strip() or ("" if done.returncode == 0 else "unknown")
