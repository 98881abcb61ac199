"""Import from another copy of the project what the environment would import from the user's tree.

An editable install leads to one folder: as an entry of the path, or as a finder with a table of modules. Both are
changed before anything of the project is imported. What the other copy lacks is not imported at all.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_ENVIRONMENT_PARTS = ("/site-packages", "/dist-packages", "/lib/python3")


def move_imports(old: str, new: str) -> None:
    """Replace the folder `old` by `new`, both without symbolic links, wherever modules are searched."""
    sys.path[:] = _moved_list(sys.path, old, new)
    for name, module in list(sys.modules.items()):
        if name.startswith("__editable__"):  # setuptools
            _move_table(getattr(module, "MAPPING", None), old, new)
            _move_table(getattr(module, "NAMESPACES", None), old, new)
        elif name == "editables.redirector":  # hatch, pdm
            _move_table(getattr(module.RedirectingFinder, "_redirections", None), old, new)


def _moved_list(entries: list[Any], old: str, new: str) -> list[Any]:
    moved = [_moved(entry, old, new) for entry in entries]
    return [entry for entry in dict.fromkeys(moved) if entry is not None]


def _move_table(table: Any, old: str, new: str) -> None:
    """Change the places of modules, each one path or a list of paths."""
    for name, place in list(table.items()) if isinstance(table, dict) else ():
        moved: Any = _moved_list(place, old, new) if isinstance(place, list) else _moved(place, old, new)
        if moved:
            table[name] = moved
        else:
            del table[name]


def _moved(entry: Any, old: str, new: str) -> Any:
    """The same path in the new folder; None if there is none."""
    if not isinstance(entry, (str, os.PathLike)) or not os.path.isabs(entry):
        return entry
    path = os.path.realpath(entry)
    in_environment = any(part in path for part in _ENVIRONMENT_PARTS)
    if in_environment or not _is_below(path, old) or _is_below(path, new):
        return entry
    there = new + path[len(old) :]
    # A finder of setuptools adds ".py" or "/__init__.py" itself.
    return there if os.path.exists(there) or os.path.exists(there + ".py") else None


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))
