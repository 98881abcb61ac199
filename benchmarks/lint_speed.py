"""What reading a project costs: metrics, links and rules against radon alone on the same files.

radon computes complexity, raw lines, Halstead and maintainability, each through its own function as its commands
do. Both sides start from texts in memory, on one core, and radon reads exactly the files that lint has parsed.
Then 20,000 generated tests on two cores, from the files to the rows.
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
from side_by_side import Row, Series, arguments, at_most, in_turns, on_cores, ratio, told, wall_s

from flakehound.app.lint.files import scan
from flakehound.lint.analyse import analyse_file, measure_file
from flakehound.lint.source.project import Project

PROJECT = Path(__file__).resolve().parents[1]
TIMES_RADON = 2.0
TESTS, TESTS_PER_FILE = 20_000, 100
LIMIT_S = 30.0
SKIPPED = frozenset({".git", ".venv", "venv", "node_modules", "__pycache__", ".flakehound"})


def sources_in(folder: Path) -> dict[str, bytes]:
    paths = (path.relative_to(folder) for path in sorted(folder.rglob("*.py")))
    return {path.as_posix(): (folder / path).read_bytes() for path in paths if not SKIPPED & set(path.parts)}


def read_project(sources: dict[str, bytes], work: Any) -> tuple[int, dict[str, str]]:
    """Ask about every test file of a project that nobody has parsed yet.

    Gives how many tests there are, and the text of each file that was looked into.
    """
    project = Project(sources)
    with project.track_reads() as paths:
        tests = sum(len(work(project, module)) for module in project.test_modules())
    modules = (project.module(path) for path in sorted(paths))
    return tests, {module.path: module.text for module in modules if module is not None}


def radon_alone(string_literals: dict[str, str]) -> None:
    for text in string_literals.values():
        cc_visit(text)
        analyze(text)
        h_visit(text)
        mi_visit(text, multi=True)


def against_radon(folder: Path, repeats: int) -> list[Row]:
    sources = sources_in(folder)
    tests, string_literals = read_project(sources, analyse_file)
    sides = {
        "metrics": partial(wall_s, partial(read_project, sources, measure_file)),
        "all": partial(wall_s, partial(read_project, sources, analyse_file)),
        "radon": partial(wall_s, partial(radon_alone, string_literals)),
    }
    with on_cores(1):
        found = in_turns(repeats, sides)
    what = f"{folder.name}: {tests} tests, {len(string_literals)} files"
    return [
        _row(f"metrics and links of {what}", found["metrics"], found["radon"]),
        _row(f"metrics, links and rules of {what}", found["all"], found["radon"]),
    ]


def _row(job: str, ours: Series, radon: Series) -> Row:
    return at_most(job, ours=ours.text(), peer=radon.text(), figure=ratio(ours, radon), limit=TIMES_RADON)


def many_tests(repeats: int) -> tuple[Row, str]:
    """The row, and a note on processor time: on a busy machine the clock says little."""
    with temporary_folder() as folder:
        write_many(folder)
        counts, cpu_s = [], []

        def once() -> None:
            before = _cpu_s()
            found = scan(["tests"], analyse_file, cwd=folder, processes=2)
            counts.append(sum(map(len, found.answers.values())))
            cpu_s.append(_cpu_s() - before)

        with on_cores(2):
            found = in_turns(repeats, {"generated tests": partial(wall_s, once)})["generated tests"]
    assert set(counts) == {TESTS}, counts
    job = f"{TESTS:,} generated tests, two cores"
    note = f"{job}: {Series(values=tuple(cpu_s)).text()} of processor time on both together"
    return at_most(job, ours=found.text(), peer="–", figure=found, limit=LIMIT_S, unit="s"), note


def _cpu_s() -> float:
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in spent)


def write_many(folder: Path) -> None:
    """Test files of 100 tests each, and a production class for each file; the same every time."""
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
    parser = arguments(__doc__ or "", repeats=5)
    parser.add_argument(
        "folders", nargs="*", type=Path, default=[PROJECT], help="projects to read (default: this one)"
    )
    parser.add_argument("--no-generated", action="store_true", help="leave the 20,000 tests out")
    given = parser.parse_args()
    found = [row for folder in given.folders for row in against_radon(folder.resolve(), given.repeats)]
    notes = []
    if not given.no_generated:
        row, note = many_tests(min(given.repeats, 3))
        found.append(row)
        notes.append(note)
    told(found, given.json, notes)


if __name__ == "__main__":
    main()
