"""`--policy` of a hunt, and what only some policies take."""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flakehound.cli.options import Command
from flakehound.core.errors import UsageError, same_command
from flakehound.hunt.options import CALLS, CANNIER, POLICIES

if TYPE_CHECKING:
    from flakehound.app.hunt.run import Select

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyWishes:
    """The policy and what it is given, as the user said it."""

    policy: str
    training: Path | None
    features: Path | None
    detection: float | None
    cost: float | None


def policy_options(command: Command) -> Command:
    """The command gets them as one `policy`."""

    @functools.wraps(command)
    def with_policy(**given: Any) -> Any:
        wishes = PolicyWishes(**{field.name: given.pop(field.name) for field in fields(PolicyWishes)})
        return command(policy=wishes, **given)

    wrapped: Command = with_policy
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def selector_for(wishes: PolicyWishes, seed: int) -> Select | None:
    """What chooses the tests for the policies that leave some out; None for the others."""
    if wishes.policy == CANNIER:
        return _trained(wishes, seed)
    given = [field.name for field in fields(wishes)[1:] if getattr(wishes, field.name) is not None]
    if given:
        raise UsageError(f"--{given[0]} is for --policy cannier", remedy=same_command(**dict.fromkeys(given)))
    if wishes.policy != CALLS:
        return None
    from flakehound.app.hunt.selection import select_by_calls

    return select_by_calls


def _trained(wishes: PolicyWishes, seed: int) -> Select:
    if wishes.detection is not None and wishes.cost is not None:
        raise UsageError("either --detection or --cost, not both", remedy=same_command(cost=None))
    from flakehound.app.hunt.model_selection import ModelSelector
    from flakehound.learn.measured.assisted_reruns import Aim

    aim = Aim(detection=wishes.detection, cost=wishes.cost)
    if wishes.training is None:
        return ModelSelector.by_default(wishes.features, aim)
    return ModelSelector.of_own_table(wishes.training, wishes.features, aim, seed)
