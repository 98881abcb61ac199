"""Compare the tests that lint reads from the source with those that pytest collects.

For each subject: `pytest --collect-only -q` in its own environment and in a copy of its tree, the brackets of
parameters taken off, beside the ids that the scanner gives for the same targets. Told both ways: how many of
pytest's tests lint finds, and how many of lint's pytest has; and whether both have the same order.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from prepared import SUBJECTS, Subject, prepared_subject, subject_keys
from running import temporary_folder
from side_by_side import Row, arguments, told

from flakehound.app.lint.files import scan
from flakehound.lint.analyse import case_ids

LEAST = 0.99
WITH_VALUE = ("-p", "-o", "-c", "-k", "-m", "--rootdir", "--timeout")  # pytest options that take the next word


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """One suite's ids, of both sides and without brackets."""

    key: str
    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    took_s: float
    faults: Sequence[str] = field(default_factory=tuple)

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
        """Of pytest's tests, those that lint finds."""
        return 1 - len(self.missed) / max(1, len(set(self.theirs)))

    @property
    def true_share(self) -> float:
        """Of lint's tests, those that pytest has."""
        return 1 - len(self.invented) / max(1, len(set(self.ours)))

    def row(self) -> Row:
        """The line of the table."""
        order = "same order" if self.ours == self.theirs else "other order or tests"
        return Row(
            job=self.key,
            ours=f"{len(set(self.ours))} tests in {self.took_s:.2f} s",
            peer=f"{len(set(self.theirs))} tests",
            measured=f"{self.found_share:.1%} found, {self.true_share:.1%} true, {order}",
            goal=f"≥ {LEAST:.0%} both ways",
            met=min(self.found_share, self.true_share) >= LEAST,
        )


def compared(subject: Subject) -> Agreement:
    with temporary_folder() as folder:
        tree = folder / "tree"
        shutil.copytree(subject.tree, tree, symlinks=True)
        theirs, faults = collected(subject, tree)
        began = time.perf_counter()
        found = scan(targets_in(subject.pytest_args), case_ids, cwd=tree)
        took_s = time.perf_counter() - began
    ours = [one for ids in found.answers.values() for one in ids]
    bad = [f"{one.path}:{one.line}: {one.reason}" for one in found.unparsable]
    return Agreement(key=subject.key, ours=tuple(ours), theirs=theirs, took_s=took_s, faults=(*faults, *bad))


def collected(subject: Subject, tree: Path) -> tuple[tuple[str, ...], list[str]]:
    """pytest's ids, each once, and the files it could not collect."""
    command = [subject.python, "-m", "pytest", *subject.pytest_args, "--collect-only", "-q"]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | dict(subject.env)
    done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    ids = dict.fromkeys(line.partition("[")[0] for line in lines if "::" in line and not line.startswith("ERROR"))
    return tuple(ids), [line for line in lines if line.startswith("ERROR")]


def targets_in(pytest_args: Sequence[str]) -> list[str]:
    """The files and folders among pytest's arguments."""
    before = ["", *pytest_args]
    return [
        one
        for one, previous in zip(pytest_args, before, strict=False)
        if not one.startswith("-") and previous not in WITH_VALUE
    ]


def main() -> None:
    parser = arguments(__doc__, repeats=1)
    parser.add_argument("keys", nargs="*", metavar="KEY", help="subjects (default: all)")
    parser.add_argument("--subjects", type=Path, default=SUBJECTS, help="prepared ones (default %(default)s)")
    chosen = parser.parse_args()
    rows, notes = [], []
    for key in chosen.keys or subject_keys():
        agreement = compared(prepared_subject(key, chosen.subjects))
        rows.append(agreement.row())
        notes += [f"{key}: only pytest has `{one}`" for one in agreement.missed]
        notes += [f"{key}: only lint has `{one}`" for one in agreement.invented]
        notes += [f"{key}: {one}" for one in agreement.faults]
    told(rows, chosen.json, notes)


if __name__ == "__main__":
    main()
