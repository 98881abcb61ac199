"""The settings of a project in its `pyproject.toml`: more characteristic functions than the default ones."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from flakehound.calls.characteristic_functions import CharacteristicFunctions, default_functions
from flakehound.calls.settings import InvalidCallSettings, with_settings
from flakehound.core.errors import UsageError


def characteristic_functions_in(rootdir: Path) -> CharacteristicFunctions:
    """The defaults and `[tool.flakehound.calls]`; on Python 3.10, which cannot read TOML, only the defaults."""
    file = rootdir / "pyproject.toml"
    if sys.version_info < (3, 11) or not file.is_file():
        return default_functions()
    import tomllib

    try:
        settings: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
        return with_settings(default_functions(), settings.get("tool", {}).get("flakehound", {}).get("calls", {}))
    except (OSError, ValueError) as error:
        raise UsageError(f"{str(file)!r} cannot be read: {error}", remedy="pytest --collect-only -q") from error
    except InvalidCallSettings as error:
        message = f"[tool.flakehound.calls] in {str(file)!r} cannot be understood: {error}"
        raise UsageError(message, remedy="flakehound calls --help") from error
