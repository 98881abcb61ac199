"""What an inquiry has established about one test so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from flakehound.core.history import Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order, RunPlan
from flakehound.core.statistics.rates import Rate, failure_rate
from flakehound.core.verdicts import Cause, Kind, LikelyCause, Replay


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
    seems_load: bool = False  # it failed beside other runs, and passed there with nothing beside it
    causes: list[LikelyCause] = field(default_factory=list)
    minimal_order: Order = ()
    replay: Replay | None = None
    wanted: list[RunPlan] = field(default_factory=list)  # what would settle the rest

    @property
    def culprits(self) -> list[NodeId]:
        """Polluters or state-setters, whichever the kind has."""
        return self.polluters or self.state_setters

    def blame(self, polluters: Order, after: Tally, alone: Tally) -> None:
        """A victim: fails after these tests, passes alone."""
        self.kind = Kind.VICTIM
        self.polluters = list(polluters)
        self.pollution_rate = failure_rate(after.failed, after.n) if after.is_mixed else None
        self.replay = Replay(order=(*polluters, self.test), failed=after.failed, runs=after.n)
        joint = " run together" if len(polluters) > 1 else ""
        self._decided_by(
            polluters,
            f"failed {of(after)} after {names(polluters)}{joint}, passed {alone.passed} of {alone.n} alone",
        )

    def credit(self, state_setters: Order, after: Tally, alone: Tally) -> None:
        """A brittle test: fails alone, passes after these tests."""
        self.kind = Kind.BRITTLE
        self.state_setters = list(state_setters)
        self.replay = Replay(order=(self.test,), failed=alone.failed, runs=alone.n)
        self._decided_by(
            state_setters,
            f"failed {of(alone)} alone, passed {after.passed} of {after.n} after {names(state_setters)}",
        )

    def _decided_by(self, culprits: Order, words: str) -> None:
        self.joint = len(culprits) > 1
        self.minimal_order = (*culprits, self.test)
        self.evidence = [words]
        self.causes = [LikelyCause(cause=Cause.TEST_ORDER, evidence=words)]

    def note_load(self, beside: Tally, quiet: Tally, where: str, *, proven: bool, only: bool) -> None:
        """It failed beside other runs and never undisturbed, in one sort of runs: these.

        `proven` means by more than luck; `only`, that it failed undisturbed in no other sort of runs either.
        """
        self.kind = Kind.UNRESOLVED
        self.under_load = proven and only
        counts = f"{of(beside)} runs beside others, 0 of {quiet.n} undisturbed, {where}"
        too_few = f"failed {counts}: too few to tell load from chance"
        self.evidence = [f"fails under load: {counts}" if proven else too_few]
        if not only:
            self.evidence.append("it also failed undisturbed, after other tests")


def of(tally: Tally) -> str:
    """Failures among executions, in words."""
    return f"{tally.failed} of {tally.n}"


def names(tests: Sequence[NodeId]) -> str:
    """Tests that act together."""
    return " and ".join(tests)
