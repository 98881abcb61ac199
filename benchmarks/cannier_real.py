"""What the default models of `hunt --policy cannier` save and lose in real suites.

For each suite and turn: two fresh copies of its tree, `--policy rerun` and `--policy cannier`, the same seed and
the same time. The models have never seen the suite: its project is taken out of the table they learn from, in
a copy of our package. Counted are the tests that a hunt proves flaky, and what it ran for that.

    python benchmarks/cannier_real.py [--turns 3] [--budget 30s] [KEY ...]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from prepared import SUBJECTS, Subject, prepared_subject
from running import temporary_folder
from subjects import FLAKY

import flakehound
from flakehound.learn.measured.table import FILE, pack_table, shipped_bytes, unpack_table

_SHAKY = Path(__file__).parents[1] / "examples" / "shaky"
POLICIES = ("rerun", "cannier")


def suite_named(key: str, subjects: Path) -> Subject:
    """A prepared subject, or our own example."""
    if key != "shaky":
        return prepared_subject(key, subjects)
    return Subject(key=key, tree=_SHAKY, python=sys.executable, pytest_args=(), labels=(), n_tests=0)


def package_without(project: str, folder: Path) -> Path:
    """Where a copy of our package is whose table does not have the project."""
    source = Path(flakehound.__file__).parents[1]
    for name in ("flakehound", "flakehound_inside"):
        shutil.copytree(source / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    rows, pairs = unpack_table(shipped_bytes())
    kept = pack_table([row for row in rows if row["project"] != project], [asdict(pair) for pair in pairs])
    (folder / "flakehound" / "learn" / "facts" / FILE).write_bytes(kept)
    return folder


def hunted(suite: Subject, package: Path, policy: str, seed: int, budget: str) -> Mapping[str, Any]:
    """The report of one hunt."""
    with temporary_folder() as folder:
        tree, report, home = folder / "tree", folder / "report.json", folder / "home"
        shutil.copytree(suite.tree, tree, symlinks=True)
        home.mkdir()
        env = {**os.environ, **suite.env, "HOME": str(home), "PYTHONPATH": str(package)}
        command = [
            "hunt",
            "-q",
            "--policy",
            policy,
            "--seed",
            str(seed),
            "--budget",
            budget,
            "--json",
            str(report),
        ]
        words = [sys.executable, "-m", "flakehound", *command, "--python", suite.python, "--", *suite.pytest_args]
        done = subprocess.run(words, cwd=tree, env=env, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), f"{suite.key}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        found: Mapping[str, Any] = json.loads(report.read_text())
        return found


def told(suite: str, policy: str, report: Mapping[str, Any]) -> str:
    """One line on a hunt, and what its model said."""
    kinds: dict[str, list[str]] = {}
    for test in report["tests"]:
        if test["kind"] in FLAKY:
            kinds.setdefault(test["kind"], []).append(test["id"].rpartition("::")[2])
    alone = sum(test["runs"].get("alone", {}).get("n", 0) for test in report["tests"])
    spent = report["spent"]
    line = (
        f"{suite} {policy}: {sum(map(len, kinds.values()))} flaky, {spent['test_runs']} test runs, {alone} alone"
    )
    notes = [f"    {note}" for note in report["notes"] if "model" in note or "saved" in note]
    return "\n".join([line, *(f"    {kind}: {', '.join(sorted(names))}" for kind, names in kinds.items()), *notes])


def compared(keys: Sequence[str], turns: int, budget: str, subjects: Path) -> None:
    """Both policies in turns."""
    for key in keys:
        suite = suite_named(key, subjects)
        with temporary_folder() as folder:
            package = package_without(key.rpartition("-")[0] or key, folder)
            for turn in range(turns):
                for policy in POLICIES:
                    print(told(key, policy, hunted(suite, package, policy, 100 + turn, budget)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("keys", nargs="*", metavar="KEY", default=["shaky"], help="suites (default: shaky)")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--budget", default="30s", help="of each hunt (default %(default)s)")
    parser.add_argument("--subjects", type=Path, default=SUBJECTS, help="prepared ones (default %(default)s)")
    asked = parser.parse_args()
    compared(asked.keys, asked.turns, asked.budget, asked.subjects)


if __name__ == "__main__":
    main()
