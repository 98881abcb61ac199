"""The settings of a project in its `pyproject.toml`: characteristic functions beside the default ones."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from flakehound.calls.characteristic_functions import CharacteristicFunctions, default_functions
from flakehound.calls.settings import InvalidCallSettings, with_settings
from flakehound.core.errors import UsageError


def characteristic_functions_in(rootdir: Path) -> CharacteristicFunctions:
    """`[tool.flakehound.calls]` on top of the defaults; Python 3.10 cannot read TOML, and has only those."""
    file = rootdir / "pyproject.toml"
    if sys.version_info < (3, 11) or not file.is_file():
        return default_functions()
    import tomllib

    try:
        found: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
        return with_settings(default_functions(), found.get("tool", {}).get("flakehound", {}).get("calls", {}))
    except (OSError, ValueError) as fault:
        raise UsageError(f"{str(file)!r} cannot be read: {fault}", remedy="pytest --collect-only -q") from fault
    except InvalidCallSettings as fault:
        what = f"[tool.flakehound.calls] in {str(file)!r} cannot be understood: {fault}"
        raise UsageError(what, remedy="flakehound calls --help") from fault
