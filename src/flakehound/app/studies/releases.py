"""Successive releases of a project, studied in place of its commits if there is no repository.

Two differences between releases are left out: metadata that the packager wrote, and the version number in lines
that contain the word "version". In a history of commits, both would be separate changes or none.
"""

from __future__ import annotations

import os
import re
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from flakehound.app.studies.revisions import NoHistory, Revision
from flakehound.core.errors import UsageError, same_command
from flakehound.engine.processes.launch import Target
from flakehound.engine.temporary_folders import own_prefix
from flakehound.triage.changes import FileChange, FileMode, FileStatus

_ARCHIVES = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip")
_FOLDERS_OF_TOOLS = frozenset({".git", "__pycache__", ".pytest_cache"})
_VERSION_WORD = re.compile(rb"version", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    content: bytes
    mode: FileMode


_Tree = Mapping[str, _File]  # by path, separated by "/"


@dataclass(slots=True)
class ReleaseHistory:
    """Releases that are unpacked into the same temporary folder, one after the other."""

    revisions: Sequence[Revision]
    top: Path
    target: Target
    _trees: dict[str, _Tree] = field(default_factory=dict)  # of the last two releases

    def check_out(self, revision: Revision) -> None:
        """Unpack a release in place of the last one."""
        shutil.rmtree(self.top, ignore_errors=True)
        for relative_path, file in self._tree(revision).items():
            path = self.top / relative_path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.content)
            if file.mode is FileMode.EXECUTABLE:
                path.chmod(0o755)
        self.target = replace(self.target, env={**self.target.env, "PYTHONPATH": self._import_path()})

    def changes(self, older: Revision, newer: Revision) -> list[FileChange]:
        """The files that differ between two releases by more than the version number."""
        before, after = self._tree(older), self._tree(newer)
        versions = (_version_of(older), _version_of(newer))
        paths = sorted(path for path in {*before, *after} if not _is_metadata(path))
        changes = (_file_change(path, before.get(path), after.get(path), versions) for path in paths)
        return [change for change in changes if change is not None]

    def is_in_user_tree(self, file: str) -> bool:
        """Always False: releases do not belong to a tree of the user."""
        return False

    def _tree(self, revision: Revision) -> _Tree:
        if revision.key not in self._trees:
            while len(self._trees) > 1:
                del self._trees[next(iter(self._trees))]
            self._trees[revision.key] = dict(_files_of(Path(revision.key)))
        return self._trees[revision.key]

    def _import_path(self) -> str:
        source = [str(self.top / "src")] if (self.top / "src").is_dir() else []
        return os.pathsep.join([*source, str(self.top), *filter(None, [os.environ.get("PYTHONPATH", "")])])


@contextmanager
def open_releases(folder: Path, target: Target, *, revisions: int) -> Iterator[ReleaseHistory]:
    """The releases in a folder: source archives, or unpacked sources, with their version in the name."""
    releases = _newest_first(_releases_in(folder))
    if len(releases) < 2:
        raise UsageError(
            f"{str(folder)!r} contains {'one release' if releases else 'no release'}, and a change needs two",
            remedy=same_command(releases="FOLDER-WITH-RELEASES"),
        )
    with tempfile.TemporaryDirectory(prefix=own_prefix(), ignore_cleanup_errors=True) as temporary_folder:
        top = Path(os.path.realpath(temporary_folder)) / "tree"
        history = ReleaseHistory(
            revisions=releases[: revisions + 1],
            top=top,
            target=replace(target, cwd=top),
        )
        history.check_out(history.revisions[0])
        yield history


def _releases_in(folder: Path) -> list[Revision]:
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise UsageError(
            f"cannot read {str(folder)!r}: {error.strerror}",
            remedy=same_command(releases="FOLDER-WITH-RELEASES"),
        ) from error
    archives = {name: entry for entry in entries if (name := _without_suffix(entry.name)) != entry.name}
    folders = {entry.name: entry for entry in entries if entry.is_dir() and not entry.name.startswith(".")}
    return [Revision(name=name, key=str(entry)) for name, entry in {**folders, **archives}.items()]


