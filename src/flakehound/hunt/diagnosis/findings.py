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
    evidence: tuple[str, ...] = ()  # one sentence each, strongest first
    polluters: Order = ()
    state_setters: Order = ()
    cleaners: Order = ()
    joint: bool = False  # the polluters or state-setters are needed together
    pollution_rate: Rate | None = None  # None: the victim always fails after its polluters
    under_load: bool = False  # proven to fail only while other runs are going on
    seems_under_load: bool = False  # failed in parallel with other runs, passed without them
    load_chance: float = 1.0  # the probability of such counts if load makes no difference
    seems_fork_artefact: bool = False  # all forks disagree with all new interpreters so far
    causes: tuple[LikelyCause, ...] = ()
    minimal_order: Order = ()
    replay: Replay | None = None
    needed_runs: tuple[RunPlan, ...] = ()  # to complete the diagnosis
    needed_groups: tuple[int, ...] = ()  # the same: groups of the suite after which the test has to run

    @property
    def is_complete(self) -> bool:
        """Whether no further run is needed."""
        return not self.needed_runs and not self.needed_groups

    @property
    def culprits(self) -> Order:
        """The polluters of a victim or the state-setters of a brittle test."""
        return self.polluters or self.state_setters

    def with_first_evidence(self, sentence: str) -> Finding:
        """The same finding with one more sentence before its evidence."""
        return replace(self, evidence=(sentence, *self.evidence))


Diagnosis: TypeAlias = Generator["Finding | NeedRuns", None, Finding]
"""Yields provisional findings and the runs it needs; returns the final finding."""


def finding_of_load(
    finding: Finding, disturbed: Tally, undisturbed: Tally, where: str, *, proven: bool, only_under_load: bool
) -> Finding:
    """The finding about a test that failed in disturbed runs and never in undisturbed ones.

    `where` names the order in words. `proven`: chance is ruled out. `only_under_load`: no other order failed
    undisturbed.
    """
    counts = f"{failures_in_words(disturbed)} runs beside others, 0 of {undisturbed.n} undisturbed, {where}"
    too_few = f"failed {counts}: too few to tell load from chance"
    evidence = [f"fails under load: {counts}" if proven else too_few]
    if not only_under_load:
        evidence.append("it also failed undisturbed, after other tests")
    return replace(finding, kind=Kind.UNRESOLVED, under_load=proven and only_under_load, evidence=tuple(evidence))


def failures_in_words(tally: Tally) -> str:
    """Failures and runs as text: "2 of 5"."""
    return f"{tally.failed} of {tally.n}"


def names_in_words(tests: Sequence[NodeId]) -> str:
    """The names of tests that act together: "a and b"."""
    return " and ".join(tests)
