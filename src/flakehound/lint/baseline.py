"""Findings a team has decided to live with for now, recognised again after lines have moved."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from flakehound.core.errors import UsageError
from flakehound.core.predictions import LintFinding

SCHEMA = "flakehound/lint-baseline/2"


class BadBaseline(UsageError):
    """A baseline file that we did not write."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name!r} is no baseline of flakehound", detail=reason)


def baseline_text(findings: Iterable[LintFinding]) -> str:
    """The text of a baseline file: at how many places each finding is there now."""
    places = {(finding.fingerprint, finding.path, finding.line) for finding in findings}
    counts = Counter(name for name, _path, _line in places)
    return json.dumps({"schema": SCHEMA, "known": dict(sorted(counts.items()))}, indent=1) + "\n"


def parse_baseline(text: str, name: str) -> Mapping[str, int]:
    """The findings of a baseline file; `name` is for the error."""
    try:
        found = json.loads(text)
    except ValueError as fault:
        raise BadBaseline(name, str(fault)) from fault
    known = found.get("known") if isinstance(found, dict) and found.get("schema") == SCHEMA else None
    if not isinstance(known, dict) or not all(isinstance(count, int) for count in known.values()):
        raise BadBaseline(name, f"its schema is not {SCHEMA}")
    return known


def new_findings(findings: Iterable[LintFinding], known: Mapping[str, int]) -> Iterator[LintFinding]:
    """The findings that the baseline does not hold; a second place of the same kind in a function is new."""
    left = Counter(known)
    allowed: set[tuple[str, str, int]] = set()
    for finding in findings:
        place = (finding.fingerprint, finding.path, finding.line)
        if place not in allowed and left[place[0]] > 0:
            left[place[0]] -= 1
            allowed.add(place)
        if place not in allowed:
            yield finding
