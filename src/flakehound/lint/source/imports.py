"""Which file of the project an import means."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePosixPath

_USUAL_ROOTS = ("src", "lib", "python")


class ModulePaths:
    """The project's files, found by the names under which they can be imported.

    A file is known by its name from the rootdir, from the usual source folders, from the given import roots,
    and from the folder that pytest puts on `sys.path` for it: the first above it that is no package.
    """

    def __init__(self, paths: Collection[str], import_roots: Sequence[str] = ()) -> None:
        self._paths = paths
        self._roots = tuple(root.strip("/") for root in (*import_roots, *_USUAL_ROOTS))
        self._by_name: dict[str, list[str]] = {}
        for path in sorted(paths):
            for name in dict.fromkeys(self._names(path)):
                self._by_name.setdefault(name, []).append(path)

    def of_module(self, name: str, near: str = "") -> str | None:
        """The file that `import name` means in the file `near`."""
        candidates = self._by_name.get(name) or self._in_root_package(name)
        return max(candidates, key=lambda path: _shared_folders(path, near), default=None)

    def _in_root_package(self, name: str) -> list[str]:
        """Where the rootdir itself is a package, `package.module` means a file in it, whatever it is called."""
        return self._by_name.get(name.partition(".")[2], []) if "__init__.py" in self._paths else []

    def of_import(self, name: str, level: int, importer: str) -> str | None:
        """The file of the module named in an import statement, relative or not."""
        if not level:
            return self.of_module(name, importer)
        above = [str(folder) for folder in PurePosixPath(importer).parents]
        if level > len(above):
            return None
        return self._file(above[level - 1], name)

    def below(self, package: str, name: str) -> str | None:
        """The submodule of a package, given as its `__init__.py`."""
        folder = PurePosixPath(package)
        return self._file(str(folder.parent), name) if folder.name == "__init__.py" else None

    def _file(self, folder: str, name: str) -> str | None:
        base = PurePosixPath(folder, *name.split(".")) if name else PurePosixPath(folder)
        for path in (f"{base}/__init__.py" if str(base) != "." else "__init__.py", f"{base}.py"):
            if path in self._paths:
                return path
        return None

    def _names(self, path: str) -> Iterator[str]:
        folders = PurePosixPath(path).parts[:-1]
        whole = path.removesuffix(".py").removesuffix("/__init__")
        yield whole.replace("/", ".")
        for root in self._roots:
            if whole.startswith(f"{root}/"):
                yield whole[len(root) + 1 :].replace("/", ".")
        depth = len(folders)
        while depth and "/".join([*folders[:depth], "__init__.py"]) in self._paths:
            depth -= 1
        yield ".".join(whole.split("/")[depth:])


def _shared_folders(one: str, other: str) -> int:
    shared = 0
    for mine, theirs in zip(one.split("/")[:-1], other.split("/")[:-1], strict=False):
        if mine != theirs:
            break
        shared += 1
    return shared
