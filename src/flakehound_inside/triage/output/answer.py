"""What the user gets to see of a triage: the section in the terminal, and what a tolerant run may overlook."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Sequence

    import pytest

    from flakehound_inside.triage.message_types import Failure

_LETTERS = {"P": "passed", "x": "failed as expected", "X": "passed", "S": "was skipped"}


def lines_of(answer: dict[str, Any], facts: dict[str, Any]) -> list[str]:
    """The controller's summary, and what was noted inside where it does not repeat that."""
    lines = [str(line) for line in answer.get("summary", ())]
    lines += ["note: %s" % note for note in answer.get("notes", ())]
    said = "\n".join(lines)
    own = [facts["not_rerun"]] if facts["not_rerun"] else []
    return lines + ["note: %s" % note for note in own + facts["notes"] if note not in said]


def known_so_far(facts: dict[str, Any]) -> list[str]:
    """The reruns inside, one line per failure, for a triage that was interrupted."""
    failures = ["  %s: %s" % (failure["id"], _reruns_told(failure["reruns"])) for failure in facts["failures"]]
    notes = ["note: %s" % note for note in [facts["not_rerun"], *facts["notes"]] if note]
    return ["interrupted; known so far:", *failures, *notes]


def _reruns_told(reruns: Sequence[dict[str, Any]]) -> str:
    if not reruns:
        return "failed, not rerun"
    told = ["%s in the %s rerun" % (_LETTERS.get(r["outcome"], "failed"), r["stage"]) for r in reruns]
    return "failed, then " + ", ".join(told)


def against_tolerance(
    session: pytest.Session, answer: dict[str, Any], failed_reports: int, failures: Sequence[Failure]
) -> str | None:
    """Why the run stays red although tolerance was asked for; None when every failure is proven flaky."""
    if session.shouldfail or session.shouldstop:
        return "the run was stopped before its last test"
    if session.testsfailed != failed_reports:
        return "pytest counts %d failures, and %d are of tests" % (session.testsfailed, failed_reports)
    judged = {failure["id"] for failure in answer["triage"]["failures"]}
    missing = [failure["id"] for failure in failures if failure["id"] not in judged]
    if missing:
        return "%s was not judged" % missing[0]
    if answer["triage"].get("tolerable") is not True:
        return "not every failure is proven flaky"
    return None
