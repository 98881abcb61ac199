"""Split a changed file into the entities that a test can depend on."""

from __future__ import annotations

from dataclasses import replace

from flakehound.core.collection_patterns import CollectionPatterns
from flakehound.triage.changes import (
    ChangedEntity,
    EntityKind,
    EntityStatus,
    FileChange,
    FileMode,
    FileStatus,
    Reach,
)
from flakehound.triage.file_kinds import is_same_configuration, kind_of
from flakehound.triage.module_comparison import ModuleComparison
from flakehound.triage.python_source import parse_source

_STATUSES = {
    FileStatus.ADDED: EntityStatus.ADDED,
    FileStatus.DELETED: EntityStatus.REMOVED,
    FileStatus.MODIFIED: EntityStatus.CHANGED,
}
_REGULAR_MODES = {FileMode.PLAIN, FileMode.EXECUTABLE}


def changed_entities(file: FileChange, *, patterns: CollectionPatterns | None = None) -> tuple[ChangedEntity, ...]:
    """The changed entities of one file; empty if only comments or layout changed.

    `patterns` are those of the project's pytest configuration. A renamed file counts as one removed and one added
    file.
    """
    if file.status is FileStatus.RENAMED:
        return tuple(
            entity for part in _removed_and_added(file) for entity in changed_entities(part, patterns=patterns)
        )
    return (*_entities(file, patterns or CollectionPatterns()), *_mode_change(file))


def _removed_and_added(file: FileChange) -> tuple[FileChange, FileChange]:
    removed = replace(file, path=file.old_path or file.path, status=FileStatus.DELETED, after=None, old_path=None)
    return removed, replace(file, status=FileStatus.ADDED, before=None, old_path=None)


def _entities(file: FileChange, patterns: CollectionPatterns) -> tuple[ChangedEntity, ...]:
    kind = kind_of(file)
    if kind in (EntityKind.LINK, EntityKind.SUBMODULE):
        return (_whole_file(file, kind, Reach.EVERY),)
    if file.before is not None and file.before == file.after:
        return ()
    if kind is EntityKind.CONFIGURATION:
        return () if is_same_configuration(file) else (_whole_file(file, kind, Reach.EVERY),)
    if kind is EntityKind.MODULE:
        return _module_entities(file, patterns)
    return (_whole_file(file, kind, Reach.EVERY if kind is EntityKind.NATIVE else Reach.CONTENT),)


def _module_entities(file: FileChange, patterns: CollectionPatterns) -> tuple[ChangedEntity, ...]:
    if file.status is not FileStatus.MODIFIED:
        reach = Reach.NAME if file.status is FileStatus.DELETED else Reach.IMPORT
        return (_whole_file(file, EntityKind.MODULE, reach),)
    before = parse_source(file.before) if file.before is not None else None
    after = parse_source(file.after) if file.after is not None else None
    if before is None or after is None:
        return (_whole_file(file, EntityKind.FILE, Reach.IMPORT),)
    comparison = ModuleComparison(path=file.path, before=before, after=after, patterns=patterns)
    try:
        return tuple(comparison.entities())
    except RecursionError:
        return (_whole_file(file, EntityKind.FILE, Reach.IMPORT),)


def _whole_file(file: FileChange, kind: EntityKind, reach: Reach) -> ChangedEntity:
    return ChangedEntity(path=file.path, name=file.path, kind=kind, status=_STATUSES[file.status], reach=reach)


def _mode_change(file: FileChange) -> tuple[ChangedEntity, ...]:
    modes = {file.mode_before, file.mode_after}
    if file.status is not FileStatus.MODIFIED or modes != _REGULAR_MODES:
        return ()
    return (_whole_file(file, EntityKind.MODE, Reach.CONTENT),)
