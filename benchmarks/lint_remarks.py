"""Draw remarks of lint on well-known projects by a seed, with the source around them, to be judged by hand.

    python benchmarks/lint_remarks.py SDISTS --seed 1 --count 150 [--source SRC] [--context 6]

SDISTS is a folder of unpacked sdists. --source is the `src` folder of another checkout, to compare with. Prints
the number of remarks and tests of each project, then the drawn remarks. Every remark has the same chance to be
drawn, so a project with many remarks is drawn often.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

_REMARK = re.compile(r"^(?P<path>[^:]+):(?P<line>\d+):\d+ (?P<rule>FH\d{3}) (?P<message>.*)$")
_TOTAL = re.compile(r"^([\d,]+) tests? read")
_LIMIT_S = 600.0  # for one project


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One remark as the text report prints it."""

    project: str
    path: str
    line: int
    rule: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRemarks:
    """The remarks about one project."""

    project: str
    tests: int
    remarks: tuple[Remark, ...]


def lint(folder: Path, source: Path | None, options: list[str]) -> ProjectRemarks:
    """Lint one project in another process."""
    environment = dict(os.environ)
    if source is not None:
        environment["PYTHONPATH"] = str(source)
    command = [sys.executable, "-m", "flakehound", "lint", "--no-cache", "-j", "1", *options]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_LIMIT_S, check=False
    )
    lines = done.stdout.splitlines()
    matches = [match for line in lines if (match := _REMARK.match(line))]
    totals = [int(match[1].replace(",", "")) for line in lines if (match := _TOTAL.match(line))]
    return ProjectRemarks(
        project=folder.name,
        tests=totals[-1] if totals else 0,
        remarks=tuple(
            Remark(
                project=folder.name,
                path=match["path"],
                line=int(match["line"]),
                rule=match["rule"],
                message=match["message"],
            )
            for match in matches
        ),
    )


def with_source(remark: Remark, folder: Path, context: int) -> str:
    """A remark and the lines around it."""
    lines = (folder / remark.project / remark.path).read_text(encoding="utf-8", errors="replace").splitlines()
    first, last = max(0, remark.line - 1 - context), min(len(lines), remark.line + context)
    text = [
        f"{'>' if number + 1 == remark.line else ' '}{number + 1:5} {lines[number]}"
        for number in range(first, last)
    ]
    head = f"### {remark.project} {remark.path}:{remark.line} {remark.rule} {remark.message}"
    return "\n".join([head, *text])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sdists", type=Path)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--source", type=Path)
    parser.add_argument("--context", type=int, default=6)
    parser.add_argument("--jobs", type=int, default=2, help="projects at once")
    parser.add_argument("--option", action="append", default=[], help="another option of flakehound lint")
    options = parser.parse_args()
    folders = sorted(folder for folder in options.sdists.iterdir() if folder.is_dir())
    with ThreadPoolExecutor(options.jobs) as pool:
        projects = list(pool.map(lambda folder: lint(folder, options.source, options.option), folders))
    print("\n".join(f"{one.project:28} {len(one.remarks):6} remarks {one.tests:6} tests" for one in projects))
    remarks = [remark for project in projects for remark in project.remarks]
    print(f"{'all':28} {len(remarks):6} remarks {sum(one.tests for one in projects):6} tests\n")
    drawn = random.Random(options.seed).sample(remarks, min(options.count, len(remarks)))
    print("\n\n".join(with_source(remark, options.sdists, options.context) for remark in drawn))


if __name__ == "__main__":
    main()
