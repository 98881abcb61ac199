"""Which file of the project an import refers to."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePosixPath

_USUAL_ROOTS = ("src", "lib", "python")


class ModulePaths:
    """The project's files, found by the names under which they can be imported.

    A file has a name relative to the rootdir, to the usual source folders, to the given import roots, and to the
    folder that pytest puts on `sys.path` for it: the first folder above it that is not a package.
    """

    def __init__(self, paths: Collection[str], import_roots: Sequence[str] = ()) -> None:
        self._paths = paths
        self._roots = tuple(root.strip("/") for root in (*import_roots, *_USUAL_ROOTS))
        self._by_name: dict[str, list[str]] = {}
        for path in sorted(paths):
            for name in dict.fromkeys(self._importable_names(path)):
                self._by_name.setdefault(name, []).append(path)

    def path_of_module(self, name: str, near: str = "") -> str | None:
        """The file that `import name` imports in the file `near`; of several the one nearest to it."""
        candidates = self._by_name.get(name) or self._in_root_package(name)
        return max(candidates, key=lambda path: _shared_folders(path, near), default=None)

    def _in_root_package(self, name: str) -> list[str]:
        """If the rootdir itself is a package, `package.module` is a file in it, and `package` can be any name."""
        return self._by_name.get(name.partition(".")[2], []) if "__init__.py" in self._paths else []

    def path_of_import(self, name: str, level: int, importer: str) -> str | None:
        """The file of the module that an import statement names; `level` counts the dots of a relative import."""
        if not level:
            return self.path_of_module(name, importer)
        above = [str(folder) for folder in PurePosixPath(importer).parents]
        if level > len(above):
            return None
        return self._module_file(above[level - 1], name)

    def path_of_submodule(self, package: str, name: str) -> str | None:
        """The file of a submodule; `package` is the path of the package's `__init__.py`."""
        folder = PurePosixPath(package)
        return self._module_file(str(folder.parent), name) if folder.name == "__init__.py" else None

    def _module_file(self, folder: str, name: str) -> str | None:
        base = PurePosixPath(folder, *name.split(".")) if name else PurePosixPath(folder)
        for path in (f"{base}/__init__.py" if str(base) != "." else "__init__.py", f"{base}.py"):
            if path in self._paths:
                return path
        return None

    def _importable_names(self, path: str) -> Iterator[str]:
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


def _shared_folders(path: str, other_path: str) -> int:
    shared = 0
    for folder, other in zip(path.split("/")[:-1], other_path.split("/")[:-1], strict=False):
        if folder != other:
            break
        shared += 1
    return shared
