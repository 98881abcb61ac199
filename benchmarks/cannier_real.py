"""Runs that the default models of `hunt --policy cannier` save in real suites, and flaky tests that they lose.

For each suite and turn: two fresh copies of its tree, hunted with `--policy rerun` and `--policy cannier`, with
the same seed and budget. The models have never seen the suite: its project is removed from their training table,
in a copy of our package. Counts the tests that a hunt proves flaky, and the test runs that it needed.

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

from prepared_subjects import SUBJECTS_FOLDER, Subject, prepare_subject
from running import temporary_folder
from subjects import FLAKY_KINDS

import flakehound
from flakehound.learn.measured.table import TABLE_FILE, pack_table, shipped_bytes, unpack_table

_EXAMPLE_SUITE = Path(__file__).parents[1] / "examples" / "shaky"
POLICIES = ("rerun", "cannier")


def suite_named(key: str, subjects: Path) -> Subject:
    """A prepared subject, or our example suite."""
    if key != "shaky":
        return prepare_subject(key, subjects)
    return Subject(key=key, tree=_EXAMPLE_SUITE, python=sys.executable, pytest_args=(), labels=(), n_tests=0)


def copy_package_without(project: str, folder: Path) -> Path:
    """Copy our package to `folder` and remove the project from the training table of the copy."""
    source = Path(flakehound.__file__).parents[1]
    for name in ("flakehound", "flakehound_inside"):
        shutil.copytree(source / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    rows, pairs = unpack_table(shipped_bytes())
    reduced = pack_table([row for row in rows if row["project"] != project], [asdict(pair) for pair in pairs])
    (folder / "flakehound" / "learn" / "facts" / TABLE_FILE).write_bytes(reduced)
    return folder


def hunt_suite(suite: Subject, package: Path, policy: str, seed: int, budget: str) -> Mapping[str, Any]:
    """Hunt a fresh copy of the suite and return the JSON report."""
    with temporary_folder() as folder:
        tree, report, home = folder / "tree", folder / "report.json", folder / "home"
        shutil.copytree(suite.tree, tree, symlinks=True)
        home.mkdir()
        env = {**os.environ, **suite.env, "HOME": str(home), "PYTHONPATH": str(package)}
        hunt = ["hunt", "-q", "--policy", policy, "--seed", str(seed), "--budget", budget, "--json", str(report)]
        command = [sys.executable, "-m", "flakehound", *hunt, "--python", suite.python, "--", *suite.pytest_args]
        done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), f"{suite.key}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        content: Mapping[str, Any] = json.loads(report.read_text())
        return content


def summary_of(suite: str, policy: str, report: Mapping[str, Any]) -> str:
    """Describe one hunt: counts, the flaky tests by kind, and the notes about its model."""
    kinds: dict[str, list[str]] = {}
    for test in report["tests"]:
        if test["kind"] in FLAKY_KINDS:
            kinds.setdefault(test["kind"], []).append(test["id"].rpartition("::")[2])
    alone = sum(test["runs"].get("alone", {}).get("n", 0) for test in report["tests"])
    spent = report["spent"]
    line = (
        f"{suite} {policy}: {sum(map(len, kinds.values()))} flaky, {spent['test_runs']} test runs, {alone} alone"
    )
    notes = [f"    {note}" for note in report["notes"] if "model" in note or "saved" in note]
    return "\n".join([line, *(f"    {kind}: {', '.join(sorted(names))}" for kind, names in kinds.items()), *notes])


def compare_policies(keys: Sequence[str], turns: int, budget: str, subjects: Path) -> None:
    """Hunt each suite by both policies in turns, and print what they found."""
    for key in keys:
        suite = suite_named(key, subjects)
        with temporary_folder() as folder:
            package = copy_package_without(key.rpartition("-")[0] or key, folder)
            for turn in range(turns):
                for policy in POLICIES:
                    report = hunt_suite(suite, package, policy, 100 + turn, budget)
                    print(summary_of(key, policy, report), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("keys", nargs="*", metavar="KEY", default=["shaky"], help="suites (default: shaky)")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--budget", default="30s", help="of each hunt (default %(default)s)")
    parser.add_argument(
        "--subjects", type=Path, default=SUBJECTS_FOLDER, help="prepared subjects (default %(default)s)"
    )
    options = parser.parse_args()
    compare_policies(options.keys, options.turns, options.budget, options.subjects)


if __name__ == "__main__":
    main()
