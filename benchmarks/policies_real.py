"""Flaky tests that the index finds in real suites, against RERUN with twice the time.

For each subject and turn: a fresh copy of its tree, a hunt that only reruns (`--policy rerun --technique rerun`)
with a budget in suite times, and a hunt by index with half of it. Counts the tests that a hunt proves flaky: of
all kinds, and NOD tests only, because RERUN rarely proves another kind. `subjects.py` checks whether the findings
are true.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plain_check import PlainCheck
from prepared_subjects import SUBJECTS_FOLDER, Subject, prepare_subject
from running import run_flakehound, temporary_folder
from side_by_side import Row, Series, benchmark_parser, report_results
from subjects import FLAKY_KINDS, selected_keys

SUITE_TIMES = 30.0
MIN_BUDGET_S = 8.0  # with less the start of flakehound would decide
RERUN = ("--policy", "rerun", "--technique", "rerun")
INDEX = ("--policy", "index")
COUNTED_KINDS = {"flaky tests": FLAKY_KINDS, "NOD tests": ("nod",)}
GOAL = "as many or more, on average"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectCounts:
    """The kinds of the tests that the hunts of one subject found, by policy and turn."""

    key: str
    job: str
    by_index: Sequence[list[str]]
    by_rerun: Sequence[list[str]]

    def counts(self, side: str, kinds: Sequence[str]) -> Series:
        """The number of tests of these kinds in each turn of `by_index` or `by_rerun`."""
        return Series(values=tuple(sum(kind in kinds for kind in turn) for turn in getattr(self, side)))

    def row(self, name: str, kinds: Sequence[str]) -> Row:
        """The row of this subject; a detail unless the index found fewer flaky tests."""
        ours, peer = self.counts("by_index", kinds), self.counts("by_rerun", kinds)
        fewer = sum(a < b for a, b in zip(ours.values, peer.values, strict=True))
        met = sum(ours.values) >= sum(peer.values)
        return Row(
            job=f"{self.job}: {name}",
            ours=ours.text("found"),
            peer=peer.text("found"),
            measured=f"fewer in {fewer} of {len(ours.values)} turns",
            goal=GOAL,
            met=met,
            is_detail=met or kinds != FLAKY_KINDS,
        )


def kinds_found(
    subject: Subject, check: PlainCheck, seed: int, budget_s: float, policy: Sequence[str]
) -> list[str]:
    """Hunt once; the kind of each test that the hunt calls flaky."""
    with temporary_folder() as folder:
        tree, report = check.copy_into(folder), folder / "report.json"
        command = ["hunt", "--quiet", "--python", subject.python, "--json", str(report), "--seed", str(seed)]
        command += ["--budget", f"{budget_s:.2f}s", *policy, "--", *subject.pytest_args]
        done = run_flakehound(tree, *command, env=check.environment_of(tree))
        assert done.returncode in (0, 1), f"{subject.key}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        kinds = [test["kind"] for test in json.loads(report.read_text())["tests"]]
        return [kind for kind in kinds if kind in FLAKY_KINDS]


def compare_policies(subject: Subject, repeats: int) -> SubjectCounts:
    """Hunt in a subject by both policies, in turns."""
    check = PlainCheck(subject)
    budget_s = max(MIN_BUDGET_S, SUITE_TIMES * check.suite_s())
    by_rerun, by_index = [], []
    for turn in range(repeats):
        by_rerun.append(kinds_found(subject, check, 100 + turn, budget_s, RERUN))
        by_index.append(kinds_found(subject, check, 100 + turn, budget_s / 2, INDEX))
        turn_text = f"turn {turn + 1} of {repeats}: rerun {by_rerun[-1]}, index {by_index[-1]}"
        print(f"  {subject.key}, {turn_text}", flush=True)
    job = f"{subject.key}, {budget_s / 2:.0f} s against {budget_s:.0f} s"
    return SubjectCounts(key=subject.key, job=job, by_index=by_index, by_rerun=by_rerun)


def total_row(subjects: Sequence[SubjectCounts]) -> Row:
    """The flaky tests of all suites and turns together."""
    ours, peer = (
        sum(sum(subject.counts(side, FLAKY_KINDS).values) for subject in subjects)
        for side in ("by_index", "by_rerun")
    )
    turns = len(subjects[0].by_index)
    n_met = sum(bool(subject.row("flaky tests", FLAKY_KINDS).met) for subject in subjects)
    return Row(
        job=f"{len(subjects)} suites, {turns} turns: flaky tests",
        ours=f"{ours:g} found",
        peer=f"{peer:g} found",
        measured=f"as many or more in {n_met} suites",
        goal=GOAL,
        met=n_met == len(subjects),
    )


def main() -> None:
    parser = benchmark_parser(__doc__ or "", repeats=3)
    parser.add_argument("keys", nargs="*", metavar="KEY", help="subjects (default: all)")
    parser.add_argument(
        "--subjects", type=Path, default=SUBJECTS_FOLDER, help="prepared subjects (default %(default)s)"
    )
    options = parser.parse_args()
    counts = [
        compare_policies(prepare_subject(key, options.subjects), options.repeats)
        for key in selected_keys(options.keys)
    ]
    rows = [subject.row(name, kinds) for subject in counts for name, kinds in COUNTED_KINDS.items()]
    report_results([*rows, total_row(counts)], options.json)


if __name__ == "__main__":
    main()
