"""Successive releases of a project in place of its history, where that is not at hand.

What only a release has is left out of the comparison: metadata that the packager wrote, and the number of the
release where a line says that it is the version. In a history both would be changes of their own, if any.
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
_TOOLS_OWN = frozenset({".git", "__pycache__", ".pytest_cache"})
_VERSION = re.compile(rb"version", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    content: bytes
    mode: FileMode


_Tree = Mapping[str, _File]  # by path, with "/"


@dataclass(slots=True)
class ReleaseHistory:
    """Releases laid out one after the other in a temporary folder."""

    revisions: Sequence[Revision]
    top: Path
    target: Target
    _read: dict[str, _Tree] = field(default_factory=dict)  # of the two that are compared

    def check_out(self, revision: Revision) -> None:
        """Unpack a release; nothing of another one stays."""
        shutil.rmtree(self.top, ignore_errors=True)
        for path, file in self._tree(revision).items():
            place = self.top / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.content)
            if file.mode is FileMode.EXECUTABLE:
                place.chmod(0o755)
        self.target = replace(self.target, env={**self.target.env, "PYTHONPATH": self._import_path()})

    def changes(self, older: Revision, newer: Revision) -> list[FileChange]:
        """What differs between two releases beside their number."""
        before, after = self._tree(older), self._tree(newer)
        versions = (_version_of(older), _version_of(newer))
        paths = sorted(path for path in {*before, *after} if not _is_metadata(path))
        found = (_compared(path, before.get(path), after.get(path), versions) for path in paths)
        return [file for file in found if file is not None]

    def is_foreign(self, file: str) -> bool:
        """Never: there is no tree of the user's."""
        return False

    def _tree(self, revision: Revision) -> _Tree:
        if revision.key not in self._read:
            while len(self._read) > 1:
                del self._read[next(iter(self._read))]
            self._read[revision.key] = dict(_files_of(Path(revision.key)))
        return self._read[revision.key]

    def _import_path(self) -> str:
        source = [str(self.top / "src")] if (self.top / "src").is_dir() else []
        return os.pathsep.join([*source, str(self.top), *filter(None, [os.environ.get("PYTHONPATH", "")])])


@contextmanager
def open_releases(folder: Path, target: Target, *, revisions: int) -> Iterator[ReleaseHistory]:
    """The releases of a folder: archives of sources, or sources unpacked, each named after its version."""
    found = _sorted(_named_in(folder))
    if len(found) < 2:
        raise UsageError(
            f"{str(folder)!r} holds {'one release' if found else 'no release'}, and a change needs two",
            remedy=same_command(releases="FOLDER-WITH-RELEASES"),
        )
    with tempfile.TemporaryDirectory(prefix=own_prefix(), ignore_cleanup_errors=True) as place:
        top = Path(os.path.realpath(place)) / "tree"
        history = ReleaseHistory(
            revisions=found[: revisions + 1],
            top=top,
            target=replace(target, cwd=top),
        )
        history.check_out(history.revisions[0])
        yield history


def _named_in(folder: Path) -> list[Revision]:
    try:
        entries = sorted(folder.iterdir())
    except OSError as problem:
        raise UsageError(
            f"cannot read {str(folder)!r}: {problem.strerror}",
            remedy=same_command(releases="FOLDER-WITH-RELEASES"),
        ) from problem
    archives = {name: entry for entry in entries if (name := _without_ending(entry.name)) != entry.name}
    folders = {entry.name: entry for entry in entries if entry.is_dir() and not entry.name.startswith(".")}
    return [Revision(name=name, key=str(entry)) for name, entry in {**folders, **archives}.items()]


def _sorted(found: Sequence[Revision]) -> list[Revision]:
    """Newest first."""
    from packaging.version import InvalidVersion, Version

    def age(revision: Revision) -> tuple[Version, str]:
        try:
            return Version(_version_of(revision)), revision.name
        except InvalidVersion:
            return Version("0"), revision.name

    return sorted(found, key=age, reverse=True)


def _version_of(revision: Revision) -> str:
    return revision.name.rpartition("-")[2]


def _without_ending(name: str) -> str:
    return next((name[: -len(end)] for end in _ARCHIVES if name.endswith(end)), name)


def _files_of(source: Path) -> Iterator[tuple[str, _File]]:
    if source.is_dir():
        found = _files_of_folder(source)
    elif source.name.endswith(".zip"):
        found = _files_of_zip(source)
    else:
        found = _files_of_tar(source)
    try:
        yield from found
    except (OSError, tarfile.TarError, zipfile.BadZipFile) as problem:
        raise NoHistory(f"{str(source)!r} cannot be unpacked: {problem}") from problem


def _files_of_folder(folder: Path) -> Iterator[tuple[str, _File]]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - _TOOLS_OWN)
        for path in (Path(place) / name for name in names):
            if path.is_file():
                executable = os.access(path, os.X_OK)
                yield path.relative_to(folder).as_posix(), _file(path.read_bytes(), executable)


def _files_of_tar(archive: Path) -> Iterator[tuple[str, _File]]:
    with tarfile.open(archive) as opened:
        for member in opened:
            inner = opened.extractfile(member) if member.isfile() else None
            path = _below_top(member.name)
            if inner is not None and path:
                yield path, _file(inner.read(), bool(member.mode & 0o100))


def _files_of_zip(archive: Path) -> Iterator[tuple[str, _File]]:
    with zipfile.ZipFile(archive) as opened:
        for member in opened.infolist():
            path = _below_top(member.filename)
            if path and not member.is_dir():
                yield path, _file(opened.read(member), False)


def _file(content: bytes, executable: bool) -> _File:
    return _File(content=content, mode=FileMode.EXECUTABLE if executable else FileMode.PLAIN)


def _below_top(name: str) -> str:
    """The path without the release's own folder; empty for one that leads elsewhere."""
    parts = PurePosixPath(name).parts
    is_inside = not name.startswith("/") and ".." not in parts
    return "/".join(parts[1:]) if is_inside else ""


def _is_metadata(path: str) -> bool:
    parts = path.split("/")
    return parts[-1] == "PKG-INFO" or any(part.endswith(".egg-info") for part in parts[:-1])


def _compared(
    path: str, before: _File | None, after: _File | None, versions: tuple[str, str]
) -> FileChange | None:
    if before is None or after is None:
        return FileChange(
            path=path,
            status=FileStatus.ADDED if before is None else FileStatus.DELETED,
            before=before.content if before else None,
            after=after.content if after else None,
            mode_before=before.mode if before else FileMode.PLAIN,
            mode_after=after.mode if after else FileMode.PLAIN,
        )
    then = before.content if before == after else with_version(before.content, *versions)
    if then == after.content and before.mode is after.mode:
        # Only the number differs. Lines stand where they stood.
        return None
    return FileChange(
        path=path,
        status=FileStatus.MODIFIED,
        before=then,
        after=after.content,
        mode_before=before.mode,
        mode_after=after.mode,
    )


def with_version(content: bytes, old: str, new: str) -> bytes:
    """A file as it would be with another number of release, in lines that speak of a version."""
    lines = content.splitlines(keepends=True)
    return b"".join(_renumbered(line, old, new) if _VERSION.search(line) else line for line in lines)


def _renumbered(line: bytes, old: str, new: str) -> bytes:
    for between in (".", ", ", ","):
        one, two = (text.replace(".", between).encode() for text in (old, new))
        # No number of a release has a backslash, which would be read as a reference.
        line = re.sub(rb"(?<![\w.])" + re.escape(one) + rb"(?!\w|\.\d)", two, line)
    return line
