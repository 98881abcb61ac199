"""Hunt in real suites whose flaky tests are known, and compare.

For each subject: a fresh copy of its tree, `flakehound hunt` with its defaults, then every labelled victim
and brittle test must be found with a right polluter or state-setter, and every NOD test that fails at least
one time in five. Whatever else the hunt calls flaky is checked with plain pytest (`plain_check.py`) and
counted as true, false or unverified. Time is told in suite times: one plain run, the median of three made
just before.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plain_check import PlainCheck
from prepared import SUBJECTS, Subject, prepared_subject, subject_keys
from running import flakehound_command, temporary_folder
from side_by_side import Row, arguments, told

FLAKY = ("victim", "brittle", "non-idempotent", "nod")
RATE_TO_FIND = 0.2
MOST_SUITE_TIMES = 30.0


@dataclass(slots=True)
class Comparison:
    """One subject's hunt beside its labels."""

    key: str
    wanted: int = 0
    found: int = 0
    suite_s: float = 0.0
    hunt_s: float = 0.0
    others: dict[str, int] = field(default_factory=lambda: {"true": 0, "false": 0, "unverified": 0})
    notes: list[str] = field(default_factory=list)

    @property
    def suite_times(self) -> float:
        """What the hunt took, in plain runs of the suite."""
        return self.hunt_s / self.suite_s

    def row(self) -> Row:
        """The line of the table."""
        others = ", ".join(f"{number} {sort}" for sort, number in self.others.items() if number) or "none"
        return Row(
            job=self.key,
            ours=f"{self.found} of {self.wanted} labelled found; others reported: {others}",
            peer=f"one plain run {self.suite_s:.2f} s",
            measured=f"{self.hunt_s:.1f} s = {self.suite_times:.1f} suite times",
            goal=f"all found, none false, ≤ {MOST_SUITE_TIMES:g} suite times",
            met=self.found == self.wanted and not self.others["false"] and self.suite_times <= MOST_SUITE_TIMES,
        )


def compared(subject: Subject, seed: int | None, policy: str = "index") -> Comparison:
    check = PlainCheck(subject)
    comparison = Comparison(key=subject.key, suite_s=check.suite_s())
    report, comparison.hunt_s = hunted(subject, check, seed, policy)
    claims = {test["id"]: test for test in report["tests"] if test["kind"] in FLAKY}
    wanted = {label["test"]: label for label in subject.labels if is_wanted(label)}
    settled = set()
    for test, label in wanted.items():
        comparison.wanted += 1
        problem = whats_wrong(label, claims.get(test), check)
        if problem:
            comparison.notes.append(f"{subject.key}: missed {label['kind']} `{test}`: {problem}")
        else:
            comparison.found += 1
            settled.add(test)
    for test, claim in claims.items():
        if test not in settled:
            _judge_other(comparison, claim, check, subject)
    return comparison


def hunted(subject: Subject, check: PlainCheck, seed: int | None, policy: str) -> tuple[Mapping[str, Any], float]:
    """The report of a hunt with defaults in a fresh copy, and its wall time."""
    with temporary_folder() as folder:
        tree, report = check.copy_into(folder), folder / "report.json"
        named = ["--policy", policy, *([] if seed is None else ["--seed", str(seed)])]
        command = ["hunt", "--quiet", "--python", subject.python, "--json", str(report), *named]
        began = time.perf_counter()
        done = flakehound_command(tree, *command, "--", *subject.pytest_args, env=check.environment_of(tree))
        took_s = time.perf_counter() - began
        assert done.returncode in (0, 1), f"{subject.key}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        return json.loads(report.read_text()), took_s


def is_wanted(label: Mapping[str, Any]) -> bool:
    """Whether a hunt must find it: order-dependent ones always, NOD ones when they fail often enough."""
    if label["kind"] in ("victim", "brittle"):
        return True
    return label["kind"].lower() == "nod" and known_rate(label) >= RATE_TO_FIND


def known_rate(label: Mapping[str, Any]) -> float:
    """The labelled failure rate; of rare ones only that they are rare is known."""
    rate = label.get("rerun_alone", {}).get("fail_rate", label.get("fail_rate"))
    if rate is not None:
        return float(rate)
    counts = [label.get(part, {}) for part in ("baseline", "shuffles")]
    runs = sum(sum(count.values()) for count in counts)
    return sum(count.get("F", 0) for count in counts) / runs if runs else 0.0


def whats_wrong(label: Mapping[str, Any], claim: Mapping[str, Any] | None, check: PlainCheck) -> str:
    """Why a labelled test does not count as found; empty when it does."""
    if claim is None:
        return "not reported as flaky"
    if claim["kind"] != label["kind"].lower():
        return f"reported as {claim['kind']}"
    if label["kind"].lower() == "nod":
        return ""
    named = set(claim["polluters"]) | set(claim["state_setters"])
    if not named:
        return "no polluter or state-setter named"
    minimal = set(label.get("minimal_set", ()))
    known = set(label.get("polluters", ())) | set(label.get("state_setters", ()))
    if named & known or (minimal and minimal <= named):
        return ""
    checked = check.verdict_on(claim)
    return "" if checked.startswith("true") else f"named {sorted(named)}, which are not in the labels; {checked}"


def _judge_other(comparison: Comparison, claim: Mapping[str, Any], check: PlainCheck, subject: Subject) -> None:
    """A finding that no label confirms."""
    labelled = {label["test"]: label["kind"] for label in subject.labels}.get(claim["id"])
    if labelled is not None and labelled.lower() == claim["kind"] == "nod":
        # Not so for order-dependent ones: they come here because the tests they name are wrong.
        sort, checked = "true", "true: labelled so"
    else:
        checked = check.verdict_on(claim)
        sort = checked.partition(":")[0]
    comparison.others[sort] += 1
    comparison.notes.append(f"{comparison.key}: also reported {claim['kind']} `{claim['id']}`: {checked}")


def chosen_keys(named: Sequence[str]) -> list[str]:
    known = subject_keys()
    unknown = set(named) - set(known)
    assert not unknown, f"no such subject: {sorted(unknown)}; known: {known}"
    return list(named) or known


def main() -> None:
    parser = arguments(__doc__, repeats=1)
    parser.add_argument("keys", nargs="*", metavar="KEY", help="subjects (default: all)")
    parser.add_argument("--subjects", type=Path, default=SUBJECTS, help="prepared ones (default %(default)s)")
    parser.add_argument("--seed", type=int, help="the hunts' seed (default: each its own)")
    parser.add_argument("--policy", default="index", help="the hunts' policy (default %(default)s)")
    chosen = parser.parse_args()
    rows, notes = [], []
    for key in chosen_keys(chosen.keys) * chosen.repeats:
        comparison = compared(prepared_subject(key, chosen.subjects), chosen.seed, chosen.policy)
        rows.append(comparison.row())
        notes += comparison.notes
        print(rows[-1].job, rows[-1].ours, rows[-1].measured, sep="  ", flush=True)
    told(rows, chosen.json, notes)


if __name__ == "__main__":
    main()
