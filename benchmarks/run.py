"""Run the benchmarks, all or the named ones, and write their sections of RESULTS.md; other sections are kept.

A section has the script's summary, the command and date, the table without its detail rows, and at most two notes.
The script itself prints everything.

usage: PYTHONPATH=src python benchmarks/run.py [NAME ...] [--repeats N] [--output FILE]
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from running import environment_with_flakehound
from side_by_side import Row, markdown_table

HERE = Path(__file__).resolve().parent
# Script -> heading of its section, in the order of RESULTS.md.
SECTIONS = {
    "rerun_one": "Isolated reruns of one test",
    "rerun_suite": "Runs of a whole suite",
    "pairwise": "All pairs with ten victims",
    "polluter": "The polluter of a given victim",
    "overhead": "Time beyond the tests themselves",
    "scale": "A suite of 20,000 tests",
    "plugin_cost": "Plain pytest with the plugin installed",
    "triage_cost": "Triage: cost",
    "mutants": "Triage: mutants",
    "revisions": "Triage: changes that a test is independent of",
    "churn": "Changes of every line",
    "features": "18 features of each test",
    "state_changes": "State that tests leave changed",
    "tracing": "Tracing calls",
    "call_selection": "Selecting characteristic functions",
    "subjects": "Real suites with known flaky tests",
    "field": "Real suites that nothing was tuned on",
    "large": "Large suites with planted flaky tests",
    "policies_real": "Index and RERUN on real suites",
    "policies": "Policies, replayed",
    "pareto": "Fronts of detection and cost",
    "prior_parts": "Parts of the prior",
    "lint_ids": "Lint: node ids",
    "lint_speed": "Lint: speed",
    "lint_recall": "Lint: known flaky tests with a finding",
    "lint_robust": "Lint: any Python file",
}
# Their sections are written by hand: they need a folder of earlier results, take hours, or print no rows.
NOT_RUN_HERE = ("field", "large", "prior_parts")
BENCHMARKS = tuple(name for name in SECTIONS if name not in NOT_RUN_HERE)
# They ignore `--repeats` of this script: most have no turns, and differences of milliseconds need many turns.
OWN_REPEATS = (
    *("plugin_cost", "scale", "triage_cost", "mutants", "revisions", "state_changes", "subjects"),
    *("lint_ids", "lint_recall", "lint_robust", "pareto", "policies", "policies_real"),
)
MAX_NOTES = 2  # per section; the script prints all of them
MAX_LINE_LENGTH = 160
_SCRIPT_IN_HEADING = re.compile(r"\(`(\w+)\.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkResult:
    """The rows and notes of one benchmark, or why it failed."""

    name: str
    rows: Sequence[Row]
    notes: Sequence[str]
    took_s: float
    error: str = ""  # the end of its stderr when it failed


def run_benchmark(name: str, repeats: int | None) -> BenchmarkResult:
    """Run one script and read the rows that it wrote."""
    command = [sys.executable, str(HERE / f"{name}.py")]
    if repeats is not None and name not in OWN_REPEATS:
        command += ["--repeats", str(repeats)]
    print(f"== {name}", flush=True)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        result_file = Path(folder) / "rows.json"
        done = subprocess.run(
            [*command, "--json", str(result_file)],
            env=environment_with_flakehound({}),
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        took_s = time.perf_counter() - began
        if done.returncode or not result_file.exists():
            print(done.stderr, file=sys.stderr)
            error = done.stderr.strip()[-600:]
            return BenchmarkResult(name=name, rows=(), notes=(), took_s=took_s, error=error)
        result = json.loads(result_file.read_text())
    rows = [Row(**row) for row in result["rows"]]
    return BenchmarkResult(name=name, rows=rows, notes=result["notes"], took_s=took_s)


def report(earlier: str, results: Sequence[BenchmarkResult], command: str) -> str:
    """The text of RESULTS.md with the sections of these benchmarks replaced."""
    head = [
        "# Benchmark results",
        "",
        *machine_facts(),
        "- Both sides run in turns. A figure is the median, with the range of all turns in brackets;",
        "  a ratio is computed for each turn. The docstring of each script describes its job.",
        "- `run.py` leaves out detail rows and all but two notes of a section; the scripts print everything.",
    ]
    sections = sections_of(earlier) | {result.name: section(result, command) for result in results}
    order = list(SECTIONS)
    in_order = sorted(sections.items(), key=lambda item: order.index(item[0]) if item[0] in order else len(order))
    return "\n".join(head) + "\n\n" + "\n".join(text for _name, text in in_order)


def sections_of(text: str) -> dict[str, str]:
    """Script -> its section; a section whose heading names no script is found under its heading."""
    _head, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    found = {}
    for part in sections:
        heading = part.partition("\n")[0]
        script = _SCRIPT_IN_HEADING.search(heading)
        found[script[1] if script else heading] = part.rstrip("\n") + "\n"
    return found


def section(result: BenchmarkResult, command: str) -> str:
    """The section of one benchmark."""
    today = time.strftime("%Y-%m-%d", time.gmtime())
    paragraph = f"{summary_of(result.name)} `{command}`, {today}{busy_machine()}."
    lines = [f"## {SECTIONS[result.name]} (`{result.name}.py`)", wrapped(paragraph), ""]
    if result.error:
        lines += ["**Could not be measured:**", "", "```", result.error, "```"]
    else:
        lines.append(markdown_table([row for row in result.rows if not row.is_detail]))
        notes = [wrapped(f"- {note}", indent="  ") for note in result.notes[:MAX_NOTES]]
        lines += ["", *notes] if notes else []
    return "\n".join(lines) + "\n"


def summary_of(name: str) -> str:
    """The first line of the script's docstring."""
    docstring = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text())) or ""
    return docstring.partition("\n")[0]


def wrapped(text: str, indent: str = "") -> str:
    """The text in lines of at most MAX_LINE_LENGTH characters."""
    return textwrap.fill(
        text, MAX_LINE_LENGTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def busy_machine() -> str:
    """A warning if more processes wanted to run than there are cores, by the average of 15 minutes."""
    load = os.getloadavg()[2]
    return f", on a busy machine (load average {load:.1f})" if load > (os.cpu_count() or 1) + 0.5 else ""


def machine_facts() -> list[str]:
    """A list item about the machine and the versions."""
    return [
        f"- {os.cpu_count()} cores ({processor_name()}), {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, pytest {pytest.__version__}",
    ]


def processor_name() -> str:
    """The processor's name in Linux's /proc/cpuinfo, elsewhere its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def warn_of_long_lines(text: str) -> None:
    """Print the lines that are too long, because a text of a script must be shortened."""
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > MAX_LINE_LENGTH:
            print(f"line {number} has {len(line)} characters, shorten its texts: {line[:60]}…", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)} (default: all)")
    parser.add_argument(
        "--repeats", type=int, help=f"turns, except of {', '.join(OWN_REPEATS)} (default: the script's own)"
    )
    parser.add_argument("--output", type=Path, default=HERE / "RESULTS.md", help="default %(default)s")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(BENCHMARKS))
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    command = shlex.join(["python", "benchmarks/run.py", *sys.argv[1:]])
    results = []
    for name in options.names or BENCHMARKS:
        results.append(run_benchmark(name, options.repeats))
        # Written after each one, because a failure of the last script must not lose hours of measuring.
        earlier = options.output.read_text() if options.output.exists() else ""
        options.output.write_text(report(earlier, results[-1:], command))
    warn_of_long_lines(options.output.read_text())
    print(f"written: {options.output}")
    return 1 if any(result.error for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
