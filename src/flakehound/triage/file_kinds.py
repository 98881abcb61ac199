"""The kind of a changed file by its name, and whether a configuration file differs in more than comments."""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from flakehound.triage.changes import EntityKind, FileChange, FileMode
from flakehound.triage.python_source import parse_source
from flakehound.triage.syntax_equality import is_same_syntax

_TOML = ("*.toml", "poetry.lock", "uv.lock", "pdm.lock", "Pipfile")
_INI = ("*.ini", "*.cfg", ".coveragerc")
_CONFIGURATION = (
    *("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "tox.toml", "pytest.ini", ".pytest.ini"),
    *("pytest.toml", ".pytest.toml", "hatch.toml", ".coveragerc", "MANIFEST.in", ".python-version"),
    *("requirements*.txt", "requirements*.in", "constraints*.txt", "*-requirements.txt", "Pipfile*"),
    *("poetry.lock", "uv.lock", "pdm.lock", "pylock.toml", "pylock.*.toml", "environment*.y*ml"),
    *("conda-lock*", ".env*", ".tool-versions", "*.pth", "*.egg-link", "sitecustomize.py", "usercustomize.py"),
)
# Everything in these folders is configuration: lists of packages, metadata with entry points.
_CONFIGURATION_FOLDERS = ("requirements", "*.egg-info", "*.dist-info")
_NATIVE = (
    *("*.c", "*.h", "*.cc", "*.hh", "*.cpp", "*.cxx", "*.hpp", "*.hxx", "*.cu", "*.cuh", "*.m", "*.mm", "*.asm"),
    *("*.pyx", "*.pxd", "*.pxi", "*.so", "*.so.*", "*.pyd", "*.dll", "*.dylib", "*.a", "*.lib"),
    *("*.rs", "Cargo.toml", "Cargo.lock", "*.go", "go.mod", "go.sum", "*.f", "*.for", "*.f90", "*.f95"),
    *("CMakeLists.txt", "*.cmake", "meson.build", "meson_options.txt", "meson.options"),
)
_BY_MODE = {FileMode.SUBMODULE: EntityKind.SUBMODULE, FileMode.LINK: EntityKind.LINK}


def kind_of(file: FileChange) -> EntityKind:
    """The kind of the whole file; a Python module is a MODULE."""
    for mode in (FileMode.SUBMODULE, FileMode.LINK):
        if mode in (file.mode_before, file.mode_after):
            return _BY_MODE[mode]
    path = PurePosixPath(file.path)
    in_folder = any(_matches(folder, _CONFIGURATION_FOLDERS) for folder in path.parts[:-1])
    if in_folder or _matches(path.name, _CONFIGURATION):
        return EntityKind.CONFIGURATION
    if _matches(path.name, _NATIVE):
        return EntityKind.NATIVE
    return EntityKind.MODULE if path.suffix in (".py", ".pyw") else EntityKind.DATA


def is_same_configuration(file: FileChange) -> bool:
    """Whether two versions of a configuration file differ in nothing but comments."""
    if file.before is None or file.after is None:
        return False
    name = PurePosixPath(file.path).name
    if name.endswith(".py"):
        return _same_source(file.before, file.after)
    before = _without_comments(name, file.before)
    return before is not None and before == _without_comments(name, file.after)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _same_source(before: bytes, after: bytes) -> bool:
    source_before, source_after = parse_source(before), parse_source(after)
    if source_before is None or source_after is None:
        return False
    return is_same_syntax(source_before.tree, source_after.tree)


def _without_comments(name: str, content: bytes) -> str | None:
    """The content without comments; None where we cannot recognise a comment."""
    try:
        text = content.decode()
        if _matches(name, _TOML):
            return _toml(text)
    except ValueError:  # not UTF-8, or not TOML
        return None
    return _without_comment_lines(text) if _matches(name, _INI) else None


def _toml(text: str) -> str | None:
    if sys.version_info < (3, 11):
        return None
    import tomllib

    # The representation, because 1 == True == 1.0 although they configure different things.
    return repr(tomllib.loads(text))


def _without_comment_lines(text: str) -> str:
    # All readers of ini files agree on this only: a line that starts with one of these characters is no value.
    lines = (line.rstrip() for line in text.splitlines())
    return "\n".join(line for line in lines if not line.lstrip().startswith(("#", ";")))
