"""Which tests can pollute which, by what one leaves and the other's code mentions.

Pure. What a test leaves is seen by comparing its process before and after it; what a test looks at is not seen, so
a name that occurs in the code it runs stands for that. In doubt a change may be shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flakehound.core.outcomes import NodeId
from flakehound.core.records import RunRecord
from flakehound.core.states import StateChange, Traces

MOST_NAMED = 3
_HELD = ("module global", "attribute", "class attribute", "patched class attribute")
# Libraries look at these without the project's code naming them.
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


def traces_in(records: Iterable[RunRecord]) -> dict[NodeId, Traces]:
    """Test -> its traces, of the last run in which they were looked for and it ran first in its process."""
    return {record.order[0]: record.traces[0] for record in records if 0 in record.traces}


def may_share(change: StateChange, victim: Traces | None) -> bool:
    """Whether the code of a test can have looked at what another one changed."""
    if victim is None or victim.mentions is None:
        return True
    if change.kind in _HELD:
        return change.name.rpartition(".")[2] in victim.mentions
    if change.kind == "imported module":
        return change.name in victim.mentions
    if change.kind == "imported submodule":
        return change.name in victim.mentions or all(part in victim.mentions for part in change.name.split("."))
    if change.kind == "environment":
        return change.name in victim.mentions or change.name.startswith(_WIDELY_READ)
    return True


def candidates(victim: NodeId, others: Iterable[NodeId], traces: Mapping[NodeId, Traces]) -> list[NodeId]:
    """The others that left something which the victim can have looked at; one of which nothing is known is one."""
    seen = traces.get(victim)
    return [
        other
        for other in others
        if other not in traces or any(may_share(change, seen) for change in traces[other].left)
    ]


def shared_state(
    victim: NodeId, polluters: Iterable[NodeId], innocents: Iterable[NodeId], traces: Mapping[NodeId, Traces]
) -> list[StateChange]:
    """What the polluters leave that can matter to the victim, the likeliest first.

    Likeliest is what all of them leave and no test does after which the victim was as ever.
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
