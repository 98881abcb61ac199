"""From which folders an interpreter imports, with those of editable installs, and what it builds on import."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass

from flakehound.engine.processes.launch import Target

_LIMIT_S = 60.0
# Finders that build the project in its own folder whenever it is imported: by meson-python, by scikit-build-core,
# by pyximport, by maturin. They are asked before any folder, so they cannot import another revision.
_BUILDING_FINDERS = (
    "MesonpyMetaFinder",
    "ScikitBuildRedirectingFinder",
    "PyxImportMetaFinder",
    "RustFileImporter",
    "MaturinProjectImporter",
)
# Prints the folders of the path and of editable installs, and the finders.
_PRINT_PLACES = """
import json, sys
found = [entry for entry in sys.path if entry]
for name, module in list(sys.modules.items()):
    if name.startswith("__editable__"):
        for place in dict(getattr(module, "MAPPING", None) or {}).values():
            found.append(str(place).rpartition("/")[0])
        for places in dict(getattr(module, "NAMESPACES", None) or {}).values():
            found.extend(str(place).rpartition("/")[0] for place in places)
    if name == "editables.redirector":
        for place in dict(getattr(module.RedirectingFinder, "_redirections", None) or {}).values():
            folder, _, file = str(place).rpartition("/")
            found.append(folder.rpartition("/")[0] if file == "__init__.py" else folder)
finders = {}
for finder in sys.meta_path:
    name = finder.__name__ if isinstance(finder, type) else type(finder).__name__
    finders[name] = finders.get(name, "") + repr(getattr(finder, "__dict__", ""))
print(json.dumps({"path": found, "finders": finders}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportPlaces:
    """Where an interpreter looks for modules."""

    folders: tuple[str, ...] = ()
    building: tuple[str, ...] = ()  # the attributes of finders that build what they import, as text

    def building_in(self, top: str) -> bool:
        """Whether importing builds something in this folder."""
        return any(f"{top}{end}" in text for text in self.building for end in (os.sep, "'", '"'))


def import_places(target: Target) -> ImportPlaces:
    """Ask the suite's interpreter; an interpreter that does not answer has no places."""
    try:
        result = subprocess.run(
            [target.python, "-c", _PRINT_PLACES],
            cwd=target.cwd,
            env={**os.environ, **target.env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LIMIT_S,
            check=True,
        )
        answer = json.loads(result.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return ImportPlaces()
    finders: dict[str, str] = answer["finders"]
    return ImportPlaces(
        folders=tuple(answer["path"]),
        building=tuple(finders[name] for name in _BUILDING_FINDERS if name in finders),
    )
