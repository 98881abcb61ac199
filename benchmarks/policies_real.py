"""What the index finds in real suites in half the time that RERUN gets.

For each subject and turn: a fresh copy of its tree, a hunt that only reruns (`--policy rerun --technique rerun`)
with so many suite times, and a hunt by index with half of that. Counted are the tests that a hunt proves flaky: of
all kinds, and NOD ones alone, as RERUN hardly proves any other. `subjects.py` checks whether such claims are true.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from plain_check import PlainCheck
from prepared import SUBJECTS, Subject, prepared_subject
from running import flakehound_command, temporary_folder
from side_by_side import Row, Series, arguments, told
from subjects import FLAKY, chosen_keys

SUITE_TIMES = 30.0
LEAST_S = 8.0  # below it our own start would decide
RERUN = ("--policy", "rerun", "--technique", "rerun")
INDEX = ("--policy", "index")


def flaky_in(subject: Subject, check: PlainCheck, seed: int, budget_s: float, words: Sequence[str]) -> list[str]:
    """The kinds of the tests that one hunt calls flaky."""
    with temporary_folder() as folder:
        tree, report = check.copy_into(folder), folder / "report.json"
        command = ["hunt", "--quiet", "--python", subject.python, "--json", str(report), "--seed", str(seed)]
        timed = [*command, "--budget", f"{budget_s:.2f}s", *words, "--", *subject.pytest_args]
        done = flakehound_command(tree, *timed, env=check.environment_of(tree))
        assert done.returncode in (0, 1), f"{subject.key}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        kinds = [test["kind"] for test in json.loads(report.read_text())["tests"]]
        return [kind for kind in kinds if kind in FLAKY]


def compared(subject: Subject, repeats: int) -> list[Row]:
    check = PlainCheck(subject)
    budget_s = max(LEAST_S, SUITE_TIMES * check.suite_s())
    reran, indexed = [], []
    for turn in range(repeats):
        reran.append(flaky_in(subject, check, 100 + turn, budget_s, RERUN))
        indexed.append(flaky_in(subject, check, 100 + turn, budget_s / 2, INDEX))
        print(f"  {subject.key}, turn {turn + 1} of {repeats}: rerun {reran[-1]}, index {indexed[-1]}", flush=True)
    timed = f"{subject.key}, {budget_s / 2:.0f} s against {budget_s:.0f} s"
    return [_row(f"{timed}: {what}", reran, indexed, kinds) for what, kinds in _COUNTED.items()]


_COUNTED = {"flaky tests": FLAKY, "NOD tests": ("nod",)}


def _row(job: str, reran: Sequence[list[str]], indexed: Sequence[list[str]], kinds: Sequence[str]) -> Row:
    ours, peer = (
        Series(values=tuple(sum(kind in kinds for kind in found) for found in side)) for side in (indexed, reran)
    )
    less = sum(a < b for a, b in zip(ours.values, peer.values, strict=True))
    return Row(
        job=job,
        ours=ours.text("found"),
        peer=peer.text("found"),
        measured=f"fewer in {less} of {len(ours.values)} turns",
        goal="as many or more, on average",
        met=sum(ours.values) >= sum(peer.values),
    )


def main() -> None:
    parser = arguments(__doc__ or "", repeats=3)
    parser.add_argument("keys", nargs="*", metavar="KEY", help="subjects (default: all)")
    parser.add_argument("--subjects", type=Path, default=SUBJECTS, help="prepared ones (default %(default)s)")
    chosen = parser.parse_args()
    rows: list[Row] = []
    for key in chosen_keys(chosen.keys):
        rows += compared(prepared_subject(key, chosen.subjects), chosen.repeats)
    told(rows, chosen.json)


if __name__ == "__main__":
    main()
