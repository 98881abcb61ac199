"""Options that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from flakehound.app.sessions.default_paths import DEFAULT_STORE
from flakehound.app.sessions.suite_options import SuiteOptions

Command = Callable[..., Any]


_SUITE_OPTIONS = (
    click.option(
        "--jobs",
        "-j",
        type=click.IntRange(min=1),
        metavar="N",
        help="Processes at once. Default: one for each core, more in a hunt whose tests mostly wait, "
        "one where tests are measured or traced.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(min=0),
        metavar="S",
        help="Seed of every random choice. Default: a new one each time.",
    ),
    click.option(
        "--python",
        metavar="PATH",
        help="The suite's interpreter. Default: that of the active virtual environment, else flakehound's own.",
    ),
    click.option(
        "--isolation",
        type=click.Choice(["fork", "spawn"]),
        help="fork: copy a process that has collected the tests (fast; the default where a copy behaves like a "
        "new process). "
        "spawn: a new interpreter for every run.",
    ),
    click.option(
        "--keep-plugin",
        "keep_plugins",
        multiple=True,
        metavar="NAME",
        help="Keep a pytest plugin that flakehound would switch off (randomly, rerunfailures, xdist, cov, ...); "
        "may be repeated.",
    ),
    click.option(
        "--test-timeout",
        metavar="T",
        help="A test that takes longer than this counts as hanging. "
        "Default: 20 times the slowest seen, at least 10s.",
    ),
    click.option(
        "--memory-limit",
        metavar="SIZE",
        help="Limit for the address space of each process, such as 2G. Default: no limit.",
    ),
    click.option(
        "--json",
        "json_file",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Also write the result as JSON.",
    ),
    click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED),
)

seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="S",
    default=1,
    show_default=True,
    help="Seed of every random choice.",
)


def store_option(command: Command) -> Command:
    """Add `--store PATH` to a command."""
    return click.option(
        "--store",
        "store_path",
        type=click.Path(path_type=Path),
        default=DEFAULT_STORE,
        show_default=True,
        help="The file in which runs are stored.",
    )(command)


def suite_options(command: Command) -> Command:
    """Add the options of every command that runs a suite; the command gets them as one argument `suite`."""

    @functools.wraps(command)
    def with_suite(**given: Any) -> Any:
        suite = SuiteOptions(**{field.name: given.pop(field.name) for field in fields(SuiteOptions)})
        return command(suite=suite, **given)

    wrapped: Command = with_suite
    for option in reversed(_SUITE_OPTIONS):
        wrapped = option(wrapped)
    return wrapped
