"""How often a change has nothing to do with a test: `flakehound study triage` on successive releases.

Projects from PyPI whose sdists hold their tests, the latest releases of each, compared pair by pair. A release
is many commits at once, so the shares are lower than those of single commits; Faker releases after almost every
change and comes closest. The thesis found medians above 70 % (figure 4.1) and 80 % (figure 4.2) for commits and
classes of tests.
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
from running import flakehound_command, temporary_folder
from side_by_side import Row, arguments, told

CACHE = Path(os.environ.get("FLAKEHOUND_RELEASES", Path.home() / ".cache" / "flakehound-releases"))
FIGURES = Path(__file__).resolve().parent
MOST = 60  # changes
_DOWNLOAD_S = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project on PyPI, and what its tests need beside it."""

    name: str
    requirements: tuple[str, ...] = ()
    # Old releases may have a file that does not import today; the others are compared all the same.
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


def environment(folder: Path, name: str, requirements: Sequence[str]) -> Path:
    """The interpreter of an environment with what flakehound and the tests need, made when first asked for."""
    home = folder / "venvs" / name
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-qq", *dependencies(), *requirements], check=True)
        (home / "ready").touch()
    return python


def sdists(folder: Path, name: str, most: int) -> Path:
    """The folder with the latest sdists of a project, fetched as far as they are not there yet."""
    place = folder / "sdists" / name
    if not place.exists() or len(list(place.iterdir())) < most:
        for version in list(links(folder, name))[:most]:
            sdist(folder, name, version)
    return place


def sdist(folder: Path, name: str, version: str) -> Path:
    """The sdist of one release, fetched when first asked for."""
    place = folder / "sdists" / name
    found = next(place.glob(f"*-{version}.tar.gz"), None)
    if found is None:
        link = links(folder, name)[version]
        found = place / link.rpartition("/")[2]
        place.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(link, timeout=_DOWNLOAD_S) as answer:
            found.write_bytes(answer.read())
    return found


@functools.cache
def links(folder: Path, name: str) -> Mapping[str, str]:
    """Version -> its sdist, the newest first; not by pip, which would build each to look at its metadata."""
    tool = environment(folder, "tool", ["unearth"])
    command = [str(tool), "-m", "unearth", name, "--all", "--no-binary"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    archives = [one for one in found if one["link"]["url"].endswith(".tar.gz")]
    return {one["version"]: one["link"]["url"] for one in archives}


def studied(project: Project, folder: Path, tests: int, seed: int) -> dict[str, Any]:
    """What `flakehound study triage` says."""
    releases = sdists(folder, project.name, MOST + 1)
    python = environment(folder, project.name, project.requirements)
    with temporary_folder() as place:
        answer = place / "study.json"
        wishes = ["--only", "revisions", "--revisions", MOST, "--tests", tests, "--seed", seed, "--json", answer]
        done = flakehound_command(
            place,
            *("study", "triage", *map(str, wishes), "--python", str(python)),
            *("--releases", str(releases), "--", *project.pytest_args),
            env={},
        )
        assert done.returncode == 0, f"{project.name}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        told_study: dict[str, Any] = json.loads(answer.read_text())
    return told_study


def row(project: Project, revisions: dict[str, Any]) -> Row:
    summary = revisions["summary"]
    figures = ("least", "quarter", "median", "three_quarters", "most")
    spread = " / ".join(f"{summary[name]:.0f}" for name in figures)
    return Row(
        job=f"{project.name}: {revisions['compared']} changes between releases",
        ours=f"{summary['tests']} tests: {spread} % (min / 25 % / median / 75 % / max)",
        peer="the thesis, commits: median > 70 %",
        measured=f"median {summary['median']:.0f} % of the changes disjoint",
        goal="told per test, with the median",
        met=summary["tests"] > 0,
    )


def notes_on(project: Project, revisions: dict[str, Any]) -> list[str]:
    met = sum(test["compared"] for test in revisions["tests"])
    disjoint = sum(test["disjoint"] for test in revisions["tests"])
    reasons = [f"{words} {100 * times / met:.0f} %" for words, times in revisions["reasons"].items()]
    skipped = [one["revision"] for one in revisions["skipped"]]
    notes = [
        f"{project.name}: of {met} pairs of a change and a test {100 * disjoint / met:.0f} % disjoint; else: "
        + ", ".join(reasons)
        + f"; {revisions['recordings']} recordings"
    ]
    if skipped:
        notes.append(f"{project.name}: {len(skipped)} releases not collected: {', '.join(skipped)}")
    return notes


def draw(shares: dict[str, list[float]]) -> list[str]:
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
    parser = arguments(__doc__, repeats=1)
    parser.add_argument("names", nargs="*", metavar="PROJECT", help=f"of {', '.join(PROJECTS)} (default: all)")
    parser.add_argument("--tests", type=int, default=20, help="per project (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="draws the tests (default %(default)s)")
    parser.add_argument("--cache", type=Path, default=CACHE, help="sdists and environments (default %(default)s)")
    chosen = parser.parse_args()
    rows, notes, shares = [], [], {}
    for name in chosen.names or PROJECTS:
        found = studied(PROJECTS[name], chosen.cache, chosen.tests, chosen.seed)["revisions"]
        rows.append(row(PROJECTS[name], found))
        notes += notes_on(PROJECTS[name], found)
        shares[name] = [test["percent"] for test in found["tests"]]
        print(rows[-1].job, rows[-1].ours, sep="  ", flush=True)
    told(rows, chosen.json, notes + draw(shares))


if __name__ == "__main__":
    main()
