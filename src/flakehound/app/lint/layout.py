"""Find pytest's rootdir, its configuration and the test files it would collect, without running it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from flakehound.core.errors import UsageError, same_command
from flakehound.lint.collect.ignored_paths import literal_list
from flakehound.lint.collect.pytest_settings import (
    CONFIG_NAMES,
    MalformedSettings,
    PytestSettings,
    options_in,
    settings_from,
)
from flakehound.lint.source.modules import Module, parse_source

# The options of pytest that can be set for one run of lint.
OPTIONS = ("python_files", "python_classes", "python_functions", "testpaths", "norecursedirs", "pythonpath")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The files of a project, as pytest sees them; paths are relative to the rootdir with forward slashes."""

    rootdir: Path
    settings: PytestSettings
    test_files: tuple[str, ...]  # in pytest's order
    other_files: tuple[str, ...]  # Python files in the same folders that are no test files by their names
    sources: tuple[str, ...]  # all Python files of the project, with the tests
    id_prefixes: tuple[str, ...] = ()  # of node ids, from targets such as `test_a.py::TestB`; (): all tests


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    path: Path
    inner: str  # "::TestB::test_c" or ""


def layout_of(targets: Sequence[str], cwd: Path, overrides: Sequence[str] = ()) -> Layout:
    """What pytest would collect in `cwd` with these targets; without targets what the project configures.

    `overrides` are pytest's options as `NAME=VALUE`, as its `-o` takes them.
    """
    parsed_targets = [_parse_target(text, cwd) for text in targets]
    rootdir, settings = _rootdir_and_settings([target.path for target in parsed_targets], cwd)
    settings = settings_from(_parse_overrides(overrides), settings)
    if not parsed_targets and cwd == rootdir:
        parsed_targets = [_Target(path=path, inner="") for path in _testpaths(settings, rootdir)]
    parsed_targets = parsed_targets or [_Target(path=cwd, inner="")]
    walk = _FolderWalk(rootdir, settings)
    tests = [(target, path) for target in parsed_targets for path in walk.test_files(target.path)]
    test_files = dict.fromkeys(path for _target, path in tests)
    others = (path for target in parsed_targets for path in walk.files(target.path) if path not in test_files)
    return Layout(
        rootdir=rootdir,
        settings=settings,
        test_files=tuple(test_files),
        other_files=tuple(dict.fromkeys(others)),
        sources=tuple(dict.fromkeys([*walk.sources(), *(path for _target, path in tests)])),
        id_prefixes=_id_prefixes(tests),
    )


def _parse_overrides(overrides: Sequence[str]) -> dict[str, str]:
    options = {}
    for override in overrides:
        name, equals, value = override.partition("=")
        if not equals or name not in OPTIONS:
            what = f"-o {override!r} is not understood; lint heeds {', '.join(OPTIONS)}"
            raise UsageError(what, remedy=same_command(override=None))
        options[name] = value
    return options


def _id_prefixes(tests: Sequence[tuple[_Target, str]]) -> tuple[str, ...]:
    if not any(target.inner for target, _path in tests):
        return ()
    return tuple(dict.fromkeys(path + target.inner for target, path in tests))


def _parse_target(text: str, cwd: Path) -> _Target:
    head, colons, inner = text.partition("::")
    path = Path(os.path.abspath(cwd / head))
    if not path.exists():
        raise UsageError(f"there is no file or folder {text!r} in {str(cwd)!r}", remedy="flakehound lint .")
    return _Target(path=path, inner=colons + inner.partition("[")[0])


def _rootdir_and_settings(paths: Sequence[Path], cwd: Path) -> tuple[Path, PytestSettings]:
    """pytest's rules: a configuration above all targets, else a setup.py, else one above a target, else none."""
    folders = [path if path.is_dir() else path.parent for path in paths]
    ancestor = Path(os.path.commonpath(folders)) if folders else cwd
    found = _find_configuration([ancestor])
    if found is None:
        for folder in (ancestor, *ancestor.parents):
            if (folder / "setup.py").is_file():
                return folder, PytestSettings()
        found = _find_configuration(folders) if folders != [ancestor] else None
    if found is not None:
        return found
    shared = Path(os.path.commonpath([cwd, ancestor]))
    return (ancestor if shared.parent == shared else shared), PytestSettings()


