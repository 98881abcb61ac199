"""`flakehound lint` on the whole standard library and on sdists from PyPI, without a crash or a hang.

In the standard library every function of every file counts as a test; in an sdist the tests that pytest would
collect. Each file passes through all parts of lint. An exception is a crash; a file that takes more than a minute
of CPU time is a hang. Files that do not parse are counted, because the standard library ships some.
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

from side_by_side import Row, benchmark_parser, report_results

from flakehound.core.collection_patterns import CollectionPatterns
from flakehound.lint.analyse import analyse_file
from flakehound.lint.source.project import Project

LIMIT_S = 60
PARTS = 24  # of the library, so that both cores are busy until the end
ALL_FUNCTIONS = CollectionPatterns(files=("*.py",), functions=("*",), classes=("*",))
SKIPPED_FOLDERS = frozenset({"site-packages", "__pycache__", ".git"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Some files of one tree; lint may read all other files of the tree."""

    root: Path
    patterns: CollectionPatterns
    part: int
    parts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """Counts, crashes and hangs of one job."""

    files: int
    tests: int
    unparsable: int
    crashes: tuple[str, ...]
    hangs: tuple[str, ...]
    slowest_s: float
    slowest: str


class TooLong(BaseException):
    """The time limit; no Exception, so that no handler in lint catches it."""


def lint_files(job: Job) -> JobResult:
    """Lint the files of one job and note crashes and hangs."""
    gc.disable()
    signal.signal(signal.SIGPROF, _raise_too_long)
    paths = sorted(path.relative_to(job.root) for path in job.root.rglob("*.py") if path.is_file())
    sources = {
        path.as_posix(): (job.root / path).read_bytes() for path in paths if not SKIPPED_FOLDERS & set(path.parts)
    }
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
    return JobResult(
        files=len(names),
        tests=tests,
        unparsable=len(project.unparsable_in(names)),
        crashes=tuple(crashes),
        hangs=tuple(hangs),
        slowest_s=times[slowest],
        slowest=f"{job.root.name}/{slowest}",
    )


def _raise_too_long(_signal: int, _frame: object) -> None:
    raise TooLong


def row(job: str, results: Sequence[JobResult]) -> Row:
    """The row of one group of files."""
    crashes, hangs = (sum(len(getattr(result, name)) for result in results) for name in ("crashes", "hangs"))
    files, tests, unparsable = (
        sum(getattr(result, name) for result in results) for name in ("files", "tests", "unparsable")
    )
    slowest_s = max(result.slowest_s for result in results)
    return Row(
        job=job,
        ours=f"{files:,} files, {tests:,} tests; slowest file {slowest_s:.1f} s",
        peer="–",
        measured=f"{crashes} crashes, {hangs} hangs, {unparsable} unparsable",
        goal="0 crashes, 0 hangs",
        met=not crashes and not hangs,
    )


def sdists_in(folder: Path, count: int) -> list[Path]:
    """The first `count` folders by name that contain test files."""
    return [path for path in sorted(folder.iterdir()) if path.is_dir() and _has_tests(path)][:count]


def _has_tests(folder: Path) -> bool:
    return any(
        CollectionPatterns().is_test_file(path.relative_to(folder).as_posix()) for path in folder.rglob("*.py")
    )


def main() -> None:
    parser = benchmark_parser(__doc__ or "", repeats=1)
    parser.add_argument("--sdists", type=Path, help="folder with one folder of sources for each project")
    parser.add_argument("--count", type=int, default=50, help="sdists to read (default %(default)s)")
    parser.add_argument(
        "--library", type=Path, default=Path(sysconfig.get_path("stdlib")), help="default %(default)s"
    )
    options = parser.parse_args()
    by_job = dict(
        _results_by_job(options.library, sdists_in(options.sdists, options.count) if options.sdists else [])
    )
    notes = [note for results in by_job.values() for note in _notes(results)]
    report_results([row(job, results) for job, results in by_job.items()], options.json, notes)


def _results_by_job(library: Path, sdists: Sequence[Path]) -> Iterator[tuple[str, list[JobResult]]]:
    with get_context().Pool(2) as pool:
        if sdists:
            jobs = [Job(root=path, patterns=CollectionPatterns(), part=0, parts=1) for path in sdists]
            yield f"{len(sdists)} sdists", _run_jobs(pool, jobs)
        jobs = [Job(root=library, patterns=ALL_FUNCTIONS, part=part, parts=PARTS) for part in range(PARTS)]
        yield f"the standard library of Python {platform.python_version()}", _run_jobs(pool, jobs)


def _run_jobs(pool: Pool, jobs: Sequence[Job]) -> list[JobResult]:
    results = []
    for number, result in enumerate(pool.imap_unordered(lint_files, jobs), 1):
        results.append(result)
        counts = f"{result.files} files, {result.tests} tests, {len(result.crashes) + len(result.hangs)} problems"
        print(f"  {number} of {len(jobs)}: {counts}", flush=True)
    return results


def _notes(results: Sequence[JobResult]) -> list[str]:
    slowest = max(results, key=lambda result: result.slowest_s)
    return [
        *(f"crash: {crash}" for result in results for crash in result.crashes),
        *(f"hang: {hang}" for result in results for hang in result.hangs),
        f"slowest file: {slowest.slowest}, {slowest.slowest_s:.1f} s",
    ]


if __name__ == "__main__":
    main()
