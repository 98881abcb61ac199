"""A digest of the working tree of a repository: what is committed, and every change that is not."""

from __future__ import annotations

import os
from collections.abc import Collection
from hashlib import blake2b
from pathlib import Path

from flakehound.engine.file_digests import is_by_product
from flakehound.engine.git.changed_files import ChangedFile, changed_files
from flakehound.engine.git.repository import SLOW_S, Repository

MAX_IGNORED_FILES = 5000
# Python imports these although git ignores them: generated modules, extension modules built in place.
_IMPORTED = ("*.py", "*.so", "*.pyd", "*.env", "*pyvenv.cfg")


def tree_state(repository: Repository, *, excluded: Collection[Path] = ()) -> str:
    """The digest; empty if git cannot tell, or a changed file cannot be read."""
    tree = repository.git("rev-parse", "HEAD^{tree}")
    changes = changed_files(repository, "HEAD", excluded=excluded)
    ignored = _ignored_files(repository)
    if not tree.succeeded or changes.problem or ignored is None:
        return ""
    digest = blake2b(tree.out, digest_size=16)
    for file in changes.files:
        if _is_code(file):
            digest.update(repr(_identity(repository, file)).encode())
    for path in ignored:
        digest.update(repr((path, _size_and_time(repository.top / path))).encode())
    return digest.hexdigest()


def number_of_changed_files(repository: Repository, commit: str) -> int | None:
    """How many files differ from a commit; None if git cannot tell, for example in a shallow clone."""
    changes = changed_files(repository, commit) if repository.commit(commit) else None
    if changes is None or changes.problem:
        return None
    return sum(_is_code(file) for file in changes.files)


def _is_code(file: ChangedFile) -> bool:
    return file.status != "added" or not is_by_product(file.path, file.after)


def _identity(repository: Repository, file: ChangedFile) -> tuple[object, ...]:
    """What is hashed of a changed file; of one that is too large, its size and time instead of its content."""
    content = None if file.after is None else blake2b(file.after, digest_size=16).hexdigest()
    unread = _size_and_time(repository.top / file.path) if file.unread else None
    return file.path, file.old_path, file.status, file.mode_after, content, unread


def _ignored_files(repository: Repository) -> list[str] | None:
    """The ignored files that Python may import, without virtual environments; None: git failed, or too many."""
    options = ("--others", "--ignored", "--exclude-standard", "-z")
    result = repository.git("ls-files", *options, "--", *_IMPORTED, timeout_s=SLOW_S)
    paths = result.nul_separated
    environments = tuple(path.removesuffix("pyvenv.cfg") for path in paths if path.endswith("/pyvenv.cfg"))
    own = [path for path in paths if not path.startswith(environments or "\0") and not _is_installed(path)]
    return sorted(own) if result.succeeded and len(own) <= MAX_IGNORED_FILES else None


def _is_installed(path: str) -> bool:
    return not {"site-packages", "dist-packages", "node_modules", ".flakehound"}.isdisjoint(path.split("/"))


def _size_and_time(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
