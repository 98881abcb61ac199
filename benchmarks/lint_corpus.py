"""Find an sdist of each labelled project that ships a labelled test, and list them in `lint_projects.csv`.

Of a project's sdists on PyPI, the newest before the date of the labels is tried first, then the oldest after it,
the newest of a year before, and the newest of all. Commits cannot be dated without their repositories. A project
none of whose sdists ships a labelled test is left out. Sources are fetched as files: nothing is built,
imported or run. Prints numbers only, so that nobody sees anything about a test that is kept for judging.

    python benchmarks/lint_corpus.py [--cache DIR] [--data ../shared/data] [--out FILE.csv]
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import shutil
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path

from flaky_sources import ARCHIVE_SUFFIXES, DATA, Sdist, download, sdists_of, source_files
from lint_labels import SPLITS, LabelledProject, labelled_projects, located, normalised

SOURCES = Path(os.environ.get("FLAKEHOUND_LINT_CORPUS", Path.home() / ".cache" / "flakehound-lint-corpus"))
PROJECTS = Path(__file__).with_name("lint_projects.csv")
_THREADS = 4
_PROBLEMS = (OSError, tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusProject:
    """A project of the corpus: a row of `lint_projects.csv`."""

    project: str  # normalised name
    split: str
    version: str
    sdist: str  # file name
    uploaded: str  # date; long after the labels, its tests may have changed


def read_projects(path: Path = PROJECTS) -> list[CorpusProject]:
    """The projects of the corpus, by name."""
    with path.open(newline="", encoding="utf-8") as file:
        return [CorpusProject(**row) for row in csv.DictReader(file)]


def write_projects(projects: Sequence[CorpusProject], path: Path) -> None:
    """Write the list of projects."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(CorpusProject)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(project) for project in sorted(projects, key=lambda project: project.project))


# ------------------------------------------------------------------ sources


def sources_of(project: CorpusProject, cache: Path) -> Path:
    """The folder with the sources of a project, fetched if the cache does not have them."""
    folder = cache / project.sdist
    if not folder.exists():
        sdist = next(sdist for sdist in sdists_of(project.project) if sdist.file == project.sdist)
        fetch_sdist(sdist, cache)
    return folder


def fetch_sdist(sdist: Sdist, cache: Path) -> Path:
    """The folder with the files of an sdist, fetched if the cache does not have it."""
    folder = cache / sdist.file
    if folder.exists():
        return folder
    new = cache / f"{sdist.file}.{os.getpid()}.new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    for path, content in source_files(sdist.file, download(sdist.url)):
        target = new.joinpath(*path.parts[1:])
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    new.rename(folder)
    return folder


# ------------------------------------------------------------------ search


def find_sdist(project: LabelledProject, cache: Path) -> CorpusProject | str:
    """The first candidate that ships a labelled test; else why there is none."""
    try:
        sdists = sdists_of(project.index_name)
    except _PROBLEMS:
        return "not on PyPI"
    if not sdists:
        return "no sdist on PyPI"
    problem = "no sdist with a labelled test"
    for sdist in candidates(sdists, project.before):
        try:
            folder = fetch_sdist(sdist, cache)
        except _PROBLEMS:
            problem = "an sdist could not be read"
            continue
        if ships_labelled_test(folder, project):
            return CorpusProject(
                project=project.name,
                split=project.split,
                version=version_of(sdist, project),
                sdist=sdist.file,
                uploaded=sdist.uploaded[:10],
            )
        shutil.rmtree(folder)
    return problem


def candidates(sdists: Sequence[Sdist], before: str) -> list[Sdist]:
    """The sdists to try, the likeliest first."""
    by_date = sorted(sdists, key=lambda sdist: (sdist.uploaded, sdist.file))
    year_before = str(int(before) - 1)
    old = [sdist for sdist in by_date if sdist.uploaded < before]
    older = [sdist for sdist in old if sdist.uploaded < year_before]
    new = by_date[len(old) :]
    return list(dict.fromkeys([*old[-1:], *new[:1], *older[-1:], *new[-1:]]))


def ships_labelled_test(folder: Path, project: LabelledProject) -> bool:
    """Whether a labelled file is there, and some file defines a labelled function of it."""
    texts = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.py") if path.is_file()}
    labels = located(project.labels, frozenset(texts))
    if not labels:
        return False
    defined = {
        name
        for path in texts.values()
        for name in re.findall(rb"^\s*(?:async\s+)?def\s+(\w+)", path.read_bytes(), re.M)
    }
    return any(function.encode() in defined for _file, _class, function in labels)


def version_of(sdist: Sdist, project: LabelledProject) -> str:
    """The version in the name of an sdist's file."""
    stem = next(sdist.file.removesuffix(suffix) for suffix in ARCHIVE_SUFFIXES if sdist.file.endswith(suffix))
    cuts = [match.start() for match in re.finditer("-", stem)]
    matching = [stem[cut + 1 :] for cut in cuts if normalised(stem[:cut]) == project.name]
    return matching[0] if matching else stem.rpartition("-")[2]


# ------------------------------------------------------------------ command


def report_lines(projects: Sequence[LabelledProject], found: Sequence[CorpusProject | str]) -> Iterator[str]:
    """How many projects were found in each split, and why the others were not."""
    for split in SPLITS:
        outcomes = [outcome for project, outcome in zip(projects, found, strict=True) if project.split == split]
        reasons = Counter(outcome for outcome in outcomes if isinstance(outcome, str))
        there = len(outcomes) - reasons.total()
        yield f"{split}: {there} of {len(outcomes)} projects; " + ", ".join(
            f"{number} {reason}" for reason, number in reasons.most_common()
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cache", type=Path, default=SOURCES, help="folder for the sources (default %(default)s)")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, default=PROJECTS)
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    projects = sorted(labelled_projects(options.data).values(), key=lambda project: project.name)
    with ThreadPoolExecutor(_THREADS) as pool:
        found = list(pool.map(partial(find_sdist, cache=options.cache), projects))
    write_projects([outcome for outcome in found if isinstance(outcome, CorpusProject)], options.out)
    print("\n".join(report_lines(projects, found)))


if __name__ == "__main__":
    main()
