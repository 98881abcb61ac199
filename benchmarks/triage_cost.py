"""What `--flakehound` adds to a green run, and what recording adds to a rerun in a new interpreter.

Green runs: a git repository with a suite, in an environment with pytest. Plain pytest without flakehound on one
side; on the other flakehound on the path, as if installed, and `--flakehound`; in turns. The fastest run of each
side counts: whatever else the machine does only ever adds, and here more than the 2 % that are looked for. The
median of the differences of neighbouring runs is told beside it, and where valgrind is installed the instructions
that each side takes in user mode, which no other process can disturb. Recording: the same test of a tiny and of a
real project in new interpreters, with the lines of one changed file and with those of every file.
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
from pathlib import Path

from mutants import SUBJECTS
from plugin_cost import lay_out_flakehound
from revisions import CACHE, environment, sdist
from running import BARE, PYTEST_ARGS, temporary_folder
from side_by_side import Row, Series, arguments, at_most, in_turns, on_cores, ratio, told, wall_s
from suites import small_suite, timed_suite

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Setting, SingleRun
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.processes.spawn import RecordingRequest, Spawner

MOST_PERCENT = 2.0
MOST_MS = 50.0
MOST_TIMES = 1.5
GREEN_TIMES = 4  # as many turns: runs of a second have to be told apart by hundredths
REAL = SUBJECTS[0]
REAL_TEST = NodeId("tests/test_iterutils.py::test_chunked_bytes")
REAL_FILE = "boltons/iterutils.py"


def tiny_tests(folder: Path) -> None:
    """1000 tests that do next to nothing."""
    folder.mkdir()
    for number in range(10):
        tests = "\n\n".join(f"def test_{n}():\n    assert {n} + 1 == {n + 1}" for n in range(100))
        (folder / f"test_tiny_{number}.py").write_text(tests + "\n")


def waiting_tests(folder: Path) -> None:
    """300 tests of 2 ms."""
    timed_suite(folder, test_s=0.002, tests=300, busy=False)


def committed(folder: Path) -> None:
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false"]
    (folder / ".gitignore").write_text("__pycache__\n.flakehound\n")
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "a suite"]):
        subprocess.run([*git, *words], cwd=folder, check=True)


class Timed:
    """One way of doing a job, its processor time kept beside the wall time."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self.cpu_s: list[float] = []
        work()  # compiles the files

    def run_s(self) -> float:
        """The job once, on the clock."""
        before = _children_cpu_s()
        took_s = wall_s(self._work)
        self.cpu_s.append(_children_cpu_s() - before)
        return took_s

    @property
    def cpu(self) -> Series:
        """The processor times."""
        return Series(values=tuple(self.cpu_s))


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def green_rows(job: str, write: Callable[[Path], None], repeats: int, python: Path) -> list[Row]:
    with temporary_folder() as place, on_cores(1):
        folder, installed, nothing = place / "suite", place / "installed", place / "nothing"
        write(folder)
        committed(folder)
        lay_out_flakehound(installed)
        nothing.mkdir()
        ours = Timed(lambda: _green(python, folder, installed, "--flakehound"))
        peer = Timed(lambda: _green(python, folder, nothing))
        took = in_turns(repeats, {"with": ours.run_s, "without": peer.run_s})
        counted = _counted(job, python, folder, installed, nothing) if shutil.which("valgrind") else []
    return [
        *counted,
        *_fastest(f"green run, {job}, fastest of {repeats}", took["with"], took["without"]),
        _in_pairs(f"green run, {job}, pairs of runs", took["with"], took["without"]),
        _in_pairs(f"green run, {job}, pairs of runs, processor time", ours.cpu, peer.cpu),
    ]


def _counted(job: str, python: Path, folder: Path, installed: Path, nothing: Path) -> list[Row]:
    """By instructions: against an environment without flakehound, and against one where it is not asked for."""
    asked = _instructions(python, folder, installed, "--flakehound")
    peers = {
        "not installed": _instructions(python, folder, nothing),
        "installed, not asked": _instructions(python, folder, installed),
    }
    return [
        at_most(
            f"green run, {job}, instructions, against {name}",
            ours=f"{asked / 1e6:.0f} million",
            peer=f"{peer / 1e6:.0f} million",
            figure=Series(values=(100 * (asked - peer) / peer,)),
            limit=MOST_PERCENT,
            unit="% more",
        )
        for name, peer in peers.items()
    ]


def _instructions(python: Path, folder: Path, path: Path, *options: str) -> int:
    """What valgrind counts in one run, the processes that it starts left out."""
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    command = [*tool, str(python), "-m", "pytest", *PYTEST_ARGS, "-q", *options]
    env = {**os.environ, "PYTHONPATH": str(path), "PYTHONHASHSEED": "0"}
    said = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True).stderr
    (count,) = re.findall(r"I\s+refs:\s+([\d,]+)", said)
    return int(count.replace(",", ""))


def _fastest(job: str, ours: Series, peer: Series) -> list[Row]:
    best, other = min(ours.values), min(peer.values)
    texts = {"ours": f"{best * 1e3:.0f} ms", "peer": f"{other * 1e3:.0f} ms"}
    percent, more_ms = Series(values=(100 * (best - other) / other,)), Series(values=((best - other) * 1e3,))
    return [
        at_most(job, **texts, figure=percent, limit=MOST_PERCENT, unit="% more"),
        at_most(job, **texts, figure=more_ms, limit=MOST_MS, unit="ms more"),
    ]


