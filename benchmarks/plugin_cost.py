"""Time that an installed but unused flakehound adds to a plain `pytest` run of 50 tests.

Both sides use one environment with pytest and flakehound's dependencies; flakehound itself is in a folder that
only one side has on its path. The runs alternate. The goal is about the fastest run of each side, because other
processes can only add time; the median of the differences of neighbouring runs is also reported.
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
from side_by_side import Row, Series, benchmark_parser, measure_in_turns, on_cores, report_results, wall_s
from suites import write_small_suite

import flakehound

PROJECT = Path(__file__).resolve().parents[1]
MAX_ADDED_MS = 10.0


def make_environment(folder: Path) -> Path:
    """Make a virtual environment with flakehound's dependencies, without flakehound itself."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-qq", *dependencies()], check=True)
    return python


def dependencies() -> list[str]:
    """The dependencies in pyproject.toml; parsed here because Python 3.10 has no TOML reader."""
    text = (PROJECT / "pyproject.toml").read_text()
    listed = text.split("\ndependencies = [", 1)[1].split("]", 1)[0]
    return [str(requirement) for requirement in ast.literal_eval(f"[{listed}]")]


def write_installed_flakehound(folder: Path) -> None:
    """Write the files of an installation: both packages, and metadata that names the pytest plugin."""
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
    # pytest reads the file list of every plugin and marks its modules for assertion rewriting, which takes time.
    files = sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())
    (metadata / "RECORD").write_text("".join(f"{name},sha256={'A' * 43},1000\n" for name in files))


def run_with(python: Path, suite: Path, path: Path) -> None:
    """Run pytest once with this folder on the path."""
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    env = {**os.environ, "PYTHONPATH": str(path)}
    subprocess.run(command, cwd=suite, env=env, stdout=subprocess.DEVNULL, check=True)


def plugin_is_loaded(python: Path, suite: Path, path: Path) -> bool:
    """Whether pytest loads the plugin; without this check both sides could be the same."""
    env = {**os.environ, "PYTHONPATH": str(path)}
    done = subprocess.run(
        [python, "-m", "pytest", "--help"], cwd=suite, env=env, capture_output=True, text=True, check=True
    )
    return "--flakehound" in done.stdout


class Side:
    """Plain runs with one path; keeps the CPU time of each run."""

    def __init__(self, python: Path, suite: Path, path: Path) -> None:
        self._python, self._suite, self._path = python, suite, path
        self.cpu_s: list[float] = []

    def run_s(self) -> float:
        """Run once and return the wall time."""
        before = _children_cpu_s()
        took_s = wall_s(lambda: run_with(self._python, self._suite, self._path))
        self.cpu_s.append(_children_cpu_s() - before)
        return took_s


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(repeats: int) -> tuple[list[Row], list[str]]:
    """The rows, and a note about the pairs of runs."""
    with temporary_folder() as folder, on_cores(1):
        suite = folder / "suite"
        write_small_suite(suite)
        python = make_environment(folder / "venv")
        without, installed = folder / "without", folder / "with"
        without.mkdir()
        installed.mkdir()
        write_installed_flakehound(installed)
        for path, expected in ((without, False), (installed, True)):
            run_with(python, suite, path)  # compiles the files
            assert plugin_is_loaded(python, suite, path) is expected
        ours, peer = Side(python, suite, installed), Side(python, suite, without)
        took = measure_in_turns(repeats, {"with": ours.run_s, "without": peer.run_s})
    cpu, peer_cpu = (Series(values=tuple(side.cpu_s)) for side in (ours, peer))
    ours_ms, peer_ms = (min(took[side].values) * 1e3 for side in ("with", "without"))
    pairs = _pair_row(f"{repeats} pairs of runs", took["with"], took["without"])
    rows = [
        Row(
            job=f"fastest of {repeats} runs",
            ours=f"{ours_ms:.0f} ms",
            peer=f"{peer_ms:.0f} ms",
            measured=f"{ours_ms - peer_ms:.1f} ms more",
            goal=f"≤ {MAX_ADDED_MS:g} ms more",
            met=ours_ms - peer_ms <= MAX_ADDED_MS,
        ),
        pairs,
        _pair_row("the same, CPU time", cpu, peer_cpu),
    ]
    return rows, [f"{pairs.job}: {pairs.measured}"]


def _pair_row(job: str, ours: Series, peer: Series) -> Row:
    added = Series(values=tuple((a - b) * 1e3 for a, b in zip(ours.values, peer.values, strict=True)))
    return Row(
        job=job,
        ours=ours.text("ms", 1e3),
        peer=peer.text("ms", 1e3),
        measured=added.text("ms more"),
        is_detail=True,
    )


def main() -> None:
    options = benchmark_parser(__doc__, repeats=40).parse_args()
    rows, notes = measure(options.repeats)
    report_results(rows, options.json, notes)


if __name__ == "__main__":
    main()
