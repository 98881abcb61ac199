"""Read and write baseline files: findings that a team accepts for now, recognised also after lines moved."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from flakehound.core.errors import UsageError, same_command
from flakehound.core.predictions import LintFinding

SCHEMA = "flakehound/lint-baseline/3"


class BadBaseline(UsageError):
    """The error about a file that is not a baseline written by flakehound."""

    def __init__(self, name: str, reason: str) -> None:
        remedy = same_command(baseline=None, write_baseline=name)
        super().__init__(f"{name!r} is no baseline of this flakehound", detail=reason, remedy=remedy)


def baseline_text(findings: Iterable[LintFinding]) -> str:
    """The text of a baseline file: each finding with its number of places."""
    places = {(finding.fingerprint, finding.path, finding.line) for finding in findings}
    counts = Counter(fingerprint for fingerprint, _path, _line in places)
    return json.dumps({"schema": SCHEMA, "known": dict(sorted(counts.items()))}, indent=1) + "\n"


def parse_baseline(text: str, name: str) -> Mapping[str, int]:
    """The number of places of each finding in a baseline file; `name` is for the error message."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise BadBaseline(name, str(error)) from error
    known = content.get("known") if isinstance(content, dict) and content.get("schema") == SCHEMA else None
    if not isinstance(known, dict) or not all(isinstance(count, int) for count in known.values()):
        raise BadBaseline(name, f"its schema is not {SCHEMA}")
    return known


def new_findings(findings: Iterable[LintFinding], known: Mapping[str, int]) -> Iterator[LintFinding]:
    """The findings that are not in the baseline; one more place of the same finding in a function is new."""
    left = Counter(known)
    known_places: set[tuple[str, str, int]] = set()
    for finding in findings:
        place = (finding.fingerprint, finding.path, finding.line)
        if place not in known_places and left[place[0]] > 0:
            left[place[0]] -= 1
            known_places.add(place)
        if place not in known_places:
            yield finding