def _find_configuration(folders: Sequence[Path]) -> tuple[Path, PytestSettings] | None:
    folder_of_pyproject: Path | None = None
    for start in folders:
        for folder in (start, *start.parents):
            for name in CONFIG_NAMES:
                file = folder / name
                if not file.is_file():
                    continue
                settings = _settings_in(file)
                if settings is not None:
                    return folder, settings
                folder_of_pyproject = folder_of_pyproject or (folder if name == "pyproject.toml" else None)
    return (folder_of_pyproject, PytestSettings()) if folder_of_pyproject else None


def _settings_in(file: Path) -> PytestSettings | None:
    try:
        options = options_in(file.name, file.read_text(encoding="utf-8-sig"))
        return None if options is None else settings_from(options)
    except (MalformedSettings, UnicodeDecodeError) as error:
        raise UsageError(f"{str(file)!r} cannot be read: {error}", remedy="pytest --collect-only -q") from error


def _testpaths(settings: PytestSettings, rootdir: Path) -> list[Path]:
    paths: list[Path] = []
    for glob in settings.testpaths:
        plain = rootdir / glob
        matches = [plain] if plain.exists() else sorted(rootdir.glob(glob)) if not Path(glob).is_absolute() else []
        paths += [path for path in matches if path not in paths]
    return paths


class _FolderWalk:
    """Finds Python files in the folders that pytest would enter."""

    def __init__(self, rootdir: Path, settings: PytestSettings) -> None:
        self._rootdir = rootdir
        self._settings = settings
        self._conftests: dict[Path, Module | None] = {}

    def test_files(self, target: Path) -> Iterator[str]:
        """The test files below a folder; a target that is a file counts with any name."""
        if target.is_file():
            if target.suffix == ".py":
                yield self._relative(target)
            return
        for path in self._python_files(target, apply_ignores=True):
            if self._settings.patterns.is_test_file(self._relative(path)):
                yield self._relative(path)

    def files(self, folder: Path) -> Iterator[str]:
        """All Python files below a folder that pytest would look at."""
        if folder.is_dir():
            yield from map(self._relative, self._python_files(folder, apply_ignores=True))

    def sources(self) -> Iterator[str]:
        """All Python files in folders that pytest enters, also those that conftest files ignore."""
        for path in self._python_files(self._rootdir, apply_ignores=False):
            yield self._relative(path)

    def _python_files(self, folder: Path, *, apply_ignores: bool) -> Iterator[Path]:
        for entry in _entries(folder):
            path = folder / entry.name
            if apply_ignores and self._is_ignored(path):
                continue
            if entry.is_dir():
                if not self._is_skipped_folder(path) and not entry.is_symlink():
                    yield from self._python_files(path, apply_ignores=apply_ignores)
            elif entry.name.endswith(".py") and entry.is_file():
                yield path

    def _is_skipped_folder(self, folder: Path) -> bool:
        if folder.name == "__pycache__" or (folder / "pyvenv.cfg").is_file():
            return True
        return any(_matches(folder, pattern) for pattern in self._settings.skipped_folders)

    def _is_ignored(self, path: Path) -> bool:
        if any(path == self._rootdir / ignored for ignored in self._settings.ignored):
            return True
        if any(fnmatchcase(str(path), str(self._rootdir / glob)) for glob in self._settings.ignored_globs):
            return True
        return any(self._is_ignored_by_conftest(folder, path) for folder in self._folders_above(path))

    def _is_ignored_by_conftest(self, folder: Path, path: Path) -> bool:
        conftest = self._conftest(folder)
        if conftest is None:
            return False
        if any(path == Path(os.path.normpath(folder / name)) for name in literal_list(conftest, "collect_ignore")):
            return True
        globs = literal_list(conftest, "collect_ignore_glob")
        return any(fnmatchcase(str(path), str(folder / glob)) for glob in globs)

    def _folders_above(self, path: Path) -> Iterator[Path]:
        for folder in path.parents:
            yield folder
            if folder == self._rootdir:
                return

    def _conftest(self, folder: Path) -> Module | None:
        if folder not in self._conftests:
            file = folder / "conftest.py"
            conftest = parse_source(str(file), file.read_bytes()) if file.is_file() else None
            self._conftests[folder] = conftest if isinstance(conftest, Module) else None
        return self._conftests[folder]

    def _relative(self, path: Path) -> str:
        return PurePosixPath(os.path.relpath(path, self._rootdir)).as_posix()


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            entries_by_name = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []  # pytest finds no tests in a folder that cannot be read, either
    # `__init__.py` comes first, as in pytest.
    return sorted(entries_by_name, key=lambda entry: entry.name != "__init__.py")


def _matches(folder: Path, pattern: str) -> bool:
    return fnmatchcase(folder.name if "/" not in pattern else str(folder), pattern)
