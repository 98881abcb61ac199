"""Time that `--flakehound` adds to a green and to a red run, and recording to a rerun in a new interpreter.

Green runs: a git repository with a suite, in an environment with pytest. One side is plain pytest without
flakehound; the other has flakehound on the path, as if installed, and `--flakehound`. They run in turns. The goal
is about the fastest run of each side, because other processes can only add time, and on this machine more than 2
%. The differences of neighbouring runs are also reported, and with valgrind the instructions of each side in user
mode, which other processes cannot change. Recording: the same test of a tiny and of a real project in new
interpreters, with the lines of one changed file and with those of every file.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from mutants import RELEASES
from plugin_cost import write_installed_flakehound
from red_suites import red_rows
from revisions import CACHE, ensure_environment, fetch_sdist
from running import NO_OTHER_PLUGINS, PYTEST_ARGS, temporary_folder
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
from suites import write_fixed_duration_suite, write_small_suite

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Setting, SingleRun
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.processes.spawn import RecordingRequest, Spawner

MAX_ADDED_PERCENT = 2.0
MAX_ADDED_MS = 50.0
MAX_RECORDING_RATIO = 1.5
GREEN_FACTOR = 4  # times as many turns, because differences of hundredths of a second must show
REAL = RELEASES[0]
REAL_TEST = NodeId("tests/test_iterutils.py::test_chunked_bytes")
REAL_FILE = "boltons/iterutils.py"


def write_tiny_tests(folder: Path) -> None:
    """Write 1000 tests that do almost nothing."""
    folder.mkdir()
    for number in range(10):
        tests = "\n\n".join(f"def test_{n}():\n    assert {n} + 1 == {n + 1}" for n in range(100))
        (folder / f"test_tiny_{number}.py").write_text(tests + "\n")


def write_sleeping_tests(folder: Path) -> None:
    """Write 300 tests that sleep 2 ms."""
    write_fixed_duration_suite(folder, test_s=0.002, tests=300, busy=False)


def commit_all(folder: Path) -> None:
    """Make a git repository of the folder, with one commit."""
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false"]
    (folder / ".gitignore").write_text("__pycache__\n.flakehound\n")
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "a suite"]):
        subprocess.run([*git, *words], cwd=folder, check=True)


class Side:
    """One way of doing a job; keeps the CPU time of each run."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self.cpu_s: list[float] = []
        work()  # compiles the files

    def run_s(self) -> float:
        """Do the job once and return the wall time."""
        before = _children_cpu_s()
        took_s = wall_s(self._work)
        self.cpu_s.append(_children_cpu_s() - before)
        return took_s

    @property
    def cpu(self) -> Series:
        """The CPU times of all runs."""
        return Series(values=tuple(self.cpu_s))


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def green_rows(job: str, write: Callable[[Path], None], repeats: int, python: Path) -> list[Row]:
    """The rows of green runs of one suite."""
    with temporary_folder() as work, on_cores(1):
        folder, installed, nothing = work / "suite", work / "installed", work / "nothing"
        write(folder)
        commit_all(folder)
        write_installed_flakehound(installed)
        nothing.mkdir()
        ours = Side(lambda: _run_green(python, folder, installed, "--flakehound"))
        peer = Side(lambda: _run_green(python, folder, nothing))
        took = measure_in_turns(repeats, {"with": ours.run_s, "without": peer.run_s})
        has_valgrind = shutil.which("valgrind")
        instructions = _instruction_rows(job, python, folder, installed, nothing) if has_valgrind else []
    return [
        _fastest_row(f"{job}, fastest of {repeats}", took["with"], took["without"]),
        *instructions,
        _pair_row(f"{job}, pairs of runs", took["with"], took["without"]),
        _pair_row(f"{job}, pairs of runs, CPU time", ours.cpu, peer.cpu),
    ]


