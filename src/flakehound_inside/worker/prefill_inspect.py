"""Fills a table of `inspect` once before forking, so that not every process with a failing test has to."""

from __future__ import annotations

import inspect
import os
import sys
import types


def prefill_source_files() -> None:
    """Fill the table of `inspect` from files to modules.

    The first failure of a process fills it, which takes 20 ms and more: a `realpath` per imported module.
    Reads `__file__` from the module's namespace, because getting the attribute of a lazy module would import it.
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
            except (TypeError, OSError):  # built in, or its folder no longer exists
                continue
            files[name] = file
            modules[path] = modules[os.path.realpath(path)] = module.__name__
