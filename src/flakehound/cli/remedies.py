"""Commands that errors offer: they must work when pasted, so they keep whatever else the user said."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

import click
from click.core import ParameterSource

from flakehound.core.errors import UsageError

DEFAULT_STORE = Path(".flakehound") / "flakehound.db"


def again(**changed: object) -> str:
    """The command that runs now, with some parameters changed; None leaves one out."""
    context = click.get_current_context()
    options: list[str] = []
    arguments: list[str] = []
    for parameter in context.command.params:
        assert parameter.name is not None
        value = changed[parameter.name] if parameter.name in changed else _given(context, parameter.name)
        if isinstance(parameter, click.Argument):
            arguments += _texts(value)
        else:
            options += _option_words(parameter, value)
    return flakehound_command(_name(context), options, arguments)


def _name(context: click.Context) -> str:
    """What the user typed behind `flakehound`: a command, or a group and one of its commands."""
    own = context.command.name or ""
    above = context.parent
    return own if above is None or above.parent is None else f"{_name(above)} {own}"


def _given(context: click.Context, name: str) -> object:
    said = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    return context.params[name] if said else None


def _option_words(option: click.Parameter, value: object) -> list[str]:
    name = next(name for name in option.opts if name.startswith("--"))
    if isinstance(value, bool):
        return [name] if value else []
    return [word for text in _texts(value) for word in (name, text)]


def _texts(value: object) -> list[str]:
    if value is None:
        return []
    return [str(part) for part in value] if isinstance(value, tuple) else [str(value)]


def flakehound_command(name: str, options: Iterable[str], arguments: Iterable[str] = ()) -> str:
    """A command of ours; arguments that start with a dash follow two dashes."""
    rest = list(arguments)
    dashes = ["--"] if any(word.startswith("-") for word in rest) else []
    return shlex.join(["flakehound", *name.split(), *options, *dashes, *rest])


def store_words(store_path: Path) -> list[str]:
    """`--store PATH`, or nothing where it is the usual one."""
    return [] if store_path == DEFAULT_STORE else ["--store", str(store_path)]


def hunt_command(
    store_path: Path, *options: str, folder: Path | None = None, pytest_args: Iterable[str] = ()
) -> str:
    """A hunt that is kept in this store, of the current folder or of another one."""
    is_here = folder is None or folder == current_folder()
    store = store_words(store_path if is_here else store_path.absolute())
    command = flakehound_command("hunt", [*options, *store], pytest_args)
    return command if folder is None else moved_to(folder, command)


def moved_to(folder: Path, command: str) -> str:
    """The same command for a reader who may be in another folder than the one it works in."""
    return command if folder == current_folder() else f"cd {shlex.quote(str(folder))} && {command}"


def current_folder() -> Path:
    """Where the user is."""
    try:
        return Path.cwd()
    except FileNotFoundError as gone:
        raise UsageError("the current folder was removed", remedy="cd") from gone
