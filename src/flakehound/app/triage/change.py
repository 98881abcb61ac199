"""What the user changed since the base, as entities that a test can depend on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from flakehound.app.sessions.plain_runs import DIRTY, PENDING_FOLDER
from flakehound.app.triage.failing_run import FailingRun
from flakehound.engine.git.changed_files import ChangedFile, changed_files, is_dirty
from flakehound.engine.git.repository import NoRepository, Repository, open_repository
from flakehound.engine.git.revisions import Base, NoSuchRevision, base_revision
from flakehound.triage.changes import ChangedEntity, FileChange, FileMode, FileStatus
from flakehound.triage.entities import changed_entities

_SOURCES = (".py", ".pyw")
_MODES = {mode.value: mode for mode in FileMode}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The user's change, or why it is not known."""

    repository: Repository | None = None
    base: Base | None = None
    entities: tuple[ChangedEntity, ...] = ()
    python_files: tuple[Path, ...] = ()  # that changed
    data_files: tuple[Path, ...] = ()  # that changed and still exist
    commits: frozenset[str] = frozenset()  # since the base
    commit: str | None = None  # the checked-out one; with "-dirty" when files differ from it
    branch: str = ""
    problem: str = ""  # why the change is not known; part of a sentence
    notes: tuple[str, ...] = ()

    @property
    def versioned(self) -> bool:
        """Whether there is a repository at all."""
        return self.repository is not None

    @property
    def base_name(self) -> str:
        """The base as the user knows it."""
        return self.base.name if self.base else "the base"


def change_of(run: FailingRun) -> Change:
    """Read the change from git. A problem prevents only the comparison with the change, not the reruns."""
    repository = open_repository(run.rootdir)
    if isinstance(repository, NoRepository):
        remedy = f" (try: {repository.remedy})" if repository.remedy else ""
        return Change(problem=f"not compared with a change: {repository.why}{remedy}")
    own_files = _own_files(run)
    try:
        base = base_revision(repository, since=run.options.since, excluded=own_files)
    except NoSuchRevision as error:
        problem = f"not compared with a change: {error.what} (try: {error.remedy})"
        return Change(repository=repository, problem=problem)
    changes = changed_files(repository, base.revision, excluded=own_files)
    files = tuple(map(as_file_change, changes.files))
    paths = [repository.top / file.path for file in files]
    return Change(
        repository=repository,
        base=base,
        entities=tuple(entity for file in files for entity in changed_entities(file)),
        python_files=tuple(path for path in paths if path.suffix in _SOURCES),
        data_files=tuple(path for path in paths if path.suffix not in _SOURCES and path.is_file()),
        commits=_commits_of_change(repository, base),
        commit=repository.head + (DIRTY if is_dirty(repository, excluded=own_files) else ""),
        branch=repository.branch(),
        problem=changes.problem,
        notes=base.notes,
    )


def _own_files(run: FailingRun) -> Collection[Path]:
    """Files that flakehound itself writes, which are not part of the user's change."""
    store = run.options.store
    own = [
        store,
        store.with_name(PENDING_FOLDER),
        *(store.with_name(store.name + end) for end in ("-wal", "-shm")),
    ]
    return [*own, *([run.options.json_file] if run.options.json_file else [])]


def _commits_of_change(repository: Repository, base: Base) -> frozenset[str]:
    return repository.commits_since(base.revision) if base.is_commit else frozenset({repository.head})


def as_file_change(file: ChangedFile) -> FileChange:
    """Convert a changed file from git's description to that of the triage room."""
    return FileChange(
        path=file.path,
        status=FileStatus(file.status),
        before=file.before,
        after=file.after,
        old_path=file.old_path,
        mode_before=_MODES.get(file.mode_before, FileMode.PLAIN),
        mode_after=_MODES.get(file.mode_after, FileMode.PLAIN),
    )
