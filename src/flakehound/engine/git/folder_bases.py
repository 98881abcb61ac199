"""A base that is a folder: the project without the change, for machines without git or without its history."""

from __future__ import annotations

import filecmp
import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from flakehound.core.errors import UsageError
from flakehound.engine.file_digests import text_digest
from flakehound.engine.git.changed_files import MAX_TOTAL_BYTES, ChangedFile, FileChanges, content_now, mode_of
from flakehound.engine.git.revisions import Base
from flakehound.engine.git.worktree import is_environment

MAX_FILES = 200_000  # of one tree
_ABSENT = "000000"
_PARENTS_TRIED = 3  # above pytest's root folder, where no repository says how far the project reaches
SKIPPED_NAMES = frozenset(
    {".git", ".hg", ".svn", ".flakehound", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"}
    | {".tox", ".nox", "node_modules"}
)


class UnusableFolder(UsageError):
    """The user named a folder that cannot be the base."""

    def __init__(self, folder: Path, why: str) -> None:
        super().__init__(
            f"{str(folder)!r} cannot be the base: {why}", remedy="pytest --flakehound --flakehound-since=HEAD~1"
        )


def folder_base(since: str, *, cwd: Path, rootdir: Path, top: Path | None = None) -> Base | None:
    """The base if `since` is a folder, else None; `top` is the top of the repository, None: there is none."""
    folder = Path(os.path.realpath(cwd / since))
    if not since or not folder.is_dir():
        return None
    root = Path(os.path.realpath(rootdir))
    if root.is_relative_to(folder):
        raise UnusableFolder(folder, "it contains the tests that were run")
    return Base(
        revision=text_digest(str(folder)),
        name=since,
        why=f"compared with the folder {since}, as asked",
        is_commit=False,
        folder=folder,
        folder_of=_counterpart(folder, root, top),
    )


def files_changed_since(base: Base, *, top: Path, excluded: Collection[Path] = ()) -> FileChanges:
    """Compare the user's tree with a base that is a folder, by content; paths are relative to `top`."""
    assert base.folder is not None
    assert base.folder_of is not None
    skipped = {os.path.realpath(path) for path in (*excluded, base.folder)}
    try:
        before = dict(_files_below(base.folder, set()))
        after = dict(_files_below(base.folder_of, skipped))
    except OSError as error:
        return FileChanges(problem=f"the folder {base.name} cannot be compared: {error}")
    if max(len(before), len(after)) > MAX_FILES:
        return FileChanges(
            problem=f"the folder {base.name} cannot be compared: it has more than {MAX_FILES} files"
        )
    changes: list[ChangedFile] = []
    budget = MAX_TOTAL_BYTES
    for path in sorted({*before, *after}):
        if path in before and path in after and _is_same(before[path], after[path]):
            continue
        change = _change(path, before.get(path), after.get(path), budget)
        budget -= len(change.before or b"") + len(change.after or b"")
        shown = os.path.relpath(base.folder_of / path, top).replace(os.sep, "/")
        changes.append(replace(change, path=shown))
    return FileChanges(files=tuple(changes))


def _counterpart(folder: Path, root: Path, top: Path | None) -> Path:
    """The folder of the user's tree that has most names in common with the base."""
    parents = list(root.parents)
    limit = len(parents[: parents.index(top) + 1]) if top in parents else 0 if top == root else _PARENTS_TRIED
    names = set(os.listdir(folder)) - SKIPPED_NAMES
    candidates = [root, *(parent for parent in parents[:limit] if parent != parent.parent)]
    return max(candidates, key=lambda candidate: _likeness(candidate, names))


def _likeness(candidate: Path, names: set[str]) -> float:
    try:
        own = set(os.listdir(candidate)) - SKIPPED_NAMES
    except OSError:
        return 0.0
    return len(own & names) / len(own | names) if own | names else 0.0


def _files_below(folder: Path, skipped: Collection[str]) -> Iterator[tuple[str, Path]]:
    """The files below a folder with their relative paths; links are files, whatever they point to."""
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if (
                    entry.name in SKIPPED_NAMES
                    or entry.name.endswith(".pyc")
                    or os.path.realpath(entry) in skipped
                ):
                    continue
                path = Path(entry.path)
                if not entry.is_dir(follow_symlinks=False):
                    yield path.relative_to(folder).as_posix(), path
                elif not is_environment(path):
                    waiting.append(path)


def _is_same(before: Path, after: Path) -> bool:
    try:
        if mode_of(before) != mode_of(after):
            return False
        if before.is_symlink():
            return os.readlink(before) == os.readlink(after)
        if not stat.S_ISREG(os.lstat(after).st_mode):
            return not stat.S_ISREG(os.lstat(before).st_mode)
        return filecmp.cmp(before, after, shallow=False)
    except OSError:  # unreadable: it counts as changed
        return False


def _change(path: str, before: Path | None, after: Path | None, budget: int) -> ChangedFile:
    old, new = (mode_of(version) if version else _ABSENT for version in (before, after))
    old_content, old_problem = content_now(before, old, budget) if before else (None, "")
    new_content, new_problem = content_now(after, new, budget - len(old_content or b"")) if after else (None, "")
    return ChangedFile(
        path=path,
        status="added" if before is None else "deleted" if after is None else "modified",
        before=old_content,
        after=new_content,
        mode_before=old,
        mode_after=new,
        unread=old_problem or new_problem,
    )
