"""Whether a recorded run at the base says something about the base: whose files it used, and which state.

`problem` means that the run proves nothing. The other facts mean that it proves something about the base together
with files or services that the change may have written or may run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flakehound.engine.git.ignored_files import is_of_tool
from flakehound.engine.git.untracked_files import UntrackedFiles
from flakehound.engine.git.worktree import BaseTree
from flakehound.engine.processes.launch import Target, inside_folder

_INSTALLED = re.compile(r".*/(site-packages|dist-packages)/")
_STANDARD = re.compile(r".*/lib/python3\.\d+/")  # an environment may be in the user's tree
_SERVICE = re.compile(r"it talks to a service at (.+), which may run the project's code")
_SYSTEM_FOLDERS = ("/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/", "/etc/", "/proc/", "/sys/", "/dev/")
_SHARED_MEMORY = ("/dev/shm/", "/dev/mqueue/")  # files of users all the same
# What an installation puts into an environment; a test may write a file beside these.
_INSTALLED_FOLDERS = ("bin", "include", "lib", "lib64", "libexec", "share", "ssl", "conda-meta", "pyvenv.cfg")
_MODULE_SUFFIX = re.compile(r"(\.[^./]*)?\.(py|so|pyd)$")  # with the tag of an extension module


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseValidity:
    """What a recorded run at the base used, beside the files of the base."""

    problem: str = ""  # why the run proves nothing about the base; the other fields are empty then
    ignored_files: tuple[str, ...] = ()  # that exist in the user's tree, below its top; opened, imported or listed
    missing: tuple[str, ...] = ()  # in the user's tree or beside it and not in git, so that a checkout lacks it
    outside_files: tuple[str, ...] = ()  # of no tree, environment or system, which the change may have written
    services: tuple[str, ...] = ()  # on this machine, to which it talked
    doubts: tuple[str, ...] = ()  # why the recording may be incomplete

    def joined(self, other: BaseValidity) -> BaseValidity:
        """What two runs used together."""

        def both(one: tuple[str, ...], two: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(dict.fromkeys((*one, *two)))

        return BaseValidity(
            problem=self.problem or other.problem,
            ignored_files=both(self.ignored_files, other.ignored_files),
            missing=both(self.missing, other.missing),
            outside_files=both(self.outside_files, other.outside_files),
            services=both(self.services, other.services),
            doubts=both(self.doubts, other.doubts),
        )


@dataclass(frozen=True, slots=True)
class InterpreterFolders:
    """The folders of an interpreter and its environment."""

    prefixes: tuple[str, ...] = ()  # each with a slash at its end

    @classmethod
    def of(cls, target: Target) -> InterpreterFolders:
        """The environment of the suite, and the Python from which it was made."""
        folders = [Path(path).parent.parent for path in (target.python, os.path.realpath(target.python))]
        # A link such as ~/bin/python must not make the whole home folder an environment.
        real = [Path(os.path.realpath(folder)) for folder in folders if _is_prefix(folder)]
        return cls(tuple(os.path.join(folder, "") for folder in dict.fromkeys(real) if folder != Path("/")))

    def hold(self, file: str) -> bool:
        """Whether a file belongs to Python, to its environment, or to an installed package."""
        is_below = any(_is_installed_below(prefix, file) for prefix in self.prefixes)
        return is_below or bool(_INSTALLED.search(file) or _STANDARD.search(file))


def _is_installed_below(prefix: str, file: str) -> bool:
    return file.startswith(prefix) and file[len(prefix) :].partition("/")[0] in ("", *_INSTALLED_FOLDERS)


def _is_prefix(folder: Path) -> bool:
    return (folder / "pyvenv.cfg").exists() or any(folder.glob("lib/python3*"))


def validity_of(
    tree: BaseTree, target: Target, dependencies: Mapping[str, Any] | None, files: UntrackedFiles
) -> BaseValidity:
    """Judge a run by its recorded dependencies; `files` are those of the user's tree that a checkout lacks."""
    folders = InterpreterFolders.of(target)
    problem = _reason_if_invalid(tree, dependencies, folders)
    if problem or dependencies is None:
        return BaseValidity(problem=problem)
    doubts: list[str] = list(dependencies.get("doubts", ()))
    services = [match[1] for doubt in doubts if (match := _SERVICE.fullmatch(doubt))]
    return BaseValidity(
        ignored_files=tuple(sorted(_used_ignored_files(tree, dependencies, files.ignored))),
        missing=tuple(_missing_files(dependencies, files)),
        outside_files=tuple(sorted(_outside_files(tree, dependencies, folders))),
        services=tuple(services),
        doubts=tuple(doubt for doubt in doubts if not _SERVICE.fullmatch(doubt)),
    )


