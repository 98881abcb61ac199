"""Which tests can pollute which: compares what one test leaves changed with the names in the other's code.

Pure. What a test leaves changed is known from comparing its process before and after it. What a test reads is not
known, so the names that occur in its code are used instead. When in doubt, a test may read a change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.records import RunRecord
from flakehound.core.state_changes import StateChange, StateTrace
from flakehound.hunt import limits

_CHANGES_OF_NAMES = ("module global", "attribute", "class attribute", "patched class attribute")
# Prefixes of variables that libraries read, so that the project's code need not mention them.
_VARIABLES_READ_BY_LIBRARIES = (
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


def traces_of_runs(records: Iterable[RunRecord]) -> dict[NodeId, StateTrace]:
    """The traces of each test, from the last recording run in which it was the first test of its process."""
    return {record.order[0]: record.state_traces[0] for record in records if 0 in record.state_traces}


def may_read(change: StateChange, victim: StateTrace | None) -> bool:
    """Whether the code of the victim may read what another test changed."""
    if victim is None or victim.mentions is None:
        return True
    if change.kind in _CHANGES_OF_NAMES:
        return change.name.rpartition(".")[2] in victim.mentions
    if change.kind == "imported module":
        return change.name in victim.mentions
    if change.kind == "imported submodule":
        return change.name in victim.mentions or all(part in victim.mentions for part in change.name.split("."))
    if change.kind == "environment":
        return change.name in victim.mentions or change.name.startswith(_VARIABLES_READ_BY_LIBRARIES)
    return True


class SharedState:
    """The traces of the tests of a history: what each leaves changed and which names its code mentions."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._records_read = 0  # how many records of the history `_traces` includes
        self._traces: dict[NodeId, StateTrace] = {}

    @property
    def traces(self) -> Mapping[NodeId, StateTrace]:
        """The traces of each test, up to date with the history."""
        new_records = self._history.records[self._records_read :]
        self._records_read += len(new_records)
        self._traces |= traces_of_runs(new_records)
        return self._traces

    def add_traces(self, traces: Mapping[NodeId, StateTrace]) -> None:
        """Add traces of runs that are not in the history."""
        self._traces |= traces

    def can_affect(self, other: NodeId, test: NodeId) -> bool:
        """Whether `test` may read something that `other` leaves changed; True if that is not known."""
        traces = self.traces
        return other not in traces or any(may_read(change, traces.get(test)) for change in traces[other].left)

    def few_possible_polluters(self, test: NodeId) -> list[NodeId]:
        """The tests that can have polluted this one, if they are few enough to try each; else an empty list."""
        polluters = [other for other in self.traces if other != test and self.can_affect(other, test)]
        return polluters if len(polluters) <= limits.MAX_SHARING_CANDIDATES else []

    def changes_that_matter(self, test: NodeId, culprits: Sequence[NodeId], *, fails: bool) -> list[StateChange]:
        """The changes left by the polluters or state-setters of a test that can affect it, the likeliest first."""
        traces = self.traces
        without_effect = [
            other for other in traces if other not in culprits and self.had_no_effect(other, test, fails=fails)
        ]
        return changes_that_matter(test, culprits, without_effect, traces)

    def had_no_effect(self, other: NodeId, test: NodeId, *, fails: bool) -> bool:
        """Whether `test` ran directly after `other` and always had its usual outcome."""
        tally = self._history.tally_after((other,), test)
        return bool(tally.n) and tally.failed == (0 if fails else tally.n)

    def changes_left_by(self, test: NodeId) -> tuple[StateChange, ...]:
        """What a test leaves changed."""
        return self.traces[test].left if test in self.traces else ()


def changes_that_matter(
    victim: NodeId,
    polluters: Iterable[NodeId],
    without_effect: Iterable[NodeId],
    traces: Mapping[NodeId, StateTrace],
) -> list[StateChange]:
    """The changes left by the polluters that can affect the victim, the likeliest first.

    A change is likelier if no test `without_effect` leaves it, and then if more of the polluters leave it.
    """
    victim_traces = traces.get(victim)
    changes_by_polluter = [
        set(_readable_changes(traces[test], victim_traces)) for test in polluters if test in traces
    ]
    harmless = {change.state for test in without_effect if test in traces for change in traces[test].left}
    changes = sorted(set().union(*changes_by_polluter)) if changes_by_polluter else []
    return sorted(
        changes,
        key=lambda change: (
            change.state in harmless,
            -sum(change in left for left in changes_by_polluter),
            not _is_mentioned(change, victim_traces),
        ),
    )


def _readable_changes(polluter: StateTrace, victim: StateTrace | None) -> Iterable[StateChange]:
    return (change for change in polluter.left if may_read(change, victim))


def _is_mentioned(change: StateChange, victim: StateTrace | None) -> bool:
    """Whether the victim's code mentions the changed object itself, and not only what contains it."""
    return victim is None or victim.mentions is None or change.name.rpartition(".")[2] in victim.mentions
