"""`--policy` of a hunt, and what only some policies take."""

from __future__ import annotations

import functools
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from flakehound.cli.options import Command
from flakehound.hunt.options import POLICIES

_TABLE = click.Path(path_type=Path, dir_okay=False)
_OPTIONS = (
    click.option(
        "--policy",
        type=click.Choice(POLICIES),
        default=POLICIES[0],
        show_default=True,
        help="What runs next. index: after a first round, what is expected to find most per second; ends when "
        "nothing is to be expected. rerun: fixed stages, all tests alike. cannier: a model says which tests are "
        "worth it. "
        "calls: only tests that call a characteristic function.",
    ),
    click.option(
        "--training",
        type=_TABLE,
        help="cannier: the table to learn from, see `flakehound data export`. Default: the one we ship.",
    ),
    click.option(
        "--features",
        type=_TABLE,
        help="cannier: the same features of this suite's tests, by `id`. Default: measured in three runs.",
    ),
    click.option(
        "--detection",
        type=click.FloatRange(0, 1),
        metavar="MCC",
        help="cannier: the quality wanted, as cheaply as possible. Default: the knee of quality and cost.",
    ),
    click.option(
        "--cost",
        type=click.FloatRange(0, 1, min_open=True),
        metavar="SHARE",
        help="cannier: the share of all reruns' time that may be spent, as well as possible.",
    ),
)


def policy_options(command: Command) -> Command:
    """The command gets them as one `policy`."""

    @functools.wraps(command)
    def with_policy(**given: Any) -> Any:
        from flakehound.app.hunt.options import PolicyOptions

        options = PolicyOptions(**{field.name: given.pop(field.name) for field in fields(PolicyOptions)})
        return command(policy=options, **given)

    wrapped: Command = with_policy
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped
