"""Check one finding with plain pytest, in new processes and fresh copies of the tree.

No flakehound code runs in these processes, so a finding that is called true was confirmed by pytest alone.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from prepared_subjects import Subject
from running import temporary_folder
from side_by_side import wall_s

RUNS = 3  # that must agree before a finding counts as true
MAX_NOD_RUNS = 20  # in search of a second outcome
RUN_LIMIT_S = 120.0


class PlainCheck:
    """Runs plain pytest on one subject."""

    def __init__(
        self, subject: Subject, run_limit_s: float = RUN_LIMIT_S, repeat_limit_s: float = math.inf
    ) -> None:
        """A run is ended after `run_limit_s`; after `repeat_limit_s`, runs in search of a second outcome stop."""
        self._subject = subject
        self._run_limit_s = run_limit_s
        self._repeat_limit_s = repeat_limit_s

    def suite_s(self) -> float:
        """Wall time of one whole plain run, the median of three."""
        return statistics.median(self._whole_run_s() for _ in range(RUNS))

    def _whole_run_s(self) -> float:
        with temporary_folder() as folder:
            tree = self.copy_into(folder)
            return wall_s(lambda: self._pytest(tree, self._subject.pytest_args))

    def copy_into(self, folder: Path) -> Path:
        """Copy the tree, and make an empty home folder next to it, because suites write into both."""
        (folder / "home").mkdir()
        return Path(shutil.copytree(self._subject.tree, folder / "tree", symlinks=True))

    def environment_of(self, tree: Path) -> dict[str, str]:
        """The variables that the subject's processes get in addition to ours."""
        # devtracker keeps its file in the home folder: in the real one, one run would change the next.
        return {**self._subject.env, "HOME": str(tree.parent / "home")}

    def verdict_on(self, claim: Mapping[str, Any]) -> str:
        """`true`, `false` or `unverified`, with the outcomes, for one test of a report."""
        checks: dict[str, Callable[[Mapping[str, Any]], str]] = {
            "victim": self._victim,
            "brittle": self._brittle,
            "non-idempotent": self._non_idempotent,
            "nod": self._nod,
        }
        return checks[claim["kind"]](claim)

    def _victim(self, claim: Mapping[str, Any]) -> str:
        alone = self._last_outcomes([claim["id"]])
        after = self._last_outcomes(claim["minimal_order"])
        return _verdict(f"alone {alone}, after its polluters {after}", expected={"P": alone, "F": after})

    def _brittle(self, claim: Mapping[str, Any]) -> str:
        alone = self._last_outcomes([claim["id"]])
        after = self._last_outcomes(claim["minimal_order"])
        return _verdict(f"alone {alone}, after its state-setters {after}", expected={"F": alone, "P": after})

    def _non_idempotent(self, claim: Mapping[str, Any]) -> str:
        runs = ["".join(self.outcomes([claim["id"]], times=2)) for _ in range(RUNS)]
        first, second = ("".join(run[index : index + 1] or "?" for run in runs) for index in (0, 1))
        return _verdict(f"first time {first}, second time {second}", expected={"P": first, "F": second})

    def _nod(self, claim: Mapping[str, Any]) -> str:
        order = (claim.get("replay_run") or {}).get("order") or [claim["id"]]
        letters = self._last_outcomes(order, runs=MAX_NOD_RUNS, until_mixed=True)
        counts = f"{letters.count('F')} of {len(letters)} plain runs failed"
        verdict = "true" if len(set(letters)) > 1 else "unverified"
        return f"{verdict}: {counts}; the report says: {'; '.join(claim['evidence'])}"

    def _last_outcomes(self, order: Sequence[str], runs: int = RUNS, until_mixed: bool = False) -> str:
        """The outcome of the last test of the order in each run, as letters."""
        letters, began = "", time.monotonic()
        while len(letters) < runs and not (until_mixed and len(set(letters)) > 1):
            if len(letters) >= RUNS and time.monotonic() - began > self._repeat_limit_s:
                break
            letters += (self.outcomes(order) or ["?"])[-1]
        return letters

    def outcomes(self, order: Sequence[str], times: int = 1) -> list[str]:
        """P, F or S for each execution, in the order of execution; each test runs `times` times in a row.

        Empty when pytest hangs.
        """
        with temporary_folder() as folder:
            tree, notes = self.copy_into(folder), folder / "notes"
            env = {"OUTCOME_NOTES": str(notes), "OUTCOME_TIMES": str(times)}
            self._pytest(tree, [*self._options(), *order], env)
            return _letters(notes.read_text().splitlines()) if notes.exists() else []

    def _options(self) -> list[str]:
        """The subject's pytest arguments without the path, which is always the last one."""
        return list(self._subject.pytest_args[:-1])

    def _pytest(self, tree: Path, args: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        plugin = ["-p", "outcome_notes"] if env else []
        path = {"PYTHONPATH": str(Path(__file__).parent)} if env else {}
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = [self._subject.python, "-m", "pytest", "-q", *plugin, *args]
        with subprocess.Popen(
            command,
            cwd=tree,
            env={**inherited, **self.environment_of(tree), **path, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                process.wait(self._run_limit_s)
            except subprocess.TimeoutExpired:
                process.kill()


def _letters(lines: Sequence[str]) -> list[str]:
    """P, F or S per execution, from one line per phase; an execution without a teardown died, which is F."""
    letters: list[str] = []
    for line in lines:
        _node_id, phase, outcome = json.loads(line)
        if phase == "setup":
            letters.append("died")
        worst = letters[-1] if letters[-1] in ("failed", "skipped") else ""
        if outcome != "passed" and worst != "failed":
            worst = outcome
        letters[-1] = worst or ("passed" if phase == "teardown" else "died")
    return [{"passed": "P", "skipped": "S"}.get(letter, "F") for letter in letters]


def _verdict(text: str, expected: Mapping[str, str]) -> str:
    """True if every run ended as expected, false if the runs agree on something else, otherwise unverified."""
    if all(letters == letter * RUNS for letter, letters in expected.items()):
        return f"true: {text}"
    agree = all(len(set(letters)) == 1 and letters[0] in "PF" for letters in expected.values())
    return f"{'false' if agree else 'unverified'}: {text}"
