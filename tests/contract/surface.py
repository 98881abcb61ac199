"""Print what programs rely on: options of every command, of the pytest plugin, exit codes, tables of the store."""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

import click


def command_options(command: click.Command, context: click.Context) -> Any:
    """The parameters of a command, and of the commands below it; no help texts."""
    below = {}
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            below[name] = command_options(found, click.Context(found, parent=context))
    return {"parameters": [_parameter(one) for one in command.params], **({"commands": below} if below else {})}


def _parameter(parameter: click.Parameter) -> dict[str, Any]:
    choices = getattr(parameter.type, "choices", None)
    default = parameter.default if isinstance(parameter.default, str | int | float | bool | Path) else None
    return {
        "name": parameter.name,
        "opts": [*parameter.opts, *parameter.secondary_opts],
        "kind": "argument" if isinstance(parameter, click.Argument) else "option",
        "choices": list(choices) if choices else None,
        "default": str(default) if default is not None else None,
        "multiple": parameter.multiple,
        "nargs": parameter.nargs,
        "required": parameter.required,
    }


def plugin_options() -> list[str]:
    """The options and settings that the plugin adds to pytest."""
    import _pytest.config.argparsing as argparsing

    from flakehound_inside import plugin

    parser = argparsing.Parser(_ispytest=True)
    plugin.pytest_addoption(parser)
    options = [name for group in parser._groups for option in group.options for name in option.names()]
    return sorted([*options, *(f"ini:{name}" for name in parser._inidict)])


def surface() -> dict[str, Any]:
    """Everything, as one JSON object."""
    from flakehound.cli.main import main
    from flakehound.core.errors import ExitCode
    from flakehound.store import Store

    store = Path(sys.argv[1] if len(sys.argv) > 1 else "empty.db")
    with Store.open(store):
        pass
    with sqlite3.connect(store) as connection:
        rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").fetchall()
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.close()
    return {
        "commands": command_options(main, click.Context(main)),
        "plugin": plugin_options(),
        "exit_codes": {code.name: code.value for code in ExitCode},
        "store": {"version": version, "columns": _columns(store)},
        "tables": len(rows),
    }


def _columns(store: Path) -> dict[str, list[str]]:
    with sqlite3.connect(store) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        found = {name: [row[1] for row in connection.execute(f"PRAGMA table_info({name})")] for (name,) in names}
    connection.close()
    return found


if __name__ == "__main__":
    json.dump(surface(), sys.stdout, indent=1)
