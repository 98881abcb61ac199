"""Do once, before the forks, what every child with a failing test would do again."""

from __future__ import annotations

import inspect
import os
import sys
import types


def remember_source_files() -> None:
    """Fill the table of `inspect` that says which module a file belongs to.

    The first failure of a process fills it, which takes 20 ms and more: a `realpath` per imported module.
    Only plain modules that hold their file's name themselves: to ask a lazy one would import it.
    """
    files = getattr(inspect, "_filesbymodname", None)
    modules = getattr(inspect, "modulesbyfile", None)
    if not isinstance(files, dict) or not isinstance(modules, dict):
        return
    for name, module in list(sys.modules.items()):
        file = vars(module).get("__file__") if type(module) is types.ModuleType else None
        if isinstance(file, str) and name not in files:
            try:
                path = inspect.getabsfile(module)
            except (TypeError, OSError):  # built in, or its folder is gone
                continue
            files[name] = file
            modules[path] = modules[os.path.realpath(path)] = module.__name__
