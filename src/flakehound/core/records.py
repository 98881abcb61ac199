"""What happened in one process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from flakehound.core.calls import CallTrace
from flakehound.core.measurements import Measures
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Isolation, Order, Setting
from flakehound.core.state_changes import Traces


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why one test failed in one run."""

    phase: str  # setup, call, teardown; or process, when the process died
    exception: str  # the type's name, or the signal's
    message: str  # first lines of the error
    where: str  # path:line of the raising statement, empty when unknown
    text: str  # pytest's own report of it, cut to a bounded length


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a process cost."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    max_rss_bytes: int = 0
    queued_s: float = field(default=0.0, compare=False)  # its first thread waited for a core; not kept in stores


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One process that ran: its order, and per position the outcome and the duration."""

    order: Order
    outcomes: tuple[Outcome, ...]  # as long as `order`
    durations_s: Sequence[float]  # as long as `order`; 0.0 where the test did not run
    setting: Setting
    isolation: Isolation
    why: str
    seed: int | None = None
    hash_seed: int | None = None
    disturbed: bool = False  # another process of ours ran beside it
    started_s: float = 0.0  # seconds since 1970
    usage: Usage = field(default_factory=Usage)
    ended: str = ""  # how the process ended when it did not end well: signal, limit
    failures: Mapping[int, Failure] = field(default_factory=dict)  # by position in `order`
    calls: Mapping[int, CallTrace] = field(default_factory=dict)  # by position; empty: not traced
    traces: Mapping[int, Traces] = field(default_factory=dict)  # by position; if looked for
    measures: Mapping[int, Measures] = field(default_factory=dict)  # by position; of a measured run only
    id: int | None = None  # given by the store

    def __iter__(self) -> Iterator[tuple[int, NodeId, Outcome]]:
        return ((place, test, self.outcomes[place]) for place, test in enumerate(self.order))

    @property
    def last(self) -> Outcome:
        """The outcome of the last test of the order."""
        return self.outcomes[-1]

    @property
    def executed(self) -> int:
        """How many tests really ran."""
        return sum(outcome is not Outcome.NOT_RUN for outcome in self.outcomes)
