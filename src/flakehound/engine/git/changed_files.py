"""Which files differ from a revision: committed, staged, unstaged and untracked changes in one.

Files that git ignores cannot be seen here, even where the tests import them: a generated `_version.py`, an
extension module built in place. Nor can what changed outside the repository, such as installed packages.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flakehound.engine.git.repository import SLOW_S, Repository

MOST_BYTES = 5_000_000  # of one version of one file
MOST_BYTES_IN_ALL = 100_000_000
_TOOLS_OWN = frozenset({".flakehound", "__pycache__", ".pytest_cache"})
_STATUSES = {"A": "added", "D": "deleted", "R": "renamed"}  # whatever else: modified
_ABSENT = "000000"
_PLAIN, _EXECUTABLE, _LINK, _SUBMODULE = "100644", "100755", "120000", "160000"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """One file in two versions."""

    path: str  # below the top of the repository, with "/"
    status: str  # added, deleted, modified, renamed
    old_path: str | None = None  # of a renamed file
    # As bytes: only Python knows how a source is encoded. None: it did not exist, or it was not read.
    before: bytes | None = None
    after: bytes | None = None
    mode_before: str = _PLAIN  # as git writes it; 120000 is a link, 160000 a submodule or a repository of its own
    mode_after: str = _PLAIN
    unread: str = ""  # why a version that exists was not read

    @property
    def is_binary(self) -> bool:
        """Whether a version is no text, told as git tells it."""
        return any(version is not None and b"\0" in version[:8000] for version in (self.before, self.after))


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What differs from a revision, or why git could not tell."""

    files: tuple[ChangedFile, ...] = ()
    problem: str = ""


def changed_files(repository: Repository, base: str, *, besides: Collection[Path] = ()) -> Changes:
    """Compare the working tree with a commit or tree.

    `besides` are files and folders that are no change: what we write ourselves.
    """
    told = repository.ask(*_DIFF, base, "--", timeout_s=SLOW_S)
    others = repository.ask("ls-files", "--others", "--exclude-standard", "-z", timeout_s=SLOW_S)
    marked = repository.ask("ls-files", "-v", "-z", timeout_s=SLOW_S)
    for answer in (told, others, marked):
        if not answer.is_good:
            return Changes(problem=f"git cannot tell what changed: {answer.problem}")
    found = {file.path: (file, blob) for file, blob in _differences(told.parts)}
    _add_untracked(found, repository.top, _without_environments(others.parts))
    _add_hidden(found, repository.top, marked.parts, base)
    passed_over = [os.path.realpath(path) for path in besides]
    chosen = [one for one in found.values() if not _is_passed_over(repository.top, one[0].path, passed_over)]
    return Changes(files=tuple(_read(repository, sorted(chosen, key=lambda one: one[0].path))))


def is_dirty(repository: Repository, *, besides: Collection[Path] = ()) -> bool:
    """Whether the working tree differs from the commit that is checked out."""
    changes = changed_files(repository, "HEAD", besides=besides)
    return bool(changes.files or changes.problem)


