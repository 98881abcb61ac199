"""Time of metrics, links and rules against radon on the same files, and of 20,000 generated tests.

radon computes complexity, raw lines, Halstead and maintainability, each through its own function as its commands
do. Both sides start from texts in memory, on one core, and radon reads exactly the files that lint has parsed. The
generated tests are read from files, on two cores.
"""

from __future__ import annotations

import resource
from functools import partial
from pathlib import Path
from typing import Any

from radon.complexity import cc_visit
from radon.metrics import h_visit, mi_visit
from radon.raw import analyze
from running import temporary_folder
from side_by_side import (
    Row,
    Series,
    benchmark_parser,
    limit_row,
    measure_in_turns,
    on_cores,
    ratio_per_turn,
    report_results,
    wall_s,
)

from flakehound.app.lint.files import scan
from flakehound.lint.analyse import analyse_file, measure_file
from flakehound.lint.source.project import Project

PROJECT = Path(__file__).resolve().parents[1]
MAX_TIMES_RADON = 2.0
TESTS, TESTS_PER_FILE = 20_000, 100
LIMIT_S = 30.0
SKIPPED_FOLDERS = frozenset({".git", ".venv", "venv", "node_modules", "__pycache__", ".flakehound"})


def sources_in(folder: Path) -> dict[str, bytes]:
    """The content of every Python file of a project, by path."""
    paths = (path.relative_to(folder) for path in sorted(folder.rglob("*.py")))
    return {
        path.as_posix(): (folder / path).read_bytes() for path in paths if not SKIPPED_FOLDERS & set(path.parts)
    }


def read_project(sources: dict[str, bytes], work: Any) -> tuple[int, dict[str, str]]:
    """Apply `work` to every test file of a project that has not been parsed yet.

    Returns the number of tests, and the text of each file that lint has read.
    """
    project = Project(sources)
    with project.track_reads() as paths:
        tests = sum(len(work(project, module)) for module in project.test_modules())
    modules = (project.module(path) for path in sorted(paths))
    return tests, {module.path: module.text for module in modules if module is not None}


def run_radon(texts: dict[str, str]) -> None:
    """Compute all metrics that radon has for these files."""
    for text in texts.values():
        cc_visit(text)
        analyze(text)
        h_visit(text)
        mi_visit(text, multi=True)


def compare_with_radon(folder: Path, repeats: int) -> list[Row]:
    """The rows of one project."""
    sources = sources_in(folder)
    tests, texts = read_project(sources, analyse_file)
    sides = {
        "metrics": partial(wall_s, partial(read_project, sources, measure_file)),
        "all": partial(wall_s, partial(read_project, sources, analyse_file)),
        "radon": partial(wall_s, partial(run_radon, texts)),
    }
    with on_cores(1):
        took = measure_in_turns(repeats, sides)
    project = f"{folder.name}: {tests} tests, {len(texts)} files"
    return [
        _row(f"metrics and links of {project}", took["metrics"], took["radon"]),
        _row(f"metrics, links and rules of {project}", took["all"], took["radon"]),
    ]


def _row(job: str, ours: Series, radon: Series) -> Row:
    return limit_row(
        job, ours=ours.text(), peer=radon.text(), figure=ratio_per_turn(ours, radon), limit=MAX_TIMES_RADON
    )


def measure_generated_tests(repeats: int) -> Row:
    """Wall time, and CPU time, because wall time means little on a busy machine."""
    with temporary_folder() as folder:
        write_generated_tests(folder)
        counts, cpu_s = [], []

        def scan_once() -> None:
            before = _cpu_s()
            scanned = scan(["tests"], analyse_file, cwd=folder, processes=2)
            counts.append(sum(map(len, scanned.answers.values())))
            cpu_s.append(_cpu_s() - before)

        with on_cores(2):
            took = measure_in_turns(repeats, {"generated tests": partial(wall_s, scan_once)})["generated tests"]
    assert set(counts) == {TESTS}, counts
    job = f"{TESTS:,} generated tests, two cores"
    ours = f"{took.text()}, CPU {Series(values=tuple(cpu_s)).text()}"
    return limit_row(job, ours=ours, peer="–", figure=took, limit=LIMIT_S, unit="s")


def _cpu_s() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def write_generated_tests(folder: Path) -> None:
    """Write test files of 100 tests each and a production class for each of them; the same every time."""
    (folder / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    for name in ("shop", "tests"):
        (folder / name).mkdir()
    (folder / "shop" / "__init__.py").write_text("")
    for number in range(TESTS // TESTS_PER_FILE):
        (folder / "shop" / f"cart_{number}.py").write_text(_PRODUCTION.replace("NUMBER", str(number)))
        tests = "".join(_TEST.replace("CASE", str(case)) for case in range(TESTS_PER_FILE))
        (folder / "tests" / f"test_cart_{number}.py").write_text((_HEAD + tests).replace("NUMBER", str(number)))


_PRODUCTION = '''
import random
from decimal import Decimal


class CartNUMBER:
    """What a customer buys."""

    def __init__(self, owner):
        self.owner = owner
        self.items = {}

    def add(self, name, price, count=1):
        if count < 1 or price < 0:
            raise ValueError(name)
        self.items[name] = (Decimal(price), count)

    def total(self):
        return sum(price * count for price, count in self.items.values())

    def winner(self):
        return random.choice(sorted(self.items))
'''
_HEAD = """
import time

import pytest

from shop.cart_NUMBER import CartNUMBER


@pytest.fixture
def cart():
    return CartNUMBER("me")
"""
_TEST = """

def test_total_CASE(cart, tmp_path):
    # Everything is bought once.
    for name, price in {"tea": 2, "milk": 1}.items():
        cart.add(name, price, count=CASE + 1)
    (tmp_path / "bill.txt").write_text(str(cart.total()))

    assert cart.total() == 3 * (CASE + 1)
    assert cart.winner() in ("tea", "milk"), "somebody wins"
    with pytest.raises(ValueError):
        cart.add("tea", -1)
"""


def main() -> None:
    parser = benchmark_parser(__doc__ or "", repeats=5)
    parser.add_argument(
        "folders", nargs="*", type=Path, default=[PROJECT], help="projects to read (default: this one)"
    )
    parser.add_argument("--no-generated", action="store_true", help="leave out the 20,000 generated tests")
    options = parser.parse_args()
    rows = [row for folder in options.folders for row in compare_with_radon(folder.resolve(), options.repeats)]
    if not options.no_generated:
        rows.append(measure_generated_tests(min(options.repeats, 3)))
    report_results(rows, options.json)


if __name__ == "__main__":
    main()
