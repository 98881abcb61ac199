"""Hunts with default options in 13 real suites, against the labels of their flaky tests.

For each subject: a fresh copy of its tree, and `flakehound hunt` with its defaults. Every labelled victim and
brittle test must be found with a right polluter or state-setter, and every NOD test that fails at least one time
in five. Every other test that the hunt calls flaky is checked with plain pytest (`plain_check.py`) and counted as
true, false or unverified. A suite time is the time of one plain run, the median of three made just before the
hunt.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plain_check import PlainCheck
from prepared_subjects import SUBJECTS_FOLDER, Subject, prepare_subject, subject_keys
from running import run_flakehound, temporary_folder
from side_by_side import Row, benchmark_parser, report_results

FLAKY_KINDS = ("victim", "brittle", "non-idempotent", "nod")
MIN_RATE_TO_FIND = 0.2
MAX_SUITE_TIMES = 30.0


@dataclass(slots=True)
class Comparison:
    """The findings of one subject's hunt, compared with its labels."""

    key: str
    wanted: int = 0
    found: int = 0
    suite_s: float = 0.0
    hunt_s: float = 0.0
    others: dict[str, int] = field(default_factory=lambda: {"true": 0, "false": 0, "unverified": 0})
    notes: list[str] = field(default_factory=list)

    @property
    def suite_times(self) -> float:
        """The time of the hunt, in plain runs of the suite."""
        return self.hunt_s / self.suite_s

    def row(self) -> Row:
        """The row of this subject."""
        others = ", ".join(f"{number} {verdict}" for verdict, number in self.others.items() if number) or "none"
        return Row(
            job=self.key,
            ours=f"{self.found} of {self.wanted} labelled found; others: {others}",
            peer=f"plain run {self.suite_s:.2f} s",
            measured=f"{self.hunt_s:.1f} s = {self.suite_times:.1f} suite times",
            goal=f"all, none false, ≤ {MAX_SUITE_TIMES:g}",
            met=self.found == self.wanted and not self.others["false"] and self.suite_times <= MAX_SUITE_TIMES,
        )


def compare_with_labels(subject: Subject, seed: int | None, policy: str = "index") -> Comparison:
    """Hunt in a subject, and compare the findings with its labels."""
    check = PlainCheck(subject)
    comparison = Comparison(key=subject.key, suite_s=check.suite_s())
    report, comparison.hunt_s = hunt_subject(subject, check, seed, policy)
    claims = {test["id"]: test for test in report["tests"] if test["kind"] in FLAKY_KINDS}
    wanted = {label["test"]: label for label in subject.labels if must_be_found(label)}
    confirmed = set()
    for test, label in wanted.items():
        comparison.wanted += 1
        problem = why_not_found(label, claims.get(test), check)
        if problem:
            comparison.notes.append(f"{subject.key}: missed {label['kind']} `{test}`: {problem}")
        else:
            comparison.found += 1
            confirmed.add(test)
    for test, claim in claims.items():
        if test not in confirmed:
            _judge_other(comparison, claim, check, subject)
    return comparison


def hunt_subject(
    subject: Subject, check: PlainCheck, seed: int | None, policy: str
) -> tuple[Mapping[str, Any], float]:
    """Hunt with default options in a fresh copy; the report and the wall time."""
    with temporary_folder() as folder:
        tree, report = check.copy_into(folder), folder / "report.json"
        options = ["--policy", policy, *([] if seed is None else ["--seed", str(seed)])]
        command = ["hunt", "--quiet", "--python", subject.python, "--json", str(report), *options]
        began = time.perf_counter()
        done = run_flakehound(tree, *command, "--", *subject.pytest_args, env=check.environment_of(tree))
        took_s = time.perf_counter() - began
        assert done.returncode in (0, 1), f"{subject.key}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        return json.loads(report.read_text()), took_s


def must_be_found(label: Mapping[str, Any]) -> bool:
    """Whether a hunt must find the test: order-dependent tests always, NOD tests if they fail often enough."""
    if label["kind"] in ("victim", "brittle"):
        return True
    return label["kind"].lower() == "nod" and known_rate(label) >= MIN_RATE_TO_FIND


def known_rate(label: Mapping[str, Any]) -> float:
    """The labelled failure rate, or the rate of the labelled runs."""
    rate = label.get("rerun_alone", {}).get("fail_rate", label.get("fail_rate"))
    if rate is not None:
        return float(rate)
    counts = [label.get(part, {}) for part in ("baseline", "shuffles")]
    runs = sum(sum(count.values()) for count in counts)
    return sum(count.get("F", 0) for count in counts) / runs if runs else 0.0


def why_not_found(label: Mapping[str, Any], claim: Mapping[str, Any] | None, check: PlainCheck) -> str:
    """Why a labelled test does not count as found; empty if it does."""
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
    verdict = check.verdict_on(claim)
    return "" if verdict.startswith("true") else f"named {sorted(named)}, which are not in the labels; {verdict}"


def _judge_other(comparison: Comparison, claim: Mapping[str, Any], check: PlainCheck, subject: Subject) -> None:
    """Count a finding that no label confirms."""
    labelled = {label["test"]: label["kind"] for label in subject.labels}.get(claim["id"])
    if labelled is not None and labelled.lower() == claim["kind"] == "nod":
        # Only NOD: an order-dependent test with the labelled kind is here because it names wrong tests.
        verdict = "true: labelled NOD"
    else:
        verdict = check.verdict_on(claim)
    comparison.others[verdict.partition(":")[0]] += 1
    comparison.notes.append(f"{comparison.key}: also reported {claim['kind']} `{claim['id']}`: {verdict}")


def selected_keys(keys: Sequence[str]) -> list[str]:
    """The given keys, or all if none are given; an unknown key is an error."""
    known = subject_keys()
    unknown = set(keys) - set(known)
    assert not unknown, f"no such subject: {sorted(unknown)}; known: {known}"
    return list(keys) or known


def main() -> None:
    parser = benchmark_parser(__doc__, repeats=1)
    parser.add_argument("keys", nargs="*", metavar="KEY", help="subjects (default: all)")
    parser.add_argument(
        "--subjects", type=Path, default=SUBJECTS_FOLDER, help="prepared subjects (default %(default)s)"
    )
    parser.add_argument("--seed", type=int, help="seed of the hunts (default: chosen by each hunt)")
    parser.add_argument("--policy", default="index", help="policy of the hunts (default %(default)s)")
    options = parser.parse_args()
    rows, notes = [], []
    for key in selected_keys(options.keys) * options.repeats:
        comparison = compare_with_labels(prepare_subject(key, options.subjects), options.seed, options.policy)
        rows.append(comparison.row())
        notes += comparison.notes
        print(rows[-1].job, rows[-1].ours, rows[-1].measured, sep="  ", flush=True)
    report_results(rows, options.json, notes)


if __name__ == "__main__":
    main()
