"""Digests of folders: names and contents of their files, without caches and what tests usually leave."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from hashlib import blake2b
from pathlib import Path

MAX_FILES = 20_000  # in one folder; a larger one has no digest
MAX_FILE_BYTES = 1_000_000  # of larger files only size and time count
_CACHES = frozenset(
    {".flakehound", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox"}
    | {".git", ".hg", ".svn", ".eggs", "node_modules", "htmlcov", ".idea", ".vscode", ".ipynb_checkpoints"}
)
_CACHE_SUFFIXES = (".pyc", ".pyo", ".log", "~", ".swp", ".egg-info", ".dist-info")
_CACHE_PREFIXES = (".coverage", ".DS_Store")
_OWN_REPORT = b'"schema": "flakehound/'


def folder_digest(folder: Path, *, excluded: Collection[Path] = ()) -> str:
    """The digest of all files below a folder; empty if there are too many."""
    names = {path.name for path in excluded}
    digest = blake2b(digest_size=16)
    for number, path in enumerate(_files_below(folder)):
        if number >= MAX_FILES:
            return ""
        if os.path.basename(path) not in names and (content := _content_digest(path)) is not None:
            digest.update(repr((os.path.relpath(path, folder), content)).encode(errors="surrogateescape"))
    return digest.hexdigest()


def text_digest(*parts: object) -> str:
    """The digest of some values, by their representation."""
    return blake2b(repr(parts).encode(errors="surrogateescape"), digest_size=16).hexdigest()


def _files_below(folder: Path) -> Iterator[str]:
    """The files in a fixed sequence; a link to a folder is not followed."""
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _is_left_out(parent, name))
        yield from (os.path.join(parent, name) for name in sorted(files) if not _is_cache_name(name))


def _is_left_out(parent: str, name: str) -> bool:
    return _is_cache_name(name) or os.path.exists(os.path.join(parent, name, "pyvenv.cfg"))


def is_by_product(path: str, content: bytes | None) -> bool:
    """Whether an untracked file is a cache, a log or a report of ours: they change, the code does not."""
    is_own_report = content is not None and _OWN_REPORT in content[:100]
    return is_own_report or any(map(_is_cache_name, path.split("/")))


def _is_cache_name(name: str) -> bool:
    return name in _CACHES or name.endswith(_CACHE_SUFFIXES) or name.startswith(_CACHE_PREFIXES)


def _content_digest(path: str) -> str | tuple[int, int] | None:
    """Of a large file its size and time; None: a report of ours, or gone."""
    try:
        status = os.stat(path)
        if status.st_size > MAX_FILE_BYTES or not os.path.isfile(path):
            return status.st_size, status.st_mtime_ns
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return None
    return None if _OWN_REPORT in content[:100] else blake2b(content, digest_size=16).hexdigest()
