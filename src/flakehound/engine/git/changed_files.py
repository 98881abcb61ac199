"""Which files differ from a revision: committed, staged, unstaged and untracked changes together.

Files that git ignores are not included, even if the tests import them: a generated `_version.py`, an extension
module built in place. Neither are changes outside the repository, such as those of installed packages.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flakehound.engine.git.repository import SLOW_S, Repository

MAX_FILE_BYTES = 5_000_000  # of one version of one file
MAX_TOTAL_BYTES = 100_000_000
_TOOL_FOLDERS = frozenset({".flakehound", "__pycache__", ".pytest_cache"})
_STATUSES = {"A": "added", "D": "deleted", "R": "renamed"}  # all others: modified
_NOT_IN_CLONE = "its earlier version is not in this clone"  # a partial clone whose server does not answer
_ABSENT = "000000"
_REGULAR, _EXECUTABLE, _LINK, _SUBMODULE = "100644", "100755", "120000", "160000"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """One file with its content before and after the change."""

    path: str  # below the top of the repository, with "/"
    status: str  # added, deleted, modified, renamed
    old_path: str | None = None  # of a renamed file
    # Bytes, because the encoding of a source is decided by Python. None: it did not exist, or was not read.
    before: bytes | None = None
    after: bytes | None = None
    mode_before: str = _REGULAR  # as in git; 120000: a link, 160000: a submodule or a repository of its own
    mode_after: str = _REGULAR
    unread: str = ""  # why a version that exists was not read

    @property
    def is_binary(self) -> bool:
        """Whether a version is binary, by the criterion that git uses."""
        return any(version is not None and b"\0" in version[:8000] for version in (self.before, self.after))


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChanges:
    """What differs from a revision, or why git could not determine it."""

    files: tuple[ChangedFile, ...] = ()
    problem: str = ""


def changed_files(repository: Repository, base: str, *, excluded: Collection[Path] = ()) -> FileChanges:
    """Compare the working tree with a commit or tree.

    `excluded` are files and folders that do not count, such as those that we write ourselves.
    """
    diff = repository.git(*_DIFF, base, "--", timeout_s=SLOW_S)
    untracked = repository.git("ls-files", "--others", "--exclude-standard", "-z", timeout_s=SLOW_S)
    flagged = repository.git("ls-files", "-v", "-z", timeout_s=SLOW_S)
    for answer in (diff, untracked, flagged):
        if not answer.succeeded:
            return FileChanges(problem=f"git cannot tell what changed: {answer.problem}")
    changes = {file.path: (file, blob) for file, blob in _tracked_changes(diff.nul_separated)}
    _add_untracked(changes, repository.top, _without_environments(untracked.nul_separated))
    _add_flagged(changes, repository.top, flagged.nul_separated, base)
    excluded_paths = [os.path.realpath(path) for path in excluded]
    included = [
        change for change in changes.values() if not _is_excluded(repository.top, change[0].path, excluded_paths)
    ]
    files = tuple(_with_content(repository, sorted(included, key=lambda change: change[0].path)))
    return FileChanges(files=files, problem=_problem_of(files))


def _problem_of(files: Sequence[ChangedFile]) -> str:
    lost = [file.path for file in files if file.unread == _NOT_IN_CLONE]
    more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
    return f"git cannot read the earlier version of {lost[0]}{more}: this clone lacks it" if lost else ""


def is_dirty(repository: Repository, *, excluded: Collection[Path] = ()) -> bool:
    """Whether the working tree differs from the commit that is checked out."""
    changes = changed_files(repository, "HEAD", excluded=excluded)
    return bool(changes.files or changes.problem)


_DIFF = (
    *("diff", "--raw", "-z", "--no-abbrev", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-relative"),
    *("--no-color", "--ignore-submodules=none"),
)
# Each with the name of the git object that contains the version before.
_ChangesByPath = dict[str, tuple[ChangedFile, str]]


def _tracked_changes(parts: Sequence[str]) -> Iterator[tuple[ChangedFile, str]]:
    items = iter(parts)
    for head in items:
        mode_before, mode_after, blob, _after, letter = head.lstrip(":").split()
        status = _STATUSES.get(letter[0], "modified")
        path = next(items)
        old_path = path if letter[0] in "RC" else None
        yield (
            ChangedFile(
                path=next(items) if old_path is not None else path,
                status=status,
                old_path=old_path if status == "renamed" else None,
                mode_before=mode_before,
                mode_after=mode_after,
            ),
            blob if mode_before not in (_ABSENT, _SUBMODULE) else "",
        )


def _without_environments(paths: Sequence[str]) -> list[str]:
    """Untracked files without those of virtual environments."""
    environments = tuple(path[: -len("pyvenv.cfg")] for path in paths if path.endswith("/pyvenv.cfg"))
    return [path for path in paths if not path.startswith(environments)] if environments else list(paths)


def _add_untracked(changes: _ChangesByPath, top: Path, paths: Sequence[str]) -> None:
    for path in paths:
        # A nested repository is listed as a folder, without its files.
        mode = _SUBMODULE if path.endswith("/") else mode_of(top / path)
        path = path.rstrip("/")
        tracked, blob = changes.get(path, (None, ""))
        if tracked is None:
            changes[path] = (ChangedFile(path=path, status="added", mode_before=_ABSENT, mode_after=mode), "")
        else:  # removed from the index, but still in the working tree
            changes[path] = (replace(tracked, status="modified", mode_after=mode), blob)


def _add_flagged(changes: _ChangesByPath, top: Path, flagged: Sequence[str], base: str) -> None:
    """Add files flagged as assume-unchanged or skip-worktree that exist in the working tree."""
    for line in flagged:
        flag, path = line[0], line[2:]
        if (flag == "S" or flag.islower()) and path not in changes and os.path.lexists(top / path):
            mode = mode_of(top / path)
            file = ChangedFile(path=path, status="modified", mode_before=mode, mode_after=mode)
            changes[path] = (file, f"{base}:{path}")


def mode_of(path: Path) -> str:
    """The mode of a file as git writes it."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return _ABSENT
    return _LINK if stat.S_ISLNK(mode) else _EXECUTABLE if mode & stat.S_IXUSR else _REGULAR


