"""Find pytest's rootdir, its configuration and the test files it would collect, without running it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from flakehound.core.errors import UsageError
from flakehound.lint.collect.ignored_paths import literal_list
from flakehound.lint.collect.pytest_settings import (
    CONFIG_NAMES,
    MalformedSettings,
    PytestSettings,
    options_in,
    settings_from,
)
from flakehound.lint.source.modules import Module, parse_source


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A project on disk, as pytest sees it; paths are relative to the rootdir with forward slashes."""

    rootdir: Path
    settings: PytestSettings
    test_files: tuple[str, ...]  # in pytest's order
    sources: tuple[str, ...]  # every Python file of the project, tests too
    wanted: tuple[str, ...] = ()  # starts of node ids, from targets such as `test_a.py::TestB`; empty: all


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    path: Path
    inner: str  # "::TestB::test_c" or ""


def layout_of(targets: Sequence[str], cwd: Path) -> Layout:
    """What pytest would collect when started in `cwd` with these targets (none: what the project says)."""
    named = [_target(text, cwd) for text in targets]
    rootdir, settings = _configured([one.path for one in named], cwd)
    if not named and cwd == rootdir:
        named = [_Target(path=path, inner="") for path in _testpaths(settings, rootdir)]
    named = named or [_Target(path=cwd, inner="")]
    walk = _Walk(rootdir, settings)
    tests = [(one, path) for one in named for path in walk.test_files(one.path)]
    return Layout(
        rootdir=rootdir,
        settings=settings,
        test_files=tuple(dict.fromkeys(path for _one, path in tests)),
        sources=tuple(dict.fromkeys([*walk.sources(), *(path for _one, path in tests)])),
        wanted=_wanted(tests),
    )


def _wanted(tests: Sequence[tuple[_Target, str]]) -> tuple[str, ...]:
    if not any(one.inner for one, _path in tests):
        return ()
    return tuple(dict.fromkeys(path + one.inner for one, path in tests))


def _target(text: str, cwd: Path) -> _Target:
    head, colons, inner = text.partition("::")
    path = Path(os.path.abspath(cwd / head))
    if not path.exists():
        raise UsageError(f"there is no file or folder {text!r} in {str(cwd)!r}", remedy="flakehound lint .")
    return _Target(path=path, inner=colons + inner.partition("[")[0])


def _configured(paths: Sequence[Path], cwd: Path) -> tuple[Path, PytestSettings]:
    """pytest's rootdir rules: a configuration above all targets, a setup.py, one above each, else their folder."""
    folders = [path if path.is_dir() else path.parent for path in paths]
    ancestor = Path(os.path.commonpath(folders)) if folders else cwd
    found = _located([ancestor])
    if found is None:
        for folder in (ancestor, *ancestor.parents):
            if (folder / "setup.py").is_file():
                return folder, PytestSettings()
        found = _located(folders) if folders != [ancestor] else None
    if found is not None:
        return found
    shared = Path(os.path.commonpath([cwd, ancestor]))
    return (ancestor if shared.parent == shared else shared), PytestSettings()


def _located(folders: Sequence[Path]) -> tuple[Path, PytestSettings] | None:
    silent: Path | None = None
    for start in folders:
        for folder in (start, *start.parents):
            for name in CONFIG_NAMES:
                file = folder / name
                if not file.is_file():
                    continue
                settings = _settings_in(file)
                if settings is not None:
                    return folder, settings
                silent = silent or (folder if name == "pyproject.toml" else None)
    return (silent, PytestSettings()) if silent else None


def _settings_in(file: Path) -> PytestSettings | None:
    try:
        options = options_in(file.name, file.read_text(encoding="utf-8-sig"))
        return None if options is None else settings_from(options)
    except (MalformedSettings, UnicodeDecodeError) as fault:
        raise UsageError(f"{str(file)!r} cannot be read: {fault}", remedy="pytest --collect-only -q") from fault


def _testpaths(settings: PytestSettings, rootdir: Path) -> list[Path]:
    found: list[Path] = []
    for glob in settings.testpaths:
        plain = rootdir / glob
        matches = [plain] if plain.exists() else sorted(rootdir.glob(glob)) if not Path(glob).is_absolute() else []
        found += [path for path in matches if path not in found]
    return found


class _Walk:
    """The folders under the rootdir that pytest would enter."""

    def __init__(self, rootdir: Path, settings: PytestSettings) -> None:
        self._rootdir = rootdir
        self._settings = settings
        self._conftests: dict[Path, Module | None] = {}

    def test_files(self, target: Path) -> Iterator[str]:
        """The test files under a folder; a file is taken whatever its name."""
        if target.is_file():
            if target.suffix == ".py":
                yield self._relative(target)
            return
        for path in self._python_files(target, pruned=True):
            if self._settings.patterns.is_test_file(self._relative(path)):
                yield self._relative(path)

    def sources(self) -> Iterator[str]:
        """Every Python file that is not in a folder pytest never enters; what conftests leave out is here."""
        for path in self._python_files(self._rootdir, pruned=False):
            yield self._relative(path)

    def _python_files(self, folder: Path, *, pruned: bool) -> Iterator[Path]:
        for entry in _entries(folder):
            path = folder / entry.name
            if pruned and self._is_left_out(path):
                continue
            if entry.is_dir():
                if not self._is_not_entered(path) and not entry.is_symlink():
                    yield from self._python_files(path, pruned=pruned)
            elif entry.name.endswith(".py") and entry.is_file():
                yield path

    def _is_not_entered(self, folder: Path) -> bool:
        if folder.name == "__pycache__" or (folder / "pyvenv.cfg").is_file():
            return True
        return any(_matches(folder, pattern) for pattern in self._settings.skipped_folders)

    def _is_left_out(self, path: Path) -> bool:
        if any(path == self._rootdir / one for one in self._settings.ignored):
            return True
        if any(fnmatchcase(str(path), str(self._rootdir / one)) for one in self._settings.ignored_globs):
            return True
        return any(self._leaves_out(folder, path) for folder in self._above(path))

    def _leaves_out(self, folder: Path, path: Path) -> bool:
        conftest = self._conftest(folder)
        if conftest is None:
            return False
        if any(path == Path(os.path.normpath(folder / one)) for one in literal_list(conftest, "collect_ignore")):
            return True
        globs = literal_list(conftest, "collect_ignore_glob")
        return any(fnmatchcase(str(path), str(folder / one)) for one in globs)

    def _above(self, path: Path) -> Iterator[Path]:
        for folder in path.parents:
            yield folder
            if folder == self._rootdir:
                return

    def _conftest(self, folder: Path) -> Module | None:
        if folder not in self._conftests:
            file = folder / "conftest.py"
            found = parse_source(str(file), file.read_bytes()) if file.is_file() else None
            self._conftests[folder] = found if isinstance(found, Module) else None
        return self._conftests[folder]

    def _relative(self, path: Path) -> str:
        return PurePosixPath(os.path.relpath(path, self._rootdir)).as_posix()


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []  # pytest finds no tests in a folder that cannot be read, either
    # A package's own file comes first, as in pytest.
    return sorted(found, key=lambda entry: entry.name != "__init__.py")


def _matches(folder: Path, pattern: str) -> bool:
    return fnmatchcase(folder.name if "/" not in pattern else str(folder), pattern)