def _reason_if_invalid(tree: BaseTree, dependencies: Mapping[str, Any] | None, folders: InterpreterFolders) -> str:
    """Why a run proves nothing about the base: it used the user's changed files, or may have used them."""
    if dependencies is None:
        return "the test took its process with it, so it cannot be told whose code it ran"
    if "imported" not in dependencies:
        return "; ".join(dependencies.get("doubts", ())) or "nothing was recorded"
    for name, file in sorted(dependencies["imported"].items()):
        installed = _INSTALLED.search(file or "")
        if installed and tree.holds_module(file[installed.end() :]):
            return f"the tests import the installed copy of {name}, {file}"
        if file and tree.is_in_user_tree(file) and not folders.hold(file):
            return f"the installed package points to the changed tree: {name} comes from {file}"
    for file in (*dependencies["opened"], *dependencies.get("looked_at", ())):
        if tree.is_in_user_tree(file) and not folders.hold(file):
            return f"the test reads a file of the changed tree, {file}"
    for folder in dependencies.get("listed", ()):
        if tree.is_in_user_tree(os.path.join(folder, "")) and not folders.hold(os.path.join(folder, "")):
            return f"the test lists a folder of the changed tree, {folder}"
    return ""


def _missing_files(dependencies: Mapping[str, Any], files: UntrackedFiles) -> Iterator[str]:
    """What the run used or would have used, and a checkout lacks although no commit has added it."""
    used = {path for kind in ("opened", "looked_at", "listed") for path in dependencies.get(kind, ())}
    for path in sorted(used):
        missing = files.missing_at_base(path)
        if missing:
            yield missing
        elif files.is_of_git(path):
            yield ".git"
    imported: Mapping[str, str | None] = dependencies["imported"]
    absent = {name for name in dependencies.get("attempted", ()) if not imported.get(name)}
    yield from (file for file in files.not_checked_out if _is_one_of(file, absent))


def missing_on_import_path(import_path: Iterable[str], files: UntrackedFiles) -> Iterator[str]:
    """Folders on the import path that only the user's tree has, or that are only beside it."""
    yield from (
        missing for entry in import_path if os.path.isabs(entry) and (missing := files.missing_at_base(entry))
    )


def reason_by_import_path(tree: BaseTree, target: Target, import_path: Iterable[str]) -> str:
    """Why a collected session proves nothing about the base: it searches the user's changed tree for modules."""
    folders = InterpreterFolders.of(target)
    for entry in import_path:
        folder = os.path.join(os.path.realpath(entry), "")
        if os.path.isabs(entry) and tree.is_in_user_tree(folder) and not folders.hold(folder):
            return f"the tests search the changed tree for modules: {entry} is on their import path"
    return ""


def _used_ignored_files(tree: BaseTree, dependencies: Mapping[str, Any], ignored: Sequence[str]) -> Iterator[str]:
    """Ignored files that the run opened, imported or saw in a listing, or would have if they existed there."""
    imported: Mapping[str, str | None] = dependencies["imported"]
    looked_at = dependencies.get("looked_at", ())
    used = _below(tree, {*dependencies["opened"], *looked_at, *(file for file in imported.values() if file)})
    listed = _below(tree, dependencies["listed"])
    # A module that was found elsewhere, in the standard library or in a package, is not one of these files.
    missing = {name for name in dependencies.get("attempted", ()) if not imported.get(name)}
    for file in ignored:
        listing = {os.path.dirname(file), _listing_folder(tree, file)}
        is_listed = not listed.isdisjoint(listing) and not is_of_tool(file)
        if file in used or is_listed or _is_one_of(file, missing):
            yield file


def _listing_folder(tree: BaseTree, file: str) -> str:
    """The innermost folder of the base whose listing shows that an ignored file exists."""
    folder = os.path.dirname(file)
    while folder and not tree.holds_folder(folder):
        folder = os.path.dirname(folder)
    return folder


def _is_one_of(file: str, modules: set[str]) -> bool:
    """Whether a file would be imported under one of these names from some folder."""
    stem = _MODULE_SUFFIX.sub("", file)
    if stem == file:
        return False
    parts = stem.removesuffix("/__init__").split("/")
    return any(".".join(parts[start:]) in modules for start in range(len(parts)))


def _below(tree: BaseTree, paths: Iterable[str]) -> set[str]:
    """The paths below the tree, relative to its top; the top itself is empty."""
    top = str(tree.top)
    return {path[len(top) + 1 :] for path in paths if path == top or path.startswith(top + os.sep)}


def _outside_files(tree: BaseTree, dependencies: Mapping[str, Any], folders: InterpreterFolders) -> Iterator[str]:
    """Files and listed folders outside of all trees; an attempt to open a file that does not exist is no use."""
    ours = (os.path.join(tree.folder, ""), os.path.join(inside_folder(), ""))
    listed = {os.path.join(folder, "") for folder in dependencies["listed"]}
    looked_at = [path for path in dependencies.get("looked_at", ()) if not os.path.isdir(path)]
    for path in {*dependencies["opened"], *listed, *looked_at}:
        of_trees = path.startswith(ours) or path.startswith(os.path.join(tree.user_top, ""))
        is_of_system = path.startswith(_SYSTEM_FOLDERS) and not path.startswith(_SHARED_MEMORY)
        is_known = of_trees or is_of_system or folders.hold(path)
        if not is_known and path != "/" and os.path.exists(path):
            yield path
