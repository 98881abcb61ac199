"""What happened in one process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from flakehound.core.calls import CallTrace
from flakehound.core.measurements import Measures
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Isolation, Order, Setting
from flakehound.core.state_changes import StateTrace

CALLED_OFF = "called off"  # how a process ended that the hunt cancelled


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why one test failed in one run."""

    phase: str  # setup, call, teardown; or process, if the process died
    exception: str  # name of the type, or of the signal
    message: str  # first lines of the error
    where: str  # path:line of the raising statement; empty if unknown
    text: str  # pytest's own report of it, cut to a bounded length


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The resources that a process used."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    max_rss_bytes: int = 0
    queued_s: float = field(default=0.0, compare=False)  # its first thread waited for a core; not stored


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One finished process: its order, and the outcome and duration at each position of the order."""

    order: Order
    outcomes: tuple[Outcome, ...]  # as long as `order`
    durations_s: Sequence[float]  # as long as `order`; 0.0 where the test did not run
    setting: Setting
    isolation: Isolation
    why: str
    seed: int | None = None
    hash_seed: int | None = None
    disturbed: bool = False  # another process of the hunt ran at the same time
    started_s: float = 0.0  # seconds since 1970
    usage: Usage = field(default_factory=Usage)
    ended: str = ""  # signal or limit that ended the process; empty: it ended normally
    failures: Mapping[int, Failure] = field(default_factory=dict)  # by position in `order`
    calls: Mapping[int, CallTrace] = field(default_factory=dict)  # by position; empty: not traced
    state_traces: Mapping[int, StateTrace] = field(default_factory=dict)  # by position; empty: not compared
    measures: Mapping[int, Measures] = field(default_factory=dict)  # by position; empty: not measured
    id: int | None = None  # given by the store

    def __iter__(self) -> Iterator[tuple[int, NodeId, Outcome]]:
        return ((position, test, self.outcomes[position]) for position, test in enumerate(self.order))

    @property
    def last(self) -> Outcome:
        """The outcome of the last test of the order."""
        return self.outcomes[-1]

    @property
    def was_called_off(self) -> bool:
        """Whether the hunt ended the process because the time was up."""
        return self.ended == CALLED_OFF

    @property
    def executed(self) -> int:
        """How many tests ran."""
        return sum(outcome is not Outcome.NOT_RUN for outcome in self.outcomes)
