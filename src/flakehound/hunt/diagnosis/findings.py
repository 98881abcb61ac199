"""What a diagnosis has established about one test so far."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from flakehound.core.history import Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order, RunPlan
from flakehound.core.statistics.rates import Rate
from flakehound.core.verdicts import Kind, LikelyCause, Replay
from flakehound.hunt.diagnosis.questions import NeedRuns


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What is proven about one test; a field with its default is not known yet."""

    test: NodeId
    kind: Kind = Kind.UNRESOLVED
    evidence: tuple[str, ...] = ()  # whole sentences, strongest first
    polluters: Order = ()
    state_setters: Order = ()
    cleaners: Order = ()
    joint: bool = False  # the polluters or state-setters are needed together
    pollution_rate: Rate | None = None  # None: the victim always fails after its polluters
    under_load: bool = False  # proven to fail only beside other runs
    seems_load: bool = False  # failed beside other runs, and passed there with nothing beside it
    causes: tuple[LikelyCause, ...] = ()
    minimal_order: Order = ()
    replay: Replay | None = None
    wanted: tuple[RunPlan, ...] = ()  # the runs that would settle the rest

    @property
    def culprits(self) -> Order:
        """Polluters or state-setters, whichever the kind has."""
        return self.polluters or self.state_setters

    def with_first_evidence(self, sentence: str) -> Finding:
        """The same finding with a sentence ahead of its evidence."""
        return replace(self, evidence=(sentence, *self.evidence))


Diagnosis: TypeAlias = Generator["Finding | NeedRuns", None, Finding]
"""Yields findings that hold should the time be up now, or the runs it needs; returns the last finding."""


def finding_of_load(
    finding: Finding, disturbed: Tally, undisturbed: Tally, where: str, *, proven: bool, only: bool
) -> Finding:
    """The finding about a test that, `where` it ran, failed beside other runs and never undisturbed.

    `proven` means by more than chance; `only`, that it failed undisturbed nowhere else either.
    """
    counts = f"{failures_in_words(disturbed)} runs beside others, 0 of {undisturbed.n} undisturbed, {where}"
    too_few = f"failed {counts}: too few to tell load from chance"
    evidence = [f"fails under load: {counts}" if proven else too_few]
    if not only:
        evidence.append("it also failed undisturbed, after other tests")
    return replace(finding, kind=Kind.UNRESOLVED, under_load=proven and only, evidence=tuple(evidence))


def failures_in_words(tally: Tally) -> str:
    """Failures among executions: "2 of 5"."""
    return f"{tally.failed} of {tally.n}"


def names_in_words(tests: Sequence[NodeId]) -> str:
    """Tests that act together: "a and b"."""
    return " and ".join(tests)
