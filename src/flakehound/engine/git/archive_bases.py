"""A base that is a file: an sdist or another archive of the project, or a wheel, for containers without git.

An archive is unpacked and is then a folder with the project before the change. A wheel has neither tests nor
settings, so its packages are put into a copy of the user's tree. What fails there as well may fail because of a
changed test; so with a wheel as the base nothing is cleared.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

from flakehound.engine.git.folder_bases import SKIPPED_NAMES, UnusableFolder, folder_base
from flakehound.engine.git.revisions import Base
from flakehound.engine.git.worktree import is_environment
from flakehound.engine.temporary_folders import new_folder

_WHEEL = ".whl"
_ARCHIVES = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar", ".zip")
_PLACES = (".", "src", "lib", "python")  # where projects keep their packages
_PARENTS_TRIED = 3  # above pytest's root folder
_OF_THE_WHEEL = (".dist-info", ".data", ".libs")  # folders of a wheel that are no packages


def archive_base(since: str, *, cwd: Path, rootdir: Path, top: Path | None = None) -> Base | None:
    """The base if `since` is an archive of the project or a wheel, else None; for `top` see `folder_base`.

    What is unpacked is removed when this process ends.
    """
    file = Path(os.path.realpath(cwd / since))
    if not since or not file.name.endswith((_WHEEL, *_ARCHIVES)) or not file.is_file():
        return None
    unpacked = new_folder()
    atexit.register(shutil.rmtree, unpacked, ignore_errors=True)
    try:
        content = _unpacked(file, unpacked / "content")
        if file.name.endswith(_WHEEL):
            return _wheel_base(since, file, content, unpacked / "base", Path(os.path.realpath(rootdir)), top)
    except (OSError, tarfile.TarError, zipfile.BadZipFile, shutil.Error) as error:
        raise UnusableFolder(file, f"it cannot be unpacked: {error}") from error
    entries = list(content.iterdir())
    project = entries[0] if len(entries) == 1 and entries[0].is_dir() else content
    base = folder_base(str(project), cwd=cwd, rootdir=rootdir, top=top)
    assert base is not None
    return replace(base, revision=_digest(file), name=since, why=f"compared with the project in {since}, as asked")


def _unpacked(file: Path, folder: Path) -> Path:
    if file.name.endswith((_WHEEL, ".zip")):
        with zipfile.ZipFile(file) as archive:
            archive.extractall(folder)
    else:
        with tarfile.open(file) as archive:
            archive.extractall(folder, filter="data")
    return folder


def _wheel_base(since: str, file: Path, content: Path, copy: Path, root: Path, top: Path | None) -> Base:
    names = [entry.name for entry in content.iterdir() if not entry.name.endswith(_OF_THE_WHEEL)]
    project, place = _place_of_packages(names, root, top)
    if project is None:
        packages = ", ".join(sorted(names)) or "no package"
        raise UnusableFolder(file, f"it has {packages}, which {root} does not have")
    shutil.copytree(project, copy, symlinks=True, ignore=_left_out)
    for name in names:
        if (content / name).is_dir():
            shutil.copytree(content / name, copy / place / name, dirs_exist_ok=True)
        else:
            shutil.copy2(content / name, copy / place / name)
    return Base(
        revision=_digest(file),
        name=since,
        why=f"compared with the wheel {since}, as asked",
        is_commit=False,
        doubt="a wheel has neither tests nor settings, so those of this tree ran",
        folder=copy,
        folder_of=project,
    )


def _place_of_packages(names: list[str], root: Path, top: Path | None) -> tuple[Path | None, str]:
    """The folder of the project that contains most of these packages, and where it has them."""
    parents = [root, *root.parents[:_PARENTS_TRIED]]
    if top is not None and top in parents:
        parents = parents[: parents.index(top) + 1]
    best: tuple[Path | None, str] = (None, "")
    most = 0
    for project in parents:
        for place in _PLACES:
            found = sum((project / place / name).exists() for name in names)
            if found > most:
                best, most = (project, place), found
    return best


def _left_out(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name in SKIPPED_NAMES or is_environment(Path(folder, name))]


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
