"""Node ids that lint reads from the source of real suites, against `pytest --collect-only`.

For each subject, pytest collects in the subject's own environment and a copy of its tree. Ids are compared without
the brackets of parameters: how many of pytest's tests lint finds, how many of lint's tests pytest has, and whether
both have the same order.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from prepared_subjects import SUBJECTS_FOLDER, Subject, prepare_subject, subject_keys
from running import temporary_folder
from side_by_side import Row, benchmark_parser, report_results

from flakehound.app.lint.files import scan
from flakehound.lint.analyse import case_ids

MIN_SHARE = 0.99
GOAL = f"≥ {MIN_SHARE:.0%} both ways"
OPTIONS_WITH_VALUE = (
    "-p",
    "-o",
    "-c",
    "-k",
    "-m",
    "--rootdir",
    "--timeout",
)  # pytest options that take the next word


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The ids of one suite from both sides, without parameters."""

    key: str
    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    took_s: float
    errors: Sequence[str] = field(default_factory=tuple)

    @property
    def missed(self) -> list[str]:
        """Tests that only pytest has."""
        return sorted(set(self.theirs) - set(self.ours))

    @property
    def invented(self) -> list[str]:
        """Tests that only lint has."""
        return sorted(set(self.ours) - set(self.theirs))

    @property
    def found_share(self) -> float:
        """Share of pytest's tests that lint finds."""
        return 1 - len(self.missed) / max(1, len(set(self.theirs)))

    @property
    def true_share(self) -> float:
        """Share of lint's tests that pytest has."""
        return 1 - len(self.invented) / max(1, len(set(self.ours)))

    @property
    def same_order(self) -> bool:
        """Whether both sides have the same tests in the same order."""
        return self.ours == self.theirs

    def row(self) -> Row:
        """The row of this suite."""
        order = "same order" if self.same_order else "other order or tests"
        return Row(
            job=self.key,
            ours=f"{len(set(self.ours))} tests in {self.took_s:.2f} s",
            peer=f"{len(set(self.theirs))} tests",
            measured=f"{self.found_share:.1%} found, {self.true_share:.1%} true, {order}",
            goal=GOAL,
            met=self.goal_met,
            is_detail=self.goal_met,
        )

    @property
    def goal_met(self) -> bool:
        """Whether both shares are high enough."""
        return min(self.found_share, self.true_share) >= MIN_SHARE


def total_row(agreements: Sequence[Agreement]) -> Row:
    """All suites together; a suite that misses the goal has its own row as well."""
    ours, theirs = (sum(len(set(getattr(suite, side))) for suite in agreements) for side in ("ours", "theirs"))
    found = theirs - sum(len(suite.missed) for suite in agreements)
    true = ours - sum(len(suite.invented) for suite in agreements)
    same_order = sum(suite.same_order for suite in agreements)
    return Row(
        job=f"{len(agreements)} suites",
        ours=f"{ours} tests in {sum(suite.took_s for suite in agreements):.2f} s",
        peer=f"{theirs} tests",
        measured=f"{found / theirs:.1%} found, {true / ours:.1%} true, same order in {same_order}",
        goal=GOAL,
        met=all(suite.goal_met for suite in agreements),
    )


def compare_ids(subject: Subject) -> Agreement:
    """Collect a copy of the suite with pytest, and read the same copy with lint."""
    with temporary_folder() as folder:
        tree = folder / "tree"
        shutil.copytree(subject.tree, tree, symlinks=True)
        theirs, errors = collect_by_pytest(subject, tree)
        began = time.perf_counter()
        scanned = scan(targets_in(subject.pytest_args), case_ids, cwd=tree)
        took_s = time.perf_counter() - began
    ours = tuple(test for ids in scanned.answers.values() for test in ids)
    unparsable = [f"{file.path}:{file.line}: {file.reason}" for file in scanned.unparsable]
    return Agreement(key=subject.key, ours=ours, theirs=theirs, took_s=took_s, errors=(*errors, *unparsable))


def collect_by_pytest(subject: Subject, tree: Path) -> tuple[tuple[str, ...], list[str]]:
    """The ids that pytest collects, each once, and the lines about files that it could not collect."""
    command = [subject.python, "-m", "pytest", *subject.pytest_args, "--collect-only", "-q"]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | dict(subject.env)
    done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    ids = dict.fromkeys(line.partition("[")[0] for line in lines if "::" in line and not line.startswith("ERROR"))
    return tuple(ids), [line for line in lines if line.startswith("ERROR")]


def targets_in(pytest_args: Sequence[str]) -> list[str]:
    """The files and folders among pytest's arguments."""
    previous_words = ["", *pytest_args]
    return [
        word
        for word, previous in zip(pytest_args, previous_words, strict=False)
        if not word.startswith("-") and previous not in OPTIONS_WITH_VALUE
    ]


def main() -> None:
    parser = benchmark_parser(__doc__, repeats=1)
    parser.add_argument("keys", nargs="*", metavar="KEY", help="subjects (default: all)")
    parser.add_argument(
        "--subjects", type=Path, default=SUBJECTS_FOLDER, help="prepared subjects (default %(default)s)"
    )
    options = parser.parse_args()
    agreements, notes = [], []
    for key in options.keys or subject_keys():
        agreement = compare_ids(prepare_subject(key, options.subjects))
        agreements.append(agreement)
        notes += [f"{key}: only pytest has `{test}`" for test in agreement.missed]
        notes += [f"{key}: only lint has `{test}`" for test in agreement.invented]
        notes += [f"{key}: {error}" for error in agreement.errors]
    rows = [*(agreement.row() for agreement in agreements), total_row(agreements)]
    report_results(rows, options.json, notes)


if __name__ == "__main__":
    main()
