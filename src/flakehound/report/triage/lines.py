"""The report of a triage as lines for the terminal: verdict first, then the evidence, then the next command."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flakehound.core.outcomes import NodeId
from flakehound.report.formatting import counted, few
from flakehound.report.wrapping import LineWrapper

_LABELS = {
    "likely-real": "LIKELY REAL",
    "undecided": "UNDECIDED",
    "unrelated": "UNRELATED",
    "flaky": "FLAKY",
}  # the most urgent first
_INDENT = 13
_MAX_CHANGES = 5


def triage_lines(triage: Mapping[str, Any], *, width: int = 100) -> list[str]:
    """The `flakehound/triage/1` object as lines; the plugin prints notes after them."""
    failures = triage["failures"]
    wrapper = LineWrapper.for_ids((NodeId(failure["id"]) for failure in failures), width)
    lines = list(_changes(triage, wrapper))
    for verdict in _LABELS:
        for failure in failures:
            if failure["verdict"] == verdict:
                lines += _block(failure, wrapper)
    return [*lines, _summary(failures)]


def _changes(triage: Mapping[str, Any], wrapper: LineWrapper) -> Iterator[str]:
    changed = triage["changed"]
    if triage["since"] is None:
        return
    if changed:
        summary = f"{counted(len(changed), 'change')}: {few(changed, _MAX_CHANGES)}"
    elif triage.get("changed_files"):
        files = counted(triage["changed_files"], "file")
        summary = f"only comments, layout or line endings changed, in {files}"
    else:
        summary = "nothing changed"
    yield from wrapper.wrap(f"{summary} ({triage['since_why']})")


def _block(failure: Mapping[str, Any], wrapper: LineWrapper) -> Iterator[str]:
    label = _LABELS[failure["verdict"]]
    kind = f"  ({failure['kind'].replace('-', ' ')})" if failure["kind"] else ""
    yield f"{label:{_INDENT}}{failure['id']}{kind}"
    yield from wrapper.wrap(failure["evidence"], _INDENT)
    if failure["kind"] == "state-dependent" and not failure["polluters"]:
        yield " " * _INDENT + shlex.join(["flakehound", "polluter", failure["id"]])


def _summary(failures: Sequence[Mapping[str, Any]]) -> str:
    counts = Counter(failure["verdict"] for failure in failures)
    numbers = ", ".join(f"{counts[verdict]} {verdict.replace('-', ' ')}" for verdict in _LABELS if counts[verdict])
    return f"{counted(len(failures), 'failure')}: {numbers}" if failures else "no failure to judge"
