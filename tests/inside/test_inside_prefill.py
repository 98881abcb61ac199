"""Filling the table of `inspect` before forking changes no visible behaviour."""

from __future__ import annotations

import inspect
import subprocess
import sys

SCRIPT = """
import inspect, sys, types
sys.path.insert(0, {source!r})
import json, decimal, email
class Lazy(types.ModuleType):
    def __getattr__(self, name):
        raise SystemExit("a lazy module was asked for " + name)
sys.modules["lazy"] = Lazy("lazy")
from flakehound_inside.worker.prefill_inspect import prefill_source_files
prefill_source_files()
warm = dict(inspect.modulesbyfile)
del sys.modules["lazy"]
inspect.modulesbyfile.clear(); inspect._filesbymodname.clear()
inspect.getmodule(compile("0", "nowhere", "eval"))
missing = {{path: name for path, name in inspect.modulesbyfile.items() if warm.get(path) != name}}
print(sorted(missing.values()))
"""


def test_the_table_of_source_files_is_what_inspect_itself_would_make():
    import flakehound_inside

    source = inspect.getsourcefile(flakehound_inside).rpartition("/flakehound_inside/")[0]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(source=source)], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"
