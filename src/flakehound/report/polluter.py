"""What `flakehound polluter` prints and writes as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

from flakehound.core.verdicts import Verdict


def polluter_json(verdict: Verdict) -> str:
    """The verdict on the test as a JSON object."""
    facts = {
        "id": verdict.id,
        "kind": verdict.kind.value,
        "polluters": verdict.polluters,
        "state_setters": verdict.state_setters,
        "joint": verdict.joint,
        "minimal_order": verdict.minimal_order,
        "evidence": verdict.evidence,
    }
    return json.dumps(facts, indent=2)


def polluter_text(verdict: Verdict, plain_pytest: str | None) -> str:
    """The kind, the evidence and, for a flaky test, the pytest command that makes it fail."""
    return "\n".join(_lines(verdict, plain_pytest))


def _lines(verdict: Verdict, plain_pytest: str | None) -> Iterator[str]:
    yield f"{verdict.kind.value.upper()}  {verdict.id}"
    yield from (f"    {line}" for line in verdict.evidence)
    if verdict.replay is not None and verdict.kind.is_flaky:
        yield f"    {plain_pytest or 'no plain pytest command does the same'}"
