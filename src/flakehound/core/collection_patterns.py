"""What pytest collects as a test, as the project's configuration says."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True, kw_only=True)
class Patterns:
    """`python_files`, `python_functions` and `python_classes`; the defaults are pytest's."""

    files: tuple[str, ...] = ("test_*.py", "*_test.py")
    functions: tuple[str, ...] = ("test",)
    classes: tuple[str, ...] = ("Test",)

    def is_test_file(self, path: str) -> bool:
        """Whether pytest looks for tests in the file."""
        name = PurePosixPath(path).name
        return any(fnmatchcase(name, glob) or fnmatchcase(path, glob) for glob in self.files)

    def is_test_function(self, name: str) -> bool:
        """Whether a function of this name is a test."""
        return _is_one_of(name, self.functions)

    def is_test_class(self, name: str) -> bool:
        """Whether methods of a class of this name are tests."""
        return _is_one_of(name, self.classes)


def _is_one_of(name: str, patterns: tuple[str, ...]) -> bool:
    globs = [pattern for pattern in patterns if any(sign in pattern for sign in "*?[")]
    return name.startswith(patterns) or any(fnmatchcase(name, glob) for glob in globs)
