"""Share of changes that a test is independent of: `flakehound study triage` on successive releases.

Projects from PyPI whose sdists contain their tests; the latest releases of each are compared pair by pair. A
release has many commits, so the shares are lower than those of single commits; Faker releases after almost every
change and is closest to them. The thesis found medians above 70 % (figure 4.1) and 80 % (figure 4.2) for commits
and classes of tests.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import urllib.request
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plugin_cost import dependencies
from running import run_flakehound, temporary_folder
from side_by_side import Row, benchmark_parser, report_results

CACHE = Path(os.environ.get("FLAKEHOUND_RELEASES", Path.home() / ".cache" / "flakehound-releases"))
FIGURES = Path(__file__).resolve().parent
MAX_CHANGES = 60  # per project
FIVE_SHARES = "shares of independent changes: minimum / 25 % / median / 75 % / maximum of the tests"
_DOWNLOAD_LIMIT_S = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project on PyPI, and the packages that its tests need."""

    name: str
    requirements: tuple[str, ...] = ()
    # Old releases may have a file that does not import today; the other files are still compared.
    pytest_args: tuple[str, ...] = ("--continue-on-collection-errors", "-p", "no:cacheprovider")


PROJECTS = {
    project.name: project
    for project in (
        Project(name="Faker", requirements=("freezegun", "validators", "tzdata", "typing_extensions")),
        Project(name="cachetools"),
        Project(name="humanize", requirements=("freezegun",)),
        Project(name="more-itertools"),
        Project(name="marshmallow", requirements=("pytz", "simplejson", "packaging", "typing_extensions")),
    )
}


def ensure_environment(folder: Path, name: str, requirements: Sequence[str]) -> Path:
    """The interpreter of an environment with the packages of flakehound and the tests, made at the first call."""
    home = folder / "venvs" / name
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-qq", *dependencies(), *requirements], check=True)
        (home / "ready").touch()
    return python


def fetch_sdists(folder: Path, name: str, count: int) -> Path:
    """Fetch the latest sdists of a project that are missing, and return their folder."""
    sdists = folder / "sdists" / name
    if not sdists.exists() or len(list(sdists.iterdir())) < count:
        for version in list(sdist_urls(folder, name))[:count]:
            fetch_sdist(folder, name, version)
    return sdists


def fetch_sdist(folder: Path, name: str, version: str) -> Path:
    """The sdist of one release, fetched at the first call."""
    sdists = folder / "sdists" / name
    found = next(sdists.glob(f"*-{version}.tar.gz"), None)
    if found is None:
        url = sdist_urls(folder, name)[version]
        found = sdists / url.rpartition("/")[2]
        sdists.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(url, timeout=_DOWNLOAD_LIMIT_S) as answer:
            found.write_bytes(answer.read())
    return found


@functools.cache
def sdist_urls(folder: Path, name: str) -> Mapping[str, str]:
    """Version -> URL of its sdist, the newest first; not by pip, which would build each one for its metadata."""
    tool = ensure_environment(folder, "tool", ["unearth"])
    command = [str(tool), "-m", "unearth", name, "--all", "--no-binary"]
    files = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    archives = [file for file in files if file["link"]["url"].endswith(".tar.gz")]
    return {file["version"]: file["link"]["url"] for file in archives}


def run_study(project: Project, folder: Path, tests: int, seed: int) -> dict[str, Any]:
    """The JSON answer of `flakehound study triage`."""
    releases = fetch_sdists(folder, project.name, MAX_CHANGES + 1)
    python = ensure_environment(folder, project.name, project.requirements)
    with temporary_folder() as work:
        answer = work / "study.json"
        numbers = ["--revisions", MAX_CHANGES, "--tests", tests, "--seed", seed]
        done = run_flakehound(
            work,
            *("study", "triage", "--only", "revisions", *map(str, numbers), "--json", str(answer)),
            *("--python", str(python)),
            *("--releases", str(releases), "--", *project.pytest_args),
            env={},
        )
        assert done.returncode == 0, f"{project.name}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        study: dict[str, Any] = json.loads(answer.read_text())
    return study


def row(project: Project, revisions: dict[str, Any]) -> Row:
    """The row of one project."""
    summary = revisions["summary"]
    figures = ("least", "quarter", "median", "three_quarters", "most")
    spread = " / ".join(f"{summary[name]:.0f}" for name in figures)
    return Row(
        job=f"{project.name}: {revisions['compared']} changes between releases",
        ours=f"{summary['tests']} tests: {spread} %",
        peer="thesis, commits: median > 70 %",
        measured=f"median {summary['median']:.0f} %",
        goal="reported per test",
        met=summary["tests"] > 0,
    )


def notes_on(project: Project, revisions: dict[str, Any]) -> list[str]:
    """Why the other changes are not independent of the tests, and the releases that were left out."""
    compared = sum(test["compared"] for test in revisions["tests"])
    disjoint = sum(test["disjoint"] for test in revisions["tests"])
    reasons = [f"{reason} {100 * times / compared:.0f} %" for reason, times in revisions["reasons"].items()]
    skipped = [release["revision"] for release in revisions["skipped"]]
    notes = [
        f"{project.name}: {100 * disjoint / compared:.0f} % of {compared} pairs of a change and a test disjoint; "
        + "the others: "
        + ", ".join(reasons)
        + f"; {revisions['recordings']} recordings"
    ]
    if skipped:
        notes.append(f"{project.name}: {len(skipped)} releases could not be collected: {', '.join(skipped)}")
    return notes


def draw_box_plots(shares: dict[str, list[float]]) -> list[str]:
    """Write the figure; return a note about it."""
    from flakehound.learn.extras import MissingExtra, check_installed
    from flakehound.report.study.triage_plot import plot_shares

    try:
        check_installed("matplotlib")
    except MissingExtra as missing:
        return [f"no figure without matplotlib: {missing.remedy}"]
    name = "-".join(["revisions", *sorted(shares)]).lower() + ".png"
    plot_shares(shares, FIGURES / name)
    return [f"figure: benchmarks/{name}"]


def main() -> None:
    parser = benchmark_parser(__doc__, repeats=1)
    parser.add_argument("names", nargs="*", metavar="PROJECT", help=f"of {', '.join(PROJECTS)} (default: all)")
    parser.add_argument("--tests", type=int, default=20, help="per project (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the choice of tests (default %(default)s)")
    parser.add_argument("--cache", type=Path, default=CACHE, help="sdists and environments (default %(default)s)")
    options = parser.parse_args()
    rows, notes, shares = [], [], {}
    for name in options.names or PROJECTS:
        revisions = run_study(PROJECTS[name], options.cache, options.tests, options.seed)["revisions"]
        rows.append(row(PROJECTS[name], revisions))
        notes += notes_on(PROJECTS[name], revisions)
        shares[name] = [test["percent"] for test in revisions["tests"]]
        print(rows[-1].job, rows[-1].ours, sep="  ", flush=True)
    report_results(rows, options.json, [FIVE_SHARES, *draw_box_plots(shares), *notes])


if __name__ == "__main__":
    main()