def _is_excluded(top: Path, path: str, excluded: Sequence[str]) -> bool:
    full = os.path.realpath(top / path)
    return not _TOOL_FOLDERS.isdisjoint(path.split("/")) or any(
        full == entry or full.startswith(entry + os.sep) for entry in excluded
    )


def _with_content(repository: Repository, changes: Sequence[tuple[ChangedFile, str]]) -> Iterator[ChangedFile]:
    """The changes with the content of both versions, without those whose content is equal."""
    before_by_blob = _contents(repository, [blob for _file, blob in changes if blob])
    budget = MAX_TOTAL_BYTES - sum(len(content) for content in before_by_blob.values() if content)
    for file, blob in changes:
        before, unread = before_by_blob.get(blob), ""
        if blob and before is None:
            unread = "its earlier version is too large" if blob in before_by_blob else _NOT_IN_CLONE
        after, problem = content_now(repository.top / file.path, file.mode_after, budget)
        budget -= len(after or b"")
        complete = replace(file, before=before, after=after, unread=unread or problem)
        if not _is_unchanged(complete):
            yield complete


def _is_unchanged(file: ChangedFile) -> bool:
    if file.status != "modified" or file.before is None or file.after is None:
        return False
    equal_text = file.before.replace(b"\r\n", b"\n") == file.after.replace(b"\r\n", b"\n")
    return equal_text and file.mode_before == file.mode_after


def content_now(path: Path, mode: str, budget: int) -> tuple[bytes | None, str]:
    """The content of a file, or None and why it was not read; at most `budget` bytes."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return os.fsencode(os.readlink(path)), ""
        if not stat.S_ISREG(status.st_mode):
            return None, "it is a folder" if mode == _SUBMODULE else "it is no plain file"
        if status.st_size > min(MAX_FILE_BYTES, budget):
            return None, "it is too large"
        return path.read_bytes(), ""
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        return None, str(error)


def _contents(repository: Repository, blobs: Sequence[str]) -> Mapping[str, bytes | None]:
    """The content of git objects that can be read; None for those that are too large."""
    names = [blob for blob in dict.fromkeys(blobs) if "\n" not in blob]
    sizes = repository.git("cat-file", "--batch-check=%(objectsize)", timeout_s=SLOW_S, stdin=_lines(names))
    budget, readable, found = MAX_TOTAL_BYTES, [], dict[str, bytes | None]()
    for blob, size in zip(names, os.fsdecode(sizes.out).split("\n"), strict=False):
        if size.isdigit() and int(size) <= min(MAX_FILE_BYTES, budget):
            budget -= int(size)
            readable.append(blob)
        elif size.isdigit() or (sizes.succeeded and blob.partition(":")[2]):
            found[blob] = None  # too large; or a path that the base does not have
    contents = repository.git("cat-file", "--batch=%(objectsize)", timeout_s=SLOW_S, stdin=_lines(readable))
    if contents.succeeded:
        found.update(zip(readable, _batch_contents(contents.out), strict=False))
    return found


def _lines(names: Sequence[str]) -> bytes:
    return b"".join(os.fsencode(name) + b"\n" for name in names)


def _batch_contents(out: bytes) -> Iterator[bytes]:
    position = 0
    while position < len(out):
        end = out.index(b"\n", position)
        size = int(out[position:end])
        yield out[end + 1 : end + 1 + size]
        position = end + 1 + size + 1
