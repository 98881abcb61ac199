"""Sources of PyPI projects with flaky tests, and the labels that Gruber et al. (2021) gave these tests.

Sources are the newest sdists before 2021, fetched as files: nothing is built, imported or run. Projects are split
by name into those that rules and weights may be tuned on, and those that are held out.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import html
import io
import os
import re
import tarfile
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pypi_before_date import HEADERS, page_url

from flakehound.core.collection_patterns import CollectionPatterns
from flakehound.lint.source.project import Project

CACHE = Path(os.environ.get("FLAKEHOUND_LINT_SDISTS", Path.home() / ".cache" / "flakehound-lint-sdists"))
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
_LINK = re.compile(r'<a href="([^"]+)"[^>]*data-upload-time="([^"]+)"[^>]*>([^<]+)</a>')
ARCHIVE_SUFFIXES = (".tar.gz", ".zip", ".tgz", ".tar.bz2")
_MAX_FILE_BYTES = 2_000_000
_FIRST_EXCLUDED_DATE = "2021"  # the study's commits are of 2020

Key = tuple[str, str, str]  # file, class, function: the study's name of a test


@dataclass(frozen=True, slots=True, kw_only=True)
class Sdist:
    """One source distribution on PyPI."""

    file: str
    url: str
    uploaded: str  # ISO date and time, so that dates compare as text


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceProject:
    """A project whose sources are in the cache, with the labels of its flaky tests."""

    name: str
    labels: Mapping[Key, str]  # "nod", "od" or "infrastructure"
    cache: Path


def is_held_out(project: str) -> bool:
    """Whether nothing may be tuned on this project: about 30 % of all, chosen by a hash of the name."""
    return hashlib.sha256(project.encode()).digest()[0] % 10 < 3


# ------------------------------------------------------------------ sources


def fetch_sources(name: str, cache: Path) -> bool:
    """Fetch the sources of a project from PyPI unless the cache has them; False if there are none."""
    home = cache / name
    if (home / ".done").exists():
        return True
    try:
        url = _sdist_url(name)
        for path, content in source_files(url, download(url)) if url else ():
            target = home.joinpath(*path.parts[1:])
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    except (OSError, tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        print(f"{name}: {error}")
        return False
    if url:
        home.mkdir(parents=True, exist_ok=True)
        (home / ".done").write_text(url)
    return bool(url)


def _sdist_url(name: str) -> str | None:
    old = [sdist for sdist in sdists_of(name) if sdist.uploaded < _FIRST_EXCLUDED_DATE]
    return max(old, key=lambda sdist: (sdist.uploaded, sdist.url)).url if old else None


def sdists_of(name: str) -> list[Sdist]:
    """All sdists of a project, in the order of the index page."""
    return [
        Sdist(file=file, url=html.unescape(url).partition("#")[0], uploaded=date)
        for url, date, file in _LINK.findall(download(page_url(name)).decode())
        if file.endswith(ARCHIVE_SUFFIXES)
    ]


def download(url: str) -> bytes:
    """The content of a URL of the package index."""
    with urllib.request.urlopen(urllib.request.Request(url, headers=HEADERS), timeout=120) as answer:
        return bytes(answer.read())


def source_files(archive_name: str, content: bytes) -> Iterator[tuple[PurePosixPath, bytes]]:
    """The Python and configuration files of an sdist; the first part of each path is the sdist's own folder."""
    members = _zip_members(content) if archive_name.endswith(".zip") else _tar_members(content)
    for name, read in members:
        path = PurePosixPath(name)
        if path.suffix in (".py", ".cfg", ".toml", ".ini") and ".." not in path.parts and len(path.parts) > 1:
            yield path, read()


def _zip_members(content: bytes) -> Iterator[tuple[str, Callable[[], bytes]]]:
    archive = zipfile.ZipFile(io.BytesIO(content))
    for member in archive.infolist():
        if member.file_size < _MAX_FILE_BYTES:
            yield member.filename, lambda member=member: archive.read(member)  # type: ignore[misc]


def _tar_members(content: bytes) -> Iterator[tuple[str, Callable[[], bytes]]]:
    archive = tarfile.open(fileobj=io.BytesIO(content))  # noqa: SIM115
    for member in archive:
        if member.isfile() and member.size < _MAX_FILE_BYTES:
            yield member.name, lambda member=member: archive.extractfile(member).read()  # type: ignore[misc,union-attr]


# ------------------------------------------------------------------ labels


def read_table(data: Path, name: str) -> list[dict[str, str]]:
    """The rows of one published table."""
    with gzip.open(data / f"{name}.csv.gz", "rt") as file:
        return list(csv.DictReader(file))


def key_of(row: Mapping[str, str]) -> Key:
    """The name of a test in a row of the study."""
    class_name = row["Test_classname"].rpartition(".")[2]
    return row["Test_filename"], class_name if class_name[:1].isupper() else "", row["Test_funcname"]


def labels_by_project(data: Path) -> dict[str, dict[Key, str]]:
    """The labels of flaky tests by project; a parametrised test is NOD if it is NOD with one of its parameters."""
    labels: dict[str, dict[Key, str]] = {}
    for row in read_table(data, "python_flaky"):
        order, infrastructure = row["Order-dependent"] == "True", row["Flaky_Infrastructure"] == "True"
        label = "od" if order else "infrastructure" if infrastructure else "nod"
        of_project = labels.setdefault(row["Project_Name"], {})
        if of_project.get(key_of(row)) != "nod":
            of_project[key_of(row)] = label
    return {name: of_project for name, of_project in labels.items() if "/" not in name}


# ------------------------------------------------------------------ projects


def projects_with_sources(data: Path, cache: Path, *, offline: bool = False) -> list[SourceProject]:
    """The labelled projects whose sources the cache has, after fetching missing ones unless `offline`."""
    labels = labels_by_project(data)
    cache.mkdir(parents=True, exist_ok=True)
    if offline:
        available = [(cache / name / ".done").exists() for name in labels]
    else:
        with ThreadPoolExecutor(12) as pool:
            available = list(pool.map(lambda name: fetch_sources(name, cache), labels))
    names = sorted(name for name, is_available in zip(labels, available, strict=True) if is_available)
    return [SourceProject(name=name, labels=labels[name], cache=cache) for name in names]


def parse_project(source: SourceProject) -> Project | None:
    """The project as lint reads it; None if its sdist contains no file with a labelled test."""
    root = source.cache / source.name
    files = {file for file, _class_name, _name in source.labels if file and (root / file).is_file()}
    if not files:
        return None
    # The study ran the files that it names, even those that pytest's default patterns do not match.
    patterns = CollectionPatterns(
        files=(*CollectionPatterns().files, *sorted(PurePosixPath(file).name for file in files))
    )
    texts = {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*.py") if path.is_file()}
    return Project(texts, patterns=patterns)
