"""Turn the remedies of errors into commands that keep the user's other options and arguments."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from flakehound.core.errors import CommandSequence, FlakehoundError, Remedy, SameCommand
from flakehound.report.command_line import flakehound_command


class CommandWithRemedies(click.Command):
    """A command whose errors offer commands built from what the user typed."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; replace an error's remedy by its text while click's context still exists."""
        try:
            return super().invoke(ctx)
        except FlakehoundError as error:
            if error.remedy is not None:
                error.remedy = remedy_text(error.remedy, ctx)
            raise


def remedy_text(remedy: Remedy, context: click.Context) -> str:
    """The shell command that a remedy stands for."""
    if isinstance(remedy, str):
        return remedy
    if isinstance(remedy, CommandSequence):
        return " && ".join(remedy_text(command, context) for command in remedy.commands)
    return _same_command(remedy, context)


def _same_command(remedy: SameCommand, context: click.Context) -> str:
    options: list[str] = []
    arguments: list[str] = []
    for parameter in context.command.params:
        assert parameter.name is not None
        is_changed = parameter.name in remedy.changes
        value = remedy.changes[parameter.name] if is_changed else _typed_value(context, parameter.name)
        if isinstance(parameter, click.Argument):
            arguments += _texts(value)
        else:
            options += _option_words(parameter, value)
    return flakehound_command(_command_name(context), options, arguments)


def _command_name(context: click.Context) -> str:
    """What the user typed after `flakehound`: a command, or a group and one of its commands."""
    name = context.command.name or ""
    parent = context.parent
    return name if parent is None or parent.parent is None else f"{_command_name(parent)} {name}"


def _typed_value(context: click.Context, name: str) -> object:
    is_typed = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    return context.params[name] if is_typed else None


def _option_words(option: click.Parameter, value: object) -> list[str]:
    name = next(name for name in option.opts if name.startswith("--"))
    if isinstance(value, bool):
        return [name] if value else []
    return [word for text in _texts(value) for word in (name, text)]


def _texts(value: object) -> list[str]:
    if value is None:
        return []
    return [str(part) for part in value] if isinstance(value, tuple) else [str(value)]
