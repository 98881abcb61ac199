"""A change: files in two versions, and the entities in them that a test can depend on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

MODULE_LEVEL = "<module>"


class FileStatus(Enum):
    """How a file changed."""

    ADDED = "added"
    DELETED = "deleted"
    MODIFIED = "modified"
    RENAMED = "renamed"


class FileMode(Enum):
    """The mode of a file in git."""

    PLAIN = "100644"
    EXECUTABLE = "100755"
    LINK = "120000"
    SUBMODULE = "160000"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One file in two versions, as bytes: Python determines the encoding of a source itself."""

    path: str  # below the top of the repository, with "/"
    status: FileStatus
    before: bytes | None = None  # None: it did not exist, or it cannot be read
    after: bytes | None = None
    old_path: str | None = None  # of a renamed file
    mode_before: FileMode = FileMode.PLAIN
    mode_after: FileMode = FileMode.PLAIN


class EntityKind(Enum):
    """What a changed entity is."""

    FUNCTION = "function"  # a method is one too
    CLASS = "class"  # the statements of its body, its bases, its decorators
    MODULE = "module"  # statements outside every function and class, or an added or removed module
    TEST = "test"  # an added, removed or redefined test that nothing else refers to
    FILE = "file"  # Python that one of the versions cannot parse
    DATA = "data"
    MODE = "mode"  # the executable bit
    CONFIGURATION = "configuration"
    NATIVE = "native"
    LINK = "link"
    SUBMODULE = "submodule"


class EntityStatus(Enum):
    """How an entity changed."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class Reach(Enum):
    """Which tests a changed entity affects: what a test must have done to depend on it."""

    BODY = "body"  # executed a line of it
    IMPORT = "import"  # imported its module
    TEST = "test"  # it is the test itself, or executed a line of it
    NAME = "name"  # tried an import that could mean the removed module
    CONTENT = "content"  # opened the file, or listed its folder
    EVERY = "every"  # nothing; every test depends on it


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedEntity:
    """The smallest part of a change that a test is compared with."""

    path: str  # as in FileChange
    name: str  # "Cart.total", "<module>"; the path where the file is the entity
    kind: EntityKind
    status: EntityStatus
    reach: Reach
    body_lines: tuple[range, ...] = ()  # in the version after; if one of them was executed, the entity ran
    import_lines: range = range(0)  # in the version after; importing the module executes one of them

    def __str__(self) -> str:
        if self.name == self.path:
            return self.path
        return f"{self.path}: {'module level' if self.name == MODULE_LEVEL else self.name}"
