"""Run the benchmarks, all or the named ones, and write their sections of RESULTS.md; the others stay as they are.

usage: PYTHONPATH=src python benchmarks/run.py [NAME ...] [--repeats N] [--output FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from running import own_environment
from side_by_side import Row, table

HERE = Path(__file__).resolve().parent
# In this order in RESULTS.md; the value is the heading.
BENCHMARKS = {
    "rerun_one": "N isolated reruns of one test",
    "rerun_suite": "N runs of a whole suite",
    "pairwise": "All pairs with ten victims",
    "polluter": "The polluter of a given victim",
    "overhead": "Cost beyond the tests themselves",
    "scale": "A suite of 20,000 tests",
    "plugin_cost": "Installed but not asked for",
    "triage_cost": "Triage: what it costs",
    "mutants": "Triage: mutants",
    "revisions": "Triage: changes that a test is independent of",
    "churn": "Changes of every line",
    "features": "18 features of each test",
    "state_changes": "What tests leave behind",
    "tracing": "Tracing calls",
    "call_selection": "Selecting characteristic functions",
    "subjects": "Real suites with known flaky tests",
    "lint_ids": "Lint: the tests it reads and those that pytest collects",
    "lint_speed": "Lint: what reading costs",
    "lint_recall": "Lint: known flaky tests with a finding",
    "lint_robust": "Lint: any Python there is",
    "pareto": "Fronts of detection and cost",
    "policies": "Policies, replayed",
    "policies_real": "Policies in real suites",
    "static_model": "Lint's model on projects it has not seen",
}
_SCRIPT = re.compile(r"\(`(\w+)\.py")  # in a heading
# Not told `--repeats`: most of them have no turns, and a few milliseconds show only in many.
OWN_REPEATS = (
    *("plugin_cost", "scale", "triage_cost", "mutants", "revisions", "state_changes", "subjects"),
    *("lint_ids", "lint_recall", "lint_robust", "pareto", "policies", "policies_real", "static_model"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one benchmark gave."""

    name: str
    rows: Sequence[Row]
    notes: Sequence[str]
    took_s: float
    problem: str = ""  # its last words when it failed


def run_benchmark(name: str, repeats: int | None) -> Outcome:
    command = [sys.executable, str(HERE / f"{name}.py")]
    if repeats is not None and name not in OWN_REPEATS:
        command += ["--repeats", str(repeats)]
    print(f"== {name}", flush=True)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "rows.json"
        done = subprocess.run(
            [*command, "--json", str(answer)],
            env=own_environment({}),
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        took_s = time.perf_counter() - began
        if done.returncode or not answer.exists():
            print(done.stderr, file=sys.stderr)
            return Outcome(name=name, rows=(), notes=(), took_s=took_s, problem=done.stderr.strip()[-600:])
        told = json.loads(answer.read_text())
    return Outcome(name=name, rows=[Row(**row) for row in told["rows"]], notes=told["notes"], took_s=took_s)


def report(earlier: str, outcomes: Sequence[Outcome], command: str) -> str:
    """RESULTS.md, the sections of these benchmarks written anew."""
    lines = [
        "# Benchmark results",
        "",
        *machine_facts(),
        "",
        "Both sides run in turns within one run; a figure is the median, the range of all turns in brackets.",
        "A ratio is taken turn by turn. What each job is exactly stands in the docstring of its script.",
        "Each section says by which command it was made.",
    ]
    sections = [*sections_of(earlier).items(), *((one.name, section(one, command)) for one in outcomes)]
    places = list(BENCHMARKS)
    known = sorted(
        dict(sections).items(), key=lambda one: places.index(one[0]) if one[0] in places else len(places)
    )
    return "\n".join(lines) + "\n\n" + "\n".join(text for _name, text in known)


def sections_of(text: str) -> dict[str, str]:
    """Script -> its section; where no script is named, heading -> section."""
    _head, *parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    named = [(_SCRIPT.search(part.partition("\n")[0]), part) for part in parts]
    return {found[1] if found else part.partition("\n")[0]: part.rstrip("\n") + "\n" for found, part in named}


def section(outcome: Outcome, command: str) -> str:
    load = " ".join(f"{one:.1f}" for one in os.getloadavg())
    today = time.strftime("%Y-%m-%d", time.gmtime())
    lines = [
        f"## {BENCHMARKS[outcome.name]} (`{outcome.name}.py`, {outcome.took_s:.0f} s)",
        "",
        f"`{command}`, {today}; load average at its end, its own included: {load} (1, 5, 15 minutes)",
        "",
    ]
    if outcome.problem:
        lines += ["**Could not be measured:**", "", "```", outcome.problem, "```"]
    else:
        lines.append(table(outcome.rows))
        lines += ["", *(f"- {note}" for note in outcome.notes)] if outcome.notes else []
    return "\n".join(lines) + "\n"


def machine_facts() -> list[str]:
    return [
        f"- {os.cpu_count()} cores ({processor()}), {platform.system()} {platform.release()}",
        f"- Python {platform.python_version()}, pytest {pytest.__version__}",
    ]


def processor() -> str:
    """The processor's name as Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine()
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)} (default: all)")
    parser.add_argument(
        "--repeats", type=int, help=f"turns, except of {', '.join(OWN_REPEATS)} (default: each one's own)"
    )
    parser.add_argument("--output", type=Path, default=HERE / "RESULTS.md", help="default %(default)s")
    chosen = parser.parse_args()
    unknown = sorted(set(chosen.names) - set(BENCHMARKS))
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    command = shlex.join(["python", "benchmarks/run.py", *sys.argv[1:]])
    outcomes = []
    for name in chosen.names or BENCHMARKS:
        outcomes.append(run_benchmark(name, chosen.repeats))
        # After each: hours of measuring must not hang on the last script.
        earlier = chosen.output.read_text() if chosen.output.exists() else ""
        chosen.output.write_text(report(earlier, outcomes[-1:], command))
    print(f"written: {chosen.output}")
    return 1 if any(outcome.problem for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