def _instruction_rows(job: str, python: Path, folder: Path, installed: Path, nothing: Path) -> list[Row]:
    """Instructions relative to an environment without flakehound, and to one where it is not requested."""
    requested = _instructions(python, folder, installed, "--flakehound")
    peers = {
        "not installed": _instructions(python, folder, nothing),
        "installed, not requested": _instructions(python, folder, installed),
    }
    return [
        limit_row(
            f"{job}, instructions, against {name}",
            ours=f"{requested / 1e6:.0f} million",
            peer=f"{peer / 1e6:.0f} million",
            figure=Series(values=(100 * (requested - peer) / peer,)),
            limit=MAX_ADDED_PERCENT,
            unit="% more",
            is_detail=name != "not installed",
        )
        for name, peer in peers.items()
    ]


def _instructions(python: Path, folder: Path, path: Path, *options: str) -> int:
    """The instructions that valgrind counts in one run, without its child processes."""
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    command = [*tool, str(python), "-m", "pytest", *PYTEST_ARGS, "-q", *options]
    env = {**os.environ, "PYTHONPATH": str(path), "PYTHONHASHSEED": "0"}
    output = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True).stderr
    (count,) = re.findall(r"I\s+refs:\s+([\d,]+)", output)
    return int(count.replace(",", ""))


def _fastest_row(job: str, ours: Series, peer: Series) -> Row:
    ours_s, peer_s = min(ours.values), min(peer.values)
    percent, added_ms = 100 * (ours_s - peer_s) / peer_s, (ours_s - peer_s) * 1e3
    return Row(
        job=job,
        ours=f"{ours_s * 1e3:.0f} ms",
        peer=f"{peer_s * 1e3:.0f} ms",
        measured=f"{percent:.2g} % more, {added_ms:.1f} ms",
        goal=f"≤ {MAX_ADDED_PERCENT:g} % and ≤ {MAX_ADDED_MS:g} ms more",
        met=percent <= MAX_ADDED_PERCENT and added_ms <= MAX_ADDED_MS,
    )


def _pair_row(job: str, ours: Series, peer: Series) -> Row:
    pairs = list(zip(ours.values, peer.values, strict=True))
    percent = Series(values=tuple(100 * (a - b) / b for a, b in pairs))
    added_ms = Series(values=tuple((a - b) * 1e3 for a, b in pairs))
    measured = f"{added_ms.text('ms more')}, {percent.text('%')}"
    return Row(job=job, ours=ours.text("ms", 1e3), peer=peer.text("ms", 1e3), measured=measured, is_detail=True)


def _run_green(python: Path, folder: Path, path: Path, *options: str) -> None:
    command = [str(python), "-m", "pytest", *PYTEST_ARGS, "-q", *options]
    env = {**os.environ, "PYTHONPATH": str(path)}
    subprocess.run(command, cwd=folder, env=env, stdout=subprocess.DEVNULL, check=True)


def recording_rows(job: str, target: Target, test: NodeId, changed: Path, repeats: int) -> list[Row]:
    """A rerun with the lines of a changed file, and with those of all files, relative to one without recording."""
    with temporary_folder() as folder:
        spawner = Spawner(target, folder / "n")
        few, all_files = RecordingRequest(root=target.cwd, files=(changed,)), RecordingRequest(root=target.cwd)
        plan = SingleRun(order=(test,), why="benchmark", setting=Setting.ALONE, isolation=Isolation.SPAWN, seed=1)

        def plain() -> object:
            return spawner.run_single(plan, Limits(), ())

        def recorded(request: RecordingRequest) -> object:
            run = spawner.run_recorded(plan, Limits(), (), request)
            assert run.dependencies is not None
            assert run.records[0].last.is_pass, run.records[0].failures
            return run

        sides = {
            "changed": Side(lambda: recorded(few)),
            "all": Side(lambda: recorded(all_files)),
            "without": Side(plain),
        }
        took = measure_in_turns(repeats, {name: side.run_s for name, side in sides.items()})
    names = {"changed": "recording one changed file", "all": "recording every file"}
    rows = [
        replace(_recording_row(f"{name}, {job}", took[side], took["without"]), is_detail=side == "all")
        for side, name in names.items()
    ]
    cpu = {name: side.cpu for name, side in sides.items()}
    figures = [f"{names[side]} {ratio_per_turn(cpu[side], cpu['without']).text('×')}" for side in names]
    peer = cpu["without"].text("ms", 1e3)
    cpu_row = Row(
        job=f"recording, {job}, CPU time", ours="–", peer=peer, measured="; ".join(figures), is_detail=True
    )
    return [*rows, cpu_row]


