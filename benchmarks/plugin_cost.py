"""What an installed but unused flakehound adds to a plain `pytest` run.

One environment with pytest and everything flakehound depends on; flakehound itself lies in a folder that only
one side has on its path. The runs alternate. The fastest run of each side counts, since whatever else the machine
does only ever adds; the median of the differences of neighbouring runs is told beside it.
"""

from __future__ import annotations

import ast
import os
import resource
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from running import temporary_folder
from side_by_side import Row, Series, arguments, in_turns, on_cores, told, wall_s
from suites import small_suite

import flakehound

PROJECT = Path(__file__).resolve().parents[1]
LIMIT_MS = 10.0


def make_environment(folder: Path) -> Path:
    """A virtual environment with flakehound's dependencies, and none of its own files."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-qq", *dependencies()], check=True)
    return python


def dependencies() -> list[str]:
    """What pyproject.toml asks for; read by hand because Python 3.10 has no TOML reader."""
    text = (PROJECT / "pyproject.toml").read_text()
    listed = text.split("\ndependencies = [", 1)[1].split("]", 1)[0]
    lines = (line.strip().rstrip(",") for line in listed.splitlines())
    return [str(ast.literal_eval(line)) for line in lines if line]


def lay_out_flakehound(folder: Path) -> None:
    """The files an installation has: both packages, and metadata that names the pytest plugin."""
    source = Path(flakehound.__file__).parents[1]
    for package in ("flakehound", "flakehound_inside"):
        shutil.copytree(source / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    metadata = folder / f"flakehound-{flakehound.__version__}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: flakehound\nVersion: {flakehound.__version__}\n"
    )
    (metadata / "entry_points.txt").write_text("[pytest11]\nflakehound = flakehound_inside.plugin\n")
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(folder)], check=True)
    # pytest reads the list of files of every plugin, and marks the modules in it for rewriting.
    files = sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())
    (metadata / "RECORD").write_text("".join(f"{name},sha256={'A' * 43},1000\n" for name in files))


def run_with(python: Path, suite: Path, path: Path) -> None:
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    env = {**os.environ, "PYTHONPATH": str(path)}
    subprocess.run(command, cwd=suite, env=env, stdout=subprocess.DEVNULL, check=True)


def knows_our_option(python: Path, suite: Path, path: Path) -> bool:
    """Whether pytest loaded the plugin; without this check the benchmark could compare nothing with nothing."""
    env = {**os.environ, "PYTHONPATH": str(path)}
    told_help = subprocess.run(
        [python, "-m", "pytest", "--help"], cwd=suite, env=env, capture_output=True, text=True, check=True
    )
    return "--flakehound" in told_help.stdout


class Side:
    """Plain runs with one path, their processor time kept beside the wall time."""

    def __init__(self, python: Path, suite: Path, path: Path) -> None:
        self._python, self._suite, self._path = python, suite, path
        self.cpu_s: list[float] = []

    def run_s(self) -> float:
        """One run on the clock."""
        before = _children_cpu_s()
        took_s = wall_s(lambda: run_with(self._python, self._suite, self._path))
        self.cpu_s.append(_children_cpu_s() - before)
        return took_s


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(repeats: int) -> list[Row]:
    with temporary_folder() as folder, on_cores(1):
        suite = folder / "suite"
        small_suite(suite)
        python = make_environment(folder / "venv")
        without, with_it = folder / "without", folder / "with"
        without.mkdir()
        with_it.mkdir()
        lay_out_flakehound(with_it)
        for path, expected in ((without, False), (with_it, True)):
            run_with(python, suite, path)  # compiles the files
            assert knows_our_option(python, suite, path) is expected
        ours, peer = Side(python, suite, with_it), Side(python, suite, without)
        took = in_turns(repeats, {"with": ours.run_s, "without": peer.run_s})
    job = f"a plain run of 50 tests with flakehound installed, not asked for ({repeats} pairs of runs)"
    cpu, peer_cpu = (Series(values=tuple(side.cpu_s)) for side in (ours, peer))
    best, other = (min(took[side].values) * 1e3 for side in ("with", "without"))
    return [
        Row(
            job=f"{job}, the fastest",
            ours=f"{best:.0f} ms",
            peer=f"{other:.0f} ms",
            measured=f"{best - other:.1f} ms more",
            goal=f"≤ {LIMIT_MS:g} ms more",
            met=best - other <= LIMIT_MS,
        ),
        _row(job, took["with"], took["without"], None),
        _row("the same, processor time", cpu, peer_cpu, None),
    ]


def _row(job: str, ours: Series, peer: Series, limit_ms: float | None) -> Row:
    more = Series(values=tuple((a - b) * 1e3 for a, b in zip(ours.values, peer.values, strict=True)))
    return Row(
        job=job,
        ours=ours.text("ms", 1e3),
        peer=peer.text("ms", 1e3),
        measured=more.text("ms more"),
        goal="" if limit_ms is None else f"≤ {limit_ms:g} ms more",
        met=None if limit_ms is None else more.median <= limit_ms,
    )


def main() -> None:
    chosen = arguments(__doc__, repeats=40).parse_args()
    told(measured(chosen.repeats), chosen.json)


if __name__ == "__main__":
    main()
