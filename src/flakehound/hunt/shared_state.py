"""Which tests can pollute which, by what one leaves changed and what the other's code mentions.

Pure. What a test leaves is known from comparing its process before and after it. What a test reads is not known,
so the names that occur in its code stand for it. In doubt, a change may be shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.records import RunRecord
from flakehound.core.state_changes import StateChange, Traces
from flakehound.hunt import limits

_CHANGES_OF_NAMES = ("module global", "attribute", "class attribute", "patched class attribute")
# Libraries read these without the project's code naming them.
_WIDELY_READ = (
    "PATH",
    "HOME",
    "TZ",
    "LANG",
    "LC_",
    "PYTHON",
    "TMP",
    "TEMP",
    "USER",
    "XDG_",
    "NO_COLOR",
    "COLUMNS",
)


def traces_of_runs(records: Iterable[RunRecord]) -> dict[NodeId, Traces]:
    """Test -> its traces, of the last run that recorded them and had it first in its process."""
    return {record.order[0]: record.traces[0] for record in records if 0 in record.traces}


def may_share(change: StateChange, victim: Traces | None) -> bool:
    """Whether the code of a test may read what another one changed."""
    if victim is None or victim.mentions is None:
        return True
    if change.kind in _CHANGES_OF_NAMES:
        return change.name.rpartition(".")[2] in victim.mentions
    if change.kind == "imported module":
        return change.name in victim.mentions
    if change.kind == "imported submodule":
        return change.name in victim.mentions or all(part in victim.mentions for part in change.name.split("."))
    if change.kind == "environment":
        return change.name in victim.mentions or change.name.startswith(_WIDELY_READ)
    return True


class SharedState:
    """What the tests of a history leave changed and mention; grows with the history."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._records_read = 0  # records of the history whose traces are taken in
        self._traces: dict[NodeId, Traces] = {}

    @property
    def traces(self) -> Mapping[NodeId, Traces]:
        """Test -> what it left changed where it ran first in its process."""
        new = self._history.records[self._records_read :]
        self._records_read += len(new)
        self._traces |= traces_of_runs(new)
        return self._traces

    def add_traces(self, traces: Mapping[NodeId, Traces]) -> None:
        """Take in traces of runs that are no part of the history."""
        self._traces |= traces

    def can_affect(self, other: NodeId, test: NodeId) -> bool:
        """Whether a test may read something that another one left changed; True where that is not known."""
        known = self.traces
        return other not in known or any(may_share(change, known.get(test)) for change in known[other].left)

    def few_possible_polluters(self, test: NodeId) -> list[NodeId]:
        """The tests that can have polluted this one if they are few enough to try each; else nothing."""
        found = [other for other in self.traces if other != test and self.can_affect(other, test)]
        return found if len(found) <= limits.MAX_SHARING_CANDIDATES else []

    def changes_that_matter(self, test: NodeId, culprits: Sequence[NodeId], *, fails: bool) -> list[StateChange]:
        """What the polluters or state-setters of a test leave that can matter to it, the likeliest first."""
        known = self.traces
        harmless = [
            other for other in known if other not in culprits and self.had_no_effect(other, test, fails=fails)
        ]
        return changes_that_matter(test, culprits, harmless, known)

    def had_no_effect(self, other: NodeId, test: NodeId, *, fails: bool) -> bool:
        """Whether a test ran directly after another one and had its usual outcome."""
        seen = self._history.tally_after((other,), test)
        return bool(seen.n) and seen.failed == (0 if fails else seen.n)

    def left_by(self, test: NodeId) -> tuple[StateChange, ...]:
        """What a test leaves."""
        return self.traces[test].left if test in self.traces else ()


def changes_that_matter(
    victim: NodeId, polluters: Iterable[NodeId], innocents: Iterable[NodeId], traces: Mapping[NodeId, Traces]
) -> list[StateChange]:
    """What the polluters leave that can matter to the victim, the likeliest first.

    Likeliest is what all of them leave, and what no test leaves after which the victim had its usual outcome.
    """
    seen = traces.get(victim)
    left = [set(_shareable(traces[test], seen)) for test in polluters if test in traces]
    harmless = {change.thing for test in innocents if test in traces for change in traces[test].left}
    found = sorted(set().union(*left)) if left else []
    return sorted(
        found,
        key=lambda change: (
            change.thing in harmless,
            -sum(change in changes for changes in left),
            not _is_named(change, seen),
        ),
    )


def _shareable(polluter: Traces, victim: Traces | None) -> Iterable[StateChange]:
    return (change for change in polluter.left if may_share(change, victim))


def _is_named(change: StateChange, victim: Traces | None) -> bool:
    """Whether the victim's code mentions it by its own name, and not only what it lies in."""
    return victim is None or victim.mentions is None or change.name.rpartition(".")[2] in victim.mentions
