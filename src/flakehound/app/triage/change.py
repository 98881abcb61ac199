"""What the user changed since the base, as entities that a test can depend on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from flakehound.app.sessions.plain_runs import DIRTY, PENDING_FOLDER
from flakehound.app.triage.failing_run import FailingRun
from flakehound.core.errors import UsageError
from flakehound.engine.git.archive_bases import archive_base
from flakehound.engine.git.changed_files import ChangedFile, FileChanges, changed_files
from flakehound.engine.git.folder_bases import files_changed_since, folder_base
from flakehound.engine.git.repository import NoRepository, Repository, open_repository
from flakehound.engine.git.revisions import Base, base_revision
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
    paths: tuple[str, ...] = ()  # of all changed files, below the top of the repository; old names too
    renames: Mapping[str, str] = field(default_factory=dict)  # the old path of each renamed file, by its new path
    # The base and the latest commits before it that have the files of the change as they are at the base: an older
    # one may have a bug that was fixed since, and that the change brings back.
    comparable: frozenset[str] = frozenset()
    commit: str | None = None  # the checked-out one; with "-dirty" when files differ from it
    branch: str = ""
    uncommitted: int = 0  # files that differ from the checked-out commit
    problem: str = ""  # why the change is not known; part of a sentence
    notes: tuple[str, ...] = ()

    @property
    def top(self) -> Path | None:
        """The folder that the paths of the change are relative to; None if the change is not known."""
        if self.repository is not None:
            return self.repository.top
        return self.base.folder_of if self.base else None

    @property
    def base_doubt(self) -> str:
        """Why the base may not lack the whole change; part of a sentence, empty: it lacks it."""
        return self.base.doubt if self.base else ""

    @property
    def since_why(self) -> str:
        """What was compared: the base, where it comes from, what the change includes, and doubts about it."""
        if self.base is None:
            return self.problem
        files = f"{self.uncommitted} uncommitted file{'' if self.uncommitted == 1 else 's'}"
        included = f", with {files}" if self.uncommitted and not self.base.folder else ""
        doubt = f"; perhaps not the whole change: {self.base_doubt}" if self.base_doubt else ""
        return f"{self.base.why}{included}{doubt}"

    @property
    def base_name(self) -> str:
        """The base as the user knows it."""
        return self.base.name if self.base else "the base"


def change_of(run: FailingRun) -> Change:
    """Read the change from git. A problem prevents only the comparison with the change, not the reruns."""
    opened = open_repository(run.rootdir)
    repository = opened if isinstance(opened, Repository) else None
    own_files = _own_files(run)
    try:
        base = _base(run, repository, own_files)
    except UsageError as error:
        problem = f"not compared with a change: {error.what} (try: {error.remedy})"
        return Change(repository=repository, problem=problem)
    if base is None:
        assert isinstance(opened, NoRepository)
        remedy = f" (try: {opened.remedy})" if opened.remedy else ""
        return Change(problem=f"not compared with a change: {opened.why}{remedy}")
    changes = _changes(repository, base, own_files)
    uncommitted = changed_files(repository, "HEAD", excluded=own_files) if repository else FileChanges()
    known = Change(repository=repository, base=base)
    top = known.top or run.rootdir
    files = tuple(map(as_file_change, changes.files))
    paths = [top / file.path for file in files]
    known = replace(
        known,
        entities=tuple(entity for file in files for entity in changed_entities(file)),
        python_files=tuple(path for path in paths if path.suffix in _SOURCES),
        data_files=tuple(path for path in paths if path.suffix not in _SOURCES and path.is_file()),
        paths=tuple(dict.fromkeys(path for file in files for path in (file.path, file.old_path) if path)),
        renames={file.path: file.old_path for file in files if file.old_path},
        uncommitted=len(uncommitted.files),
        problem=changes.problem,
        notes=base.notes,
    )
    return known if repository is None else _in_repository(known, repository, base, uncommitted)


def _base(run: FailingRun, repository: Repository | None, own_files: Collection[Path]) -> Base | None:
    """The base; None if there is neither a repository nor a folder."""
    since, top = run.options.since, repository.top if repository else None
    # What git knows as a revision is one, even if there is a folder of that name.
    if since is not None and not (repository and repository.commit(since)):
        base = folder_base(since, cwd=run.cwd, rootdir=run.rootdir, top=top) or archive_base(
            since, cwd=run.cwd, rootdir=run.rootdir, top=top
        )
        if base is not None:
            return base
    return base_revision(repository, since=since, excluded=own_files) if repository else None


def _changes(repository: Repository | None, base: Base, own_files: Collection[Path]) -> FileChanges:
    if base.folder is not None and base.folder_of is not None:
        top = repository.top if repository else base.folder_of
        return files_changed_since(base, top=top, excluded=own_files)
    assert repository is not None
    return changed_files(repository, base.revision, excluded=own_files)


def _in_repository(change: Change, repository: Repository, base: Base, uncommitted: FileChanges) -> Change:
    is_clean = not uncommitted.files and not uncommitted.problem
    return replace(
        change,
        comparable=_comparable_commits(change, repository, base),
        commit=repository.head + ("" if is_clean else DIRTY),
        branch=repository.branch(),
    )


def _comparable_commits(change: Change, repository: Repository, base: Base) -> frozenset[str]:
    if not base.is_commit or change.problem:
        return frozenset()
    return repository.ancestors_with_same_files(base.revision, change.paths)


def _own_files(run: FailingRun) -> Collection[Path]:
    """Files that flakehound itself writes, which are not part of the user's change."""
    store = run.options.store
    own = [
        store,
        store.with_name(PENDING_FOLDER),
        *(store.with_name(store.name + end) for end in ("-wal", "-shm")),
    ]
    return [*own, *([run.options.json_file] if run.options.json_file else [])]


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
