"""From a changed file to the entities a test can depend on."""

from __future__ import annotations

from dataclasses import replace

from flakehound.core.collection_patterns import Patterns
from flakehound.triage.changes import ChangedEntity, ChangedFile, How, Mode, Reach, Sort, Status
from flakehound.triage.file_kinds import same_configuration, sort_of
from flakehound.triage.module_comparison import Comparison
from flakehound.triage.python_source import parsed

_HOW = {Status.ADDED: How.ADDED, Status.DELETED: How.REMOVED, Status.MODIFIED: How.CHANGED}
_BITS = {Mode.PLAIN, Mode.EXECUTABLE}


def changed_entities(file: ChangedFile, *, patterns: Patterns | None = None) -> tuple[ChangedEntity, ...]:
    """What changed in one file; empty when only comments or layout did.

    `patterns` are those of the project's pytest configuration. A name that no import ever sees,
    the old one of a renamed file included, is an entity of its own.
    """
    if file.status is Status.RENAMED:
        return tuple(entity for half in _halves(file) for entity in changed_entities(half, patterns=patterns))
    return (*_entities(file, patterns or Patterns()), *_mode(file))


def _halves(file: ChangedFile) -> tuple[ChangedFile, ChangedFile]:
    gone = replace(file, path=file.old_path or file.path, status=Status.DELETED, after=None, old_path=None)
    return gone, replace(file, status=Status.ADDED, before=None, old_path=None)


def _entities(file: ChangedFile, patterns: Patterns) -> tuple[ChangedEntity, ...]:
    sort = sort_of(file)
    if sort in (Sort.LINK, Sort.SUBMODULE):
        return (_whole(file, sort, Reach.EVERY),)
    if file.before is not None and file.before == file.after:
        return ()
    if sort is Sort.CONFIGURATION:
        return () if same_configuration(file) else (_whole(file, sort, Reach.EVERY),)
    if sort is Sort.MODULE:
        return _of_module(file, patterns)
    return (_whole(file, sort, Reach.EVERY if sort is Sort.NATIVE else Reach.CONTENT),)


def _of_module(file: ChangedFile, patterns: Patterns) -> tuple[ChangedEntity, ...]:
    if file.status is not Status.MODIFIED:
        reach = Reach.NAME if file.status is Status.DELETED else Reach.IMPORT
        return (_whole(file, Sort.MODULE, reach),)
    before = parsed(file.before) if file.before is not None else None
    after = parsed(file.after) if file.after is not None else None
    if before is None or after is None:
        return (_whole(file, Sort.FILE, Reach.IMPORT),)
    comparison = Comparison(path=file.path, before=before, after=after, patterns=patterns)
    try:
        return tuple(comparison.entities())
    except RecursionError:
        return (_whole(file, Sort.FILE, Reach.IMPORT),)


def _whole(file: ChangedFile, sort: Sort, reach: Reach) -> ChangedEntity:
    return ChangedEntity(path=file.path, name=file.path, sort=sort, how=_HOW[file.status], reach=reach)


def _mode(file: ChangedFile) -> tuple[ChangedEntity, ...]:
    modes = {file.mode_before, file.mode_after}
    if file.status is not Status.MODIFIED or modes != _BITS:
        return ()
    return (_whole(file, Sort.MODE, Reach.CONTENT),)
