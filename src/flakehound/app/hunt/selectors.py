"""Which selector a policy needs: `calls` and `cannier` leave tests out, the others do not."""

from __future__ import annotations

from dataclasses import fields

from flakehound.app.hunt.options import PolicyOptions
from flakehound.app.hunt.selection import Selector, select_by_calls
from flakehound.core.errors import UsageError, same_command
from flakehound.hunt.options import CALLS, CANNIER


def selector_for(options: PolicyOptions, seed: int) -> Selector | None:
    """What selects the tests for the policies that leave some out; None for the others."""
    if options.policy == CANNIER:
        return _model_selector(options, seed)
    given = [field.name for field in fields(options)[1:] if getattr(options, field.name) is not None]
    if given:
        raise UsageError(f"--{given[0]} is for --policy cannier", remedy=same_command(**dict.fromkeys(given)))
    return select_by_calls if options.policy == CALLS else None


def _model_selector(options: PolicyOptions, seed: int) -> Selector:
    if options.detection is not None and options.cost is not None:
        raise UsageError("either --detection or --cost, not both", remedy=same_command(cost=None))
    # Most hunts need no models: reading and fitting them takes seconds.
    from flakehound.app.hunt.model_selection import ModelSelector
    from flakehound.learn.measured.assisted_reruns import Aim

    aim = Aim(detection=options.detection, cost=options.cost)
    if options.training is None:
        return ModelSelector.by_default(options.features, aim)
    return ModelSelector.from_own_table(options.training, options.features, aim, seed)
