"""Determine the state of the code that a suite runs: its project, installed packages, interpreter and tests."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote, urlparse

from flakehound import __version__
from flakehound.core.code_state import CodeState
from flakehound.engine.file_digests import folder_digest, text_digest
from flakehound.engine.git.repository import Repository, open_repository
from flakehound.engine.git.tree_state import tree_state
from flakehound.engine.processes.handshake import Handshake
from flakehound.engine.processes.launch import Target

MAX_OTHER_FOLDERS = 40  # code outside of the project; with more of them the state is not known
_INSTALLED = ("site-packages", "dist-packages")
_VARIABLES = (
    *("PYTHONHASHSEED", "PYTHONOPTIMIZE", "PYTHONWARNINGS", "PYTHONDEVMODE", "PYTHONUTF8"),
    *("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"),
)


def sources_state(folder: Path, store_path: Path) -> str:
    """The digest of the project that contains a folder: of its repository, or of the folder without git.

    Determined before anything runs, because tests may leave files behind. Empty: not known.
    """
    return _folder_state(folder, _own_files(store_path))


def code_state(
    target: Target, handshake: Handshake, sources: str, *, test_limit_s: float | None = None
) -> CodeState:
    """The whole state of the code, once the suite is collected; the limits of a test decide about it as well."""
    return CodeState(
        sources=sources,
        packages=_packages_state(target, handshake),
        interpreter=text_digest(
            __version__,
            handshake.python,
            handshake.pytest,
            target.pytest_args,
            target.keep_plugins,
            target.memory_bytes,
            test_limit_s,
            sorted(handshake.switched_off),
            [os.environ.get(name) for name in _VARIABLES],
        ),
        tests=text_digest(handshake.suite.order),
    )


def _own_files(store_path: Path) -> list[Path]:
    """The files of our store; the folder `.flakehound` never counts anyway."""
    return [Path(f"{store_path.absolute()}{suffix}") for suffix in ("", "-wal", "-shm", "-journal")]


def _folder_state(folder: Path, excluded: Collection[Path] = ()) -> str:
    repository = open_repository(folder)
    if isinstance(repository, Repository):
        return tree_state(repository, excluded=excluded)
    return folder_digest(folder, excluded=excluded)


def _packages_state(target: Target, handshake: Handshake) -> str:
    """Empty: some code outside of the project could not be read."""
    installed = [folder for folder in handshake.import_path if _is_installed(folder)]
    distributions = [record for folder in installed for record in _distributions(Path(folder))]
    others = _other_folders(target, handshake, installed)
    states = [_folder_state(folder) if _is_source(folder) else folder_digest(folder) for folder in others]
    if len(others) > MAX_OTHER_FOLDERS or not all(states):
        return ""
    return text_digest(distributions, states)


def _is_installed(path: str) -> bool:
    return not set(_INSTALLED).isdisjoint(Path(path).parts)


def _is_source(folder: Path) -> bool:
    return not _is_installed(str(folder))


def _distributions(folder: Path) -> Iterator[tuple[str, str]]:
    """The installed distributions, each with a digest of its list of files and their digests."""
    for name in sorted(_names_in(folder)):
        if name.endswith((".dist-info", ".egg-info", ".pth", ".egg-link")):
            path = folder / name
            candidates = (path / "RECORD", path / "METADATA", path / "PKG-INFO", path)
            yield name, next((text_digest(found) for file in candidates if (found := _read(file))), "")


def _other_folders(target: Target, handshake: Handshake, installed: Iterable[str]) -> list[Path]:
    """Folders with code that neither the project nor the list of distributions covers, each once."""
    project = _root_of(target.cwd)
    found = [Path(handshake.rootdir), *_collected_folders(handshake)]
    found += [Path(entry) for entry in handshake.import_path if not _is_installed(entry)]
    found += [folder for site in installed for folder in _editable_folders(Path(site))]
    others: dict[Path, None] = {}
    for folder in dict.fromkeys(Path(os.path.realpath(path)) for path in found):
        if folder.is_dir() and not _is_standard_library(folder):
            root = _root_of(folder) if _is_source(folder) else folder
            is_below = root == folder and _is_source(folder) and folder.is_relative_to(project)
            if root != project and not (is_below and not (project / ".git").exists()):
                others[root] = None
    return list(others)


def _root_of(folder: Path) -> Path:
    """The repository of a folder; the folder itself without git, or if git ignores it."""
    repository = open_repository(folder)
    return repository.top if isinstance(repository, Repository) else Path(os.path.realpath(folder))


def _is_standard_library(folder: Path) -> bool:
    return folder.name == "lib-dynload" or (folder / "os.py").exists()


def _collected_folders(handshake: Handshake) -> Iterator[Path]:
    """Where the tests are: of installed code (`--pyargs`) the package, else the folder."""
    for folder in map(Path, handshake.folders):
        places = [place for place, part in enumerate(folder.parts) if part in _INSTALLED]
        yield Path(*folder.parts[: places[-1] + 2]) if places else folder


def _editable_folders(site: Path) -> Iterator[Path]:
    """The folders of distributions that were installed with `pip install --editable`."""
    for name in _names_in(site):
        content = _read(site / name / "direct_url.json") if name.endswith(".dist-info") else b""
        try:
            source = json.loads(content) if content else {}
            if source.get("dir_info", {}).get("editable"):
                yield Path(unquote(urlparse(source["url"]).path))
        except (ValueError, KeyError, AttributeError):
            continue  # not written by an installer that follows the standard


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""
