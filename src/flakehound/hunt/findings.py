"""What an inquiry has established about one test so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order, RunPlan
from flakehound.core.rates import Rate
from flakehound.core.verdicts import Kind, LikelyCause, Replay


@dataclass(slots=True)
class Finding:
    """Grows while an inquiry proceeds; what stands in it is proven, the rest is not known yet."""

    test: NodeId
    kind: Kind = Kind.UNRESOLVED
    evidence: list[str] = field(default_factory=list)
    polluters: list[NodeId] = field(default_factory=list)
    state_setters: list[NodeId] = field(default_factory=list)
    cleaners: list[NodeId] = field(default_factory=list)
    joint: bool = False
    pollution_rate: Rate | None = None
    under_load: bool = False
    causes: list[LikelyCause] = field(default_factory=list)
    minimal_order: Order = ()
    replay: Replay | None = None
    wanted: list[RunPlan] = field(default_factory=list)  # what would settle the rest

    @property
    def culprits(self) -> list[NodeId]:
        """Polluters or state-setters, whichever the kind has."""
        return self.polluters or self.state_setters
