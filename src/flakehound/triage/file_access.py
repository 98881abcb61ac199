"""Whether a test used a file of the project, from what was recorded while it ran.

An import is recognised by the file that was imported. If the import failed, or if the module was imported from
another file that may be a copy of this one, the name of the module decides.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from posixpath import basename, dirname, join, normpath

from flakehound.core.outcomes import NodeId
from flakehound.triage.changes import ChangedEntity, EntityKind, EntityStatus
from flakehound.triage.dependencies import RecordedDependencies

_INSTALLED = ("/site-packages/", "/dist-packages/")
_SOURCES = (".py", ".pyc")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleUse:
    """How a test used a module."""

    reason: str
    lines: frozenset[int] | None  # executed; None: unknown, any part of the module may have been used


class FileAccess:
    """Which files of the repository a test used, and how, according to its recorded dependencies."""

    def __init__(self, dependencies: RecordedDependencies, *, test: NodeId, root: str, rootdir: str) -> None:
        self._recorded = dependencies
        self.test = test
        self.root = normpath(root)
        self.test_file = normpath(join(rootdir, test.partition("::")[0]))
        self._files = {file for file in dependencies.imported.values() if file}
        self._files |= {file for file, lines in dependencies.lines.items() if lines}
        tried = {*dependencies.attempted, *dependencies.imported}
        self._names = {prefix for name in tried for prefix in accumulate(name.split("."), "{}.{}".format)}

    def module_use(self, entity: ChangedEntity) -> ModuleUse | None:
        """How the test used a module that exists; None: it did not use it."""
        file = self.file(entity)
        doubtful = self._opened(file) or self._by_name(file)
        if doubtful:
            return ModuleUse(reason=doubtful, lines=None)
        if file in self._files:
            return self._use_of_recorded(file, entity)
        belongs = self._is_part_of_test(file)
        return ModuleUse(reason=belongs, lines=None) if belongs else None

    def reason_by_name(self, entity: ChangedEntity) -> str | None:
        """Why the test may depend on a module that was removed, by the names that it imports."""
        file = self.file(entity)
        names = sorted(self._names & set(_module_names(file)))
        if names:
            return f"it imports {names[0]}"
        return self._opened(file) or self._is_part_of_test(file)

    def reason_by_location(self, entity: ChangedEntity) -> str | None:
        """Why the test may depend on an added or removed file, whatever its content."""
        if entity.status is EntityStatus.CHANGED:
            return None
        file = self.file(entity)
        folder = dirname(file)
        if basename(file) == "__init__.py" and any(_is_below(used, folder) for used in self._files):
            return f"it imports from {self._short(folder)}"
        listed = (parent for parent in _parents(file) if parent in self._recorded.listed)
        return next((f"it lists {self._short(parent)}" for parent in listed), None)

    def reason_by_content(self, entity: ChangedEntity) -> str | None:
        """Why the test may depend on the content of a file."""
        file = self.file(entity)
        if file in self._files and entity.kind is not EntityKind.MODE:
            return "it runs it"
        if dirname(file) in self._recorded.listed:
            return f"it lists {self._short(dirname(file))}"
        return self._opened(file) or self._copy_used(file) or self._may_check_existence(file, entity.status)

    def _may_check_existence(self, file: str, status: EntityStatus) -> str | None:
        """Why the test may have checked whether the file exists, which is not recorded."""
        nearby = self._recorded.opened - self._recorded.settings
        if status is EntityStatus.REMOVED:
            nearby |= {used for used in self._files if _is_below(used, self.root)}
        if status is EntityStatus.CHANGED or dirname(file) not in set(map(dirname, nearby)):
            return None
        return f"it uses files of {self._short(dirname(file))}, and may look for this one"

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why the record may be incomplete."""
        if self.test_file in self._files:
            return self._recorded.doubts
        return (
            *self._recorded.doubts,
            f"the record lacks {self._short(self.test_file)}, the test's own file",
        )

    def is_in_test_file(self, entity: ChangedEntity) -> bool:
        """Whether the test is defined in the entity's file."""
        return self.file(entity) == self.test_file

    def file(self, entity: ChangedEntity) -> str:
        """The absolute path of the entity's file."""
        return join(self.root, entity.path)

    def _use_of_recorded(self, file: str, entity: ChangedEntity) -> ModuleUse:
        lines = self._recorded.lines.get(file, frozenset())
        if not lines or (entity.import_lines and not lines.intersection(entity.import_lines)):
            return ModuleUse(reason="its lines were not recorded since its import", lines=None)
        return ModuleUse(reason="it imports the module", lines=lines)

    def _opened(self, file: str) -> str | None:
        return "it opens the file" if file in self._recorded.opened else None

    def _is_part_of_test(self, file: str) -> str | None:
        if file == self.test_file:
            return "the test is in this file"
        if basename(file) == "conftest.py" and _is_below(self.test_file, dirname(file)):
            return "the conftest serves the test"
        return None

    def _by_name(self, file: str) -> str | None:
        for name in sorted(self._names & set(_module_names(file))):
            if name not in self._recorded.imported:
                return f"it tries to import {name}"
            if self._may_be_copy(name, file):
                return f"it imports {name} from {self._recorded.imported[name]}, which may be a copy"
        return None

    def _may_be_copy(self, name: str, file: str) -> bool:
        """Whether a module that was imported from another file can be a copy of this file."""
        origin = self._recorded.imported[name]
        if origin == file:
            return False
        if origin is None:
            return not _is_standard(name)
        installed = _installed_as(origin)
        if installed:
            return not origin.endswith(_SOURCES) or file.endswith(f"/{installed}")
        is_in_repository = _is_below(origin, self.root)
        if is_in_repository and "." not in name and origin.endswith(_SOURCES):
            return "/build/" in origin  # otherwise another file of the project with the same name
        return is_in_repository or not _is_standard(name)

    def _copy_used(self, file: str) -> str | None:
        used = (*self._recorded.opened, *self._recorded.listed)
        for path in used:
            installed = _installed_as(path)
            if installed and (file.endswith(f"/{installed}") or dirname(file).endswith(f"/{installed}")):
                return f"it reads {path}, which may be a copy"
        return None

    def _short(self, folder: str) -> str:
        return folder.removeprefix(f"{self.root}/")


def _module_names(file: str) -> Iterator[str]:
    """Every dotted name that an import can use for a file: any folder above it may be on the import path."""
    *folders, name = file.rpartition(".")[0].strip("/").split("/")
    parts = folders if name == "__init__" else [*folders, name]
    return (".".join(parts[start:]) for start in range(len(parts)))


def _is_standard(name: str) -> bool:
    return name.partition(".")[0] in sys.stdlib_module_names


def _installed_as(path: str) -> str:
    """The part of a path below the folder of installed packages; empty for a path outside of it."""
    return max((path.rpartition(folder)[2] for folder in _INSTALLED if folder in path), key=len, default="")


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/")


def _parents(path: str) -> Iterator[str]:
    while path != (path := dirname(path)):
        yield path