def _in_pairs(job: str, ours: Series, peer: Series) -> Row:
    pairs = list(zip(ours.values, peer.values, strict=True))
    percent = Series(values=tuple(100 * (a - b) / b for a, b in pairs))
    more_ms = Series(values=tuple((a - b) * 1e3 for a, b in pairs))
    measured = f"{more_ms.text('ms more')}, {percent.text('%')}"
    return Row(job=job, ours=ours.text("ms", 1e3), peer=peer.text("ms", 1e3), measured=measured)


def _green(python: Path, folder: Path, path: Path, *options: str) -> None:
    command = [str(python), "-m", "pytest", *PYTEST_ARGS, "-q", *options]
    env = {**os.environ, "PYTHONPATH": str(path)}
    subprocess.run(command, cwd=folder, env=env, stdout=subprocess.DEVNULL, check=True)


def recording_rows(job: str, target: Target, test: NodeId, changed: Path, repeats: int) -> list[Row]:
    """The same rerun without recording, with the lines of a changed file, and with those of all files."""
    with temporary_folder() as folder:
        spawner = Spawner(target, folder / "n")
        few, all_files = RecordingRequest(root=target.cwd, files=(changed,)), RecordingRequest(root=target.cwd)
        plan = SingleRun(order=(test,), why="benchmark", setting=Setting.ALONE, isolation=Isolation.SPAWN, seed=1)

        def plain() -> object:
            return spawner.run_single(plan, Limits(), ())

        def recorded(wish: RecordingRequest) -> object:
            told_run = spawner.run_recorded(plan, Limits(), (), wish)
            assert told_run.dependencies is not None
            assert told_run.records[0].last.is_pass, told_run.records[0].failures
            return told_run

        sides = {
            "changed": Timed(lambda: recorded(few)),
            "all": Timed(lambda: recorded(all_files)),
            "without": Timed(plain),
        }
        took = in_turns(repeats, {name: side.run_s for name, side in sides.items()})
    whats = {"changed": "with one file changed", "all": "the lines of every file"}
    walls = [_times(f"recording {what}, {job}", took[side], took["without"]) for side, what in whats.items()]
    cpus = {name: side.cpu for name, side in sides.items()}
    figures = [f"{whats[side]} {ratio(cpus[side], cpus['without']).text('×')}" for side in whats]
    text = cpus["without"].text("ms", 1e3)
    return [*walls, Row(job=f"recording, {job}, processor time", ours="–", peer=text, measured="; ".join(figures))]


def _times(job: str, ours: Series, peer: Series) -> Row:
    texts = {"ours": ours.text("ms", 1e3), "peer": peer.text("ms", 1e3)}
    return at_most(job, **texts, figure=ratio(ours, peer), limit=MOST_TIMES)


def tiny_recording(repeats: int) -> list[Row]:
    with temporary_folder() as folder:
        test = NodeId(small_suite(folder))
        file = folder / test.partition("::")[0]
        args = (*PYTEST_ARGS, file.name)
        target = Target(python=sys.executable, cwd=folder, pytest_args=args, env=BARE)
        return recording_rows("a tiny project", target, test, file, repeats)


def real_green(cache: Path, repeats: int) -> list[Row]:
    """The whole suite of a real project."""
    python = environment(cache, f"mutants-{REAL.name}", REAL.requirements)

    def write(folder: Path) -> None:
        with tarfile.open(sdist(cache, REAL.name, REAL.version)) as archive:
            archive.extractall(folder.with_name("sdist"), filter="data")
        (tree,) = folder.with_name("sdist").iterdir()
        tree.rename(folder)

    return green_rows(f"{REAL.name} {REAL.version}, its own suite", write, repeats, python)


def real_recording(cache: Path, repeats: int) -> list[Row]:
    with temporary_folder() as folder:
        with tarfile.open(sdist(cache, REAL.name, REAL.version)) as archive:
            archive.extractall(folder, filter="data")
        (tree,) = folder.iterdir()
        python = environment(cache, f"mutants-{REAL.name}", REAL.requirements)
        args = (*PYTEST_ARGS, REAL_TEST.partition("::")[0])
        target = Target(python=str(python), cwd=tree, pytest_args=args)
        return recording_rows(f"{REAL.name} {REAL.version}", target, REAL_TEST, tree / REAL_FILE, repeats)


def main() -> None:
    parser = arguments(__doc__, repeats=11)
    parser.add_argument("--cache", type=Path, default=CACHE, help="sdists and environments (default %(default)s)")
    chosen = parser.parse_args()
    python = environment(chosen.cache, "green", ())
    rows = green_rows("1000 tiny tests", tiny_tests, GREEN_TIMES * chosen.repeats, python)
    rows += green_rows("300 tests of 2 ms", waiting_tests, GREEN_TIMES * chosen.repeats, python)
    rows += real_green(chosen.cache, chosen.repeats)
    rows += tiny_recording(chosen.repeats)
    rows += real_recording(chosen.cache, chosen.repeats)
    told(rows, chosen.json)


if __name__ == "__main__":
    main()
