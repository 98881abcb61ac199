"""Whether `flakehound lint` gets through any Python there is: the standard library, and sdists from PyPI.

In the standard library every function of every file counts as a test; in an sdist what pytest would collect. Each
file goes through everything: tests, reach, links, metrics, rules, comments. An exception is a crash, a file that
takes more than a minute of processor time is a hang. Files that do not parse are counted: the library ships some.
"""

from __future__ import annotations

import gc
import platform
import signal
import sysconfig
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.pool import Pool
from pathlib import Path

from side_by_side import Row, arguments, told

from flakehound.core.collection_patterns import Patterns
from flakehound.lint.analyse import analyse_file
from flakehound.lint.source.project import Project

LIMIT_S = 60
PARTS = 24  # of the library, so that both cores have work to the end
EVERYTHING = Patterns(files=("*.py",), functions=("*",), classes=("*",))
SKIPPED = frozenset({"site-packages", "__pycache__", ".git"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Some files of one tree; they see all of its other files."""

    root: Path
    patterns: Patterns
    part: int
    parts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trip:
    """What became of a job."""

    files: int
    tests: int
    unparsable: int
    crashes: tuple[str, ...]
    hangs: tuple[str, ...]
    slowest_s: float
    slowest: str


class TooLong(BaseException):
    """Not an Exception, so that nobody catches it on the way."""


def trip(job: Job) -> Trip:
    gc.disable()
    signal.signal(signal.SIGPROF, _too_long)
    paths = sorted(path.relative_to(job.root) for path in job.root.rglob("*.py") if path.is_file())
    sources = {path.as_posix(): (job.root / path).read_bytes() for path in paths if not SKIPPED & set(path.parts)}
    project = Project(sources, patterns=job.patterns)
    names = [name for name in sources if project.patterns.is_test_file(name)][job.part :: job.parts]
    tests, crashes, hangs, times = 0, [], [], {"": 0.0}
    for name in names:
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
        try:
            module = project.module(name)
            tests += len(analyse_file(project, module)) if module is not None else 0
        except TooLong:
            hangs.append(f"{job.root.name}/{name}")
        except Exception:
            crashes.append(f"{job.root.name}/{name}: {traceback.format_exc().strip().splitlines()[-1]}")
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        times[name] = time.process_time() - began
    slowest = max(times, key=times.__getitem__)
    return Trip(
        files=len(names),
        tests=tests,
        unparsable=len(project.unparsable_in(names)),
        crashes=tuple(crashes),
        hangs=tuple(hangs),
        slowest_s=times[slowest],
        slowest=f"{job.root.name}/{slowest}",
    )


def _too_long(_signal: int, _frame: object) -> None:
    raise TooLong


def row(what: str, trips: Sequence[Trip]) -> Row:
    crashes, hangs = sum(len(one.crashes) for one in trips), sum(len(one.hangs) for one in trips)
    slowest = max(trips, key=lambda one: one.slowest_s)
    files, tests = sum(one.files for one in trips), sum(one.tests for one in trips)
    return Row(
        job=what,
        ours=f"{files:,} files, {tests:,} tests; slowest {slowest.slowest} {slowest.slowest_s:.1f} s",
        peer="–",
        measured=f"{crashes} crashes, {hangs} hangs, {sum(one.unparsable for one in trips)} files do not parse",
        goal="0 crashes, 0 hangs",
        met=not crashes and not hangs,
    )


def sdists_in(folder: Path, count: int) -> list[Path]:
    """The first so many folders by name that hold test files."""
    return [one for one in sorted(folder.iterdir()) if one.is_dir() and _has_tests(one)][:count]


def _has_tests(folder: Path) -> bool:
    return any(Patterns().is_test_file(path.relative_to(folder).as_posix()) for path in folder.rglob("*.py"))


def main() -> None:
    parser = arguments(__doc__ or "", repeats=1)
    parser.add_argument("--sdists", type=Path, help="folder with one folder of sources for each project")
    parser.add_argument("--count", type=int, default=50, help="of the sdists to take (default %(default)s)")
    parser.add_argument(
        "--library", type=Path, default=Path(sysconfig.get_path("stdlib")), help="default %(default)s"
    )
    given = parser.parse_args()
    found = list(_rows(given.library, sdists_in(given.sdists, given.count) if given.sdists else []))
    told([one for one, _trips in found], given.json, [note for _row, trips in found for note in _notes(trips)])


def _rows(library: Path, sdists: Sequence[Path]) -> Iterator[tuple[Row, list[Trip]]]:
    with get_context().Pool(2) as pool:
        if sdists:
            trips = _made(pool, [Job(root=one, patterns=Patterns(), part=0, parts=1) for one in sdists])
            yield row(f"{len(sdists)} sdists", trips), trips
        trips = _made(
            pool, [Job(root=library, patterns=EVERYTHING, part=one, parts=PARTS) for one in range(PARTS)]
        )
        yield row(f"the standard library of Python {platform.python_version()}", trips), trips


def _made(pool: Pool, jobs: Sequence[Job]) -> list[Trip]:
    trips = []
    for number, one in enumerate(pool.imap_unordered(trip, jobs), 1):
        trips.append(one)
        bad = len(one.crashes) + len(one.hangs)
        print(
            f"  {number} of {len(jobs)}: {one.files} files, {one.tests} tests, {bad} crashes or hangs", flush=True
        )
    return trips


def _notes(trips: Sequence[Trip]) -> list[str]:
    return [
        note
        for one in trips
        for note in (*(f"crash: {x}" for x in one.crashes), *(f"hang: {x}" for x in one.hangs))
    ]


if __name__ == "__main__":
    main()
