"""Which files, functions and classes pytest collects as tests, by the project's configuration."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionPatterns:
    """pytest's options `python_files`, `python_functions` and `python_classes`, with pytest's defaults."""

    files: tuple[str, ...] = ("test_*.py", "*_test.py")
    functions: tuple[str, ...] = ("test",)
    classes: tuple[str, ...] = ("Test",)

    def is_test_file(self, path: str) -> bool:
        """Whether pytest looks for tests in the file."""
        name = PurePosixPath(path).name
        return any(fnmatchcase(name, glob) or fnmatchcase(path, glob) for glob in self.files)

    def is_test_function(self, name: str) -> bool:
        """Whether a function of this name is a test."""
        return _matches_any(name, self.functions)

    def is_test_class(self, name: str) -> bool:
        """Whether methods of a class of this name are tests."""
        return _matches_any(name, self.classes)


def _matches_any(name: str, patterns: tuple[str, ...]) -> bool:
    # pytest accepts a prefix as well as a glob.
    globs = [pattern for pattern in patterns if any(character in pattern for character in "*?[")]
    return name.startswith(patterns) or any(fnmatchcase(name, glob) for glob in globs)