def _newest_first(releases: Sequence[Revision]) -> list[Revision]:
    from packaging.version import InvalidVersion, Version

    def sort_key(release: Revision) -> tuple[Version, str]:
        try:
            return Version(_version_of(release)), release.name
        except InvalidVersion:
            return Version("0"), release.name

    return sorted(releases, key=sort_key, reverse=True)


def _version_of(revision: Revision) -> str:
    return revision.name.rpartition("-")[2]


def _without_suffix(name: str) -> str:
    return next((name[: -len(end)] for end in _ARCHIVES if name.endswith(end)), name)


def _files_of(source: Path) -> Iterator[tuple[str, _File]]:
    """The path and content of each file of a release."""
    if source.is_dir():
        files = _files_of_folder(source)
    elif source.name.endswith(".zip"):
        files = _files_of_zip(source)
    else:
        files = _files_of_tar(source)
    try:
        yield from files
    except (OSError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise NoHistory(f"{str(source)!r} cannot be unpacked: {error}") from error


def _files_of_folder(folder: Path) -> Iterator[tuple[str, _File]]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - _FOLDERS_OF_TOOLS)
        for path in (Path(parent) / name for name in names):
            if path.is_file():
                executable = os.access(path, os.X_OK)
                yield path.relative_to(folder).as_posix(), _file(path.read_bytes(), executable)


def _files_of_tar(archive: Path) -> Iterator[tuple[str, _File]]:
    with tarfile.open(archive) as opened:
        for member in opened:
            stream = opened.extractfile(member) if member.isfile() else None
            path = _path_in_release(member.name)
            if stream is not None and path:
                yield path, _file(stream.read(), bool(member.mode & 0o100))


def _files_of_zip(archive: Path) -> Iterator[tuple[str, _File]]:
    with zipfile.ZipFile(archive) as opened:
        for member in opened.infolist():
            path = _path_in_release(member.filename)
            if path and not member.is_dir():
                yield path, _file(opened.read(member), False)


def _file(content: bytes, executable: bool) -> _File:
    return _File(content=content, mode=FileMode.EXECUTABLE if executable else FileMode.PLAIN)


def _path_in_release(name: str) -> str:
    """The path of an archive member without the top folder; empty if the path leads out of it."""
    parts = PurePosixPath(name).parts
    is_inside = not name.startswith("/") and ".." not in parts
    return "/".join(parts[1:]) if is_inside else ""


def _is_metadata(path: str) -> bool:
    parts = path.split("/")
    return parts[-1] == "PKG-INFO" or any(part.endswith(".egg-info") for part in parts[:-1])


def _file_change(
    path: str, before: _File | None, after: _File | None, versions: tuple[str, str]
) -> FileChange | None:
    """The change of a file; None if at most the version number differs."""
    if before is None or after is None:
        return FileChange(
            path=path,
            status=FileStatus.ADDED if before is None else FileStatus.DELETED,
            before=before.content if before else None,
            after=after.content if after else None,
            mode_before=before.mode if before else FileMode.PLAIN,
            mode_after=after.mode if after else FileMode.PLAIN,
        )
    # The replaced version number does not move any line.
    old_content = before.content if before == after else with_version(before.content, *versions)
    if old_content == after.content and before.mode is after.mode:
        return None
    return FileChange(
        path=path,
        status=FileStatus.MODIFIED,
        before=old_content,
        after=after.content,
        mode_before=before.mode,
        mode_after=after.mode,
    )


def with_version(content: bytes, old: str, new: str) -> bytes:
    """Replace a version number in the lines of a file that contain the word "version"."""
    lines = content.splitlines(keepends=True)
    return b"".join(_with_version(line, old, new) if _VERSION_WORD.search(line) else line for line in lines)


def _with_version(line: bytes, old: str, new: str) -> bytes:
    for separator in (".", ", ", ","):
        old_number, new_number = (version.replace(".", separator).encode() for version in (old, new))
        # A version contains no backslash, which re.sub would read as a reference.
        line = re.sub(rb"(?<![\w.])" + re.escape(old_number) + rb"(?!\w|\.\d)", new_number, line)
    return line