_DIFF = (
    *("diff", "--raw", "-z", "--no-abbrev", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-relative"),
    *("--no-color", "--ignore-submodules=none"),
)
_Found = dict[str, tuple[ChangedFile, str]]  # by path, with the object that holds the version before


def _differences(parts: Sequence[str]) -> Iterator[tuple[ChangedFile, str]]:
    waiting = iter(parts)
    for head in waiting:
        mode_before, mode_after, blob, _after, letter = head.lstrip(":").split()
        status = _STATUSES.get(letter[0], "modified")
        path = next(waiting)
        old_path = path if letter[0] in "RC" else None
        yield (
            ChangedFile(
                path=next(waiting) if old_path is not None else path,
                status=status,
                old_path=old_path if status == "renamed" else None,
                mode_before=mode_before,
                mode_after=mode_after,
            ),
            blob if mode_before not in (_ABSENT, _SUBMODULE) else "",
        )


def _without_environments(paths: Sequence[str]) -> list[str]:
    """Untracked files but for those of virtual environments, which nobody wrote."""
    environments = tuple(path[: -len("pyvenv.cfg")] for path in paths if path.endswith("/pyvenv.cfg"))
    return [path for path in paths if not path.startswith(environments)] if environments else list(paths)


def _add_untracked(found: _Found, top: Path, paths: Sequence[str]) -> None:
    for path in paths:
        # A repository inside this one is told as a folder, and only that it is there.
        mode = _SUBMODULE if path.endswith("/") else _mode_of(top / path)
        path = path.rstrip("/")
        gone, blob = found.get(path, (None, ""))
        if gone is None:
            found[path] = (ChangedFile(path=path, status="added", mode_before=_ABSENT, mode_after=mode), "")
        else:  # taken out of the index, yet still there
            found[path] = (replace(gone, status="modified", mode_after=mode), blob)


def _add_hidden(found: _Found, top: Path, marked: Sequence[str], base: str) -> None:
    """Files that git was told not to look at, but that are there all the same."""
    for line in marked:
        mark, path = line[0], line[2:]
        if (mark == "S" or mark.islower()) and path not in found and os.path.lexists(top / path):
            mode = _mode_of(top / path)
            file = ChangedFile(path=path, status="modified", mode_before=mode, mode_after=mode)
            found[path] = (file, f"{base}:{path}")


def _mode_of(path: Path) -> str:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return _ABSENT
    return _LINK if stat.S_ISLNK(mode) else _EXECUTABLE if mode & stat.S_IXUSR else _PLAIN


def _is_passed_over(top: Path, path: str, besides: Sequence[str]) -> bool:
    full = os.path.realpath(top / path)
    return not _TOOLS_OWN.isdisjoint(path.split("/")) or any(
        full == one or full.startswith(one + os.sep) for one in besides
    )


def _read(repository: Repository, chosen: Sequence[tuple[ChangedFile, str]]) -> Iterator[ChangedFile]:
    """The files with their versions; without those that turn out to be the same."""
    earlier = _contents(repository, [blob for _file, blob in chosen if blob])
    budget = MOST_BYTES_IN_ALL - sum(len(content) for content in earlier.values() if content)
    for file, blob in chosen:
        before, unread = (earlier.get(blob), "") if blob else (None, "")
        if blob and before is None:
            unread = "its earlier version is too large, or not in this clone"
        after, problem = _content_now(repository.top / file.path, file.mode_after, budget)
        budget -= len(after or b"")
        whole = replace(file, before=before, after=after, unread=unread or problem)
        if not _is_same(whole):
            yield whole


def _is_same(file: ChangedFile) -> bool:
    if file.status != "modified" or file.before is None or file.after is None:
        return False
    same = file.before.replace(b"\r\n", b"\n") == file.after.replace(b"\r\n", b"\n")
    return same and file.mode_before == file.mode_after


def _content_now(path: Path, mode: str, budget: int) -> tuple[bytes | None, str]:
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return os.fsencode(os.readlink(path)), ""
        if not stat.S_ISREG(status.st_mode):
            return None, "it is a folder" if mode == _SUBMODULE else "it is no plain file"
        if status.st_size > min(MOST_BYTES, budget):
            return None, "it is too large"
        return path.read_bytes(), ""
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        return None, str(error)


def _contents(repository: Repository, blobs: Sequence[str]) -> Mapping[str, bytes]:
    """The content of objects that are there and not too large."""
    wanted = [blob for blob in dict.fromkeys(blobs) if "\n" not in blob]
    sizes = repository.ask("cat-file", "--batch-check=%(objectsize)", timeout_s=SLOW_S, given=_lines(wanted))
    budget, small = MOST_BYTES_IN_ALL, []
    for blob, size in zip(wanted, os.fsdecode(sizes.out).split("\n"), strict=False):
        if size.isdigit() and int(size) <= min(MOST_BYTES, budget):
            budget -= int(size)
            small.append(blob)
    told = repository.ask("cat-file", "--batch=%(objectsize)", timeout_s=SLOW_S, given=_lines(small))
    return dict(zip(small, _batch(told.out), strict=False)) if told.is_good else {}


def _lines(names: Sequence[str]) -> bytes:
    return b"".join(os.fsencode(name) + b"\n" for name in names)


def _batch(out: bytes) -> Iterator[bytes]:
    place = 0
    while place < len(out):
        end = out.index(b"\n", place)
        size = int(out[place:end])
        yield out[end + 1 : end + 1 + size]
        place = end + 1 + size + 1