def _recording_row(job: str, ours: Series, peer: Series) -> Row:
    texts = {"ours": ours.text("ms", 1e3), "peer": peer.text("ms", 1e3)}
    return limit_row(job, **texts, figure=ratio_per_turn(ours, peer), limit=MAX_RECORDING_RATIO)


def tiny_recording_rows(repeats: int) -> list[Row]:
    """Recording a test of a generated suite."""
    with temporary_folder() as folder:
        test = NodeId(write_small_suite(folder))
        file = folder / test.partition("::")[0]
        args = (*PYTEST_ARGS, file.name)
        target = Target(python=sys.executable, cwd=folder, pytest_args=args, env=NO_OTHER_PLUGINS)
        return recording_rows("a tiny project", target, test, file, repeats)


def real_green_rows(cache: Path, repeats: int) -> list[Row]:
    """Green runs of the whole suite of a real project."""
    python = ensure_environment(cache, f"mutants-{REAL.name}", REAL.requirements)

    def write(folder: Path) -> None:
        with tarfile.open(fetch_sdist(cache, REAL.name, REAL.version)) as archive:
            archive.extractall(folder.with_name("sdist"), filter="data")
        (tree,) = folder.with_name("sdist").iterdir()
        tree.rename(folder)

    return green_rows(f"{REAL.name} {REAL.version}, its own suite", write, repeats, python)


def real_recording_rows(cache: Path, repeats: int) -> list[Row]:
    """Recording a test of a real project."""
    with temporary_folder() as folder:
        with tarfile.open(fetch_sdist(cache, REAL.name, REAL.version)) as archive:
            archive.extractall(folder, filter="data")
        (tree,) = folder.iterdir()
        python = ensure_environment(cache, f"mutants-{REAL.name}", REAL.requirements)
        args = (*PYTEST_ARGS, REAL_TEST.partition("::")[0])
        target = Target(python=str(python), cwd=tree, pytest_args=args)
        return recording_rows(f"{REAL.name} {REAL.version}", target, REAL_TEST, tree / REAL_FILE, repeats)


def main() -> None:
    parser = benchmark_parser(__doc__, repeats=11)
    parser.add_argument("--cache", type=Path, default=CACHE, help="sdists and environments (default %(default)s)")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)")
    options = parser.parse_args()
    unknown = set(options.parts).difference(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    python = ensure_environment(options.cache, "green", ())
    rows: list[Row] = []
    for part in options.parts or PARTS:
        rows += PARTS[part](options.cache, options.repeats, python)
    report_results(rows, options.json)


def all_green_rows(cache: Path, repeats: int, python: Path) -> list[Row]:
    """The rows of green runs of three suites."""
    rows = green_rows("1000 tiny tests", write_tiny_tests, GREEN_FACTOR * repeats, python)
    rows += green_rows("300 tests of 2 ms", write_sleeping_tests, GREEN_FACTOR * repeats, python)
    return rows + real_green_rows(cache, repeats)


PARTS: dict[str, Callable[[Path, int, Path], list[Row]]] = {
    "green": all_green_rows,
    "red": lambda _cache, _repeats, python: red_rows(python),
    "recording": lambda cache, repeats, _python: (
        tiny_recording_rows(repeats) + real_recording_rows(cache, repeats)
    ),
}


if __name__ == "__main__":
    main()
