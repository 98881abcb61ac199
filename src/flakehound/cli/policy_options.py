"""The options `--policy` of a hunt and those that only some policies use."""

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
        help="Which run comes next. index: after a first round, the run expected to find most flaky tests per "
        "second; ends when no more are expected. rerun: fixed stages, all tests alike. cannier: a model selects "
        "the tests to rerun. calls: only tests that call a function which suggests a cause of flakiness.",
    ),
    click.option(
        "--training",
        type=_TABLE,
        help="cannier: the table to learn from, as `flakehound data export` writes it. Default: the one that "
        "comes with flakehound.",
    ),
    click.option(
        "--features",
        type=_TABLE,
        help="cannier: a CSV with the same features of this suite's tests, by `id`. "
        "Default: measured in three runs.",
    ),
    click.option(
        "--detection",
        type=click.FloatRange(0, 1),
        metavar="MCC",
        help="cannier: the quality to reach (Matthews correlation coefficient) at the lowest cost. "
        "Default: the best balance of quality and cost.",
    ),
    click.option(
        "--cost",
        type=click.FloatRange(0, 1, min_open=True),
        metavar="SHARE",
        help="cannier: the share of the time of rerunning all tests that may be spent, for the best quality.",
    ),
)


def policy_options(command: Command) -> Command:
    """Add the options to a command, which gets them as one argument `policy`."""

    @functools.wraps(command)
    def with_policy(**given: Any) -> Any:
        from flakehound.app.hunt.options import PolicyOptions

        options = PolicyOptions(**{field.name: given.pop(field.name) for field in fields(PolicyOptions)})
        return command(policy=options, **given)

    wrapped: Command = with_policy
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped
