"""The rules that turn the evidence about a failing test into one verdict.

A failure is cleared only by runs at the base: it must fail there in the same ways and as often. The table is in
docs/internals/triage-decisions.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from flakehound.core.outcomes import NodeId
from flakehound.triage import explanation
from flakehound.triage.comparison import NO_COUNTS, Difference, RunCounts
from flakehound.triage.evidence import (
    Condition,
    FailureEvidence,
    Rerun,
    Stage,
    first_passed_stage,
)
from flakehound.triage.intersection import Touch


class Decision(Enum):
    """The possible verdicts on a failing test."""

    FLAKY = "flaky"
    UNRELATED = "unrelated"  # it was broken before the change
    LIKELY_REAL = "likely-real"
    UNDECIDED = "undecided"


class FlakyKind(Enum):
    """When a flaky test passes again."""

    NOT_BURSTY = "not-bursty"
    BURSTY = "bursty"
    STATE_DEPENDENT = "state-dependent"


_KINDS = {
    Stage.IMMEDIATE: FlakyKind.NOT_BURSTY,
    Stage.POSTPONED: FlakyKind.BURSTY,
    Stage.FORKED: FlakyKind.STATE_DEPENDENT,
    Stage.NEW_INTERPRETER: FlakyKind.STATE_DEPENDENT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageVerdict:
    """The verdict on one failing test."""

    id: NodeId
    verdict: Decision
    evidence: str  # one sentence with the counts, the deciding clause first
    kind: FlakyKind | None = None
    stage: Stage | None = None  # the stage that decided; None: no stage did
    touches: tuple[Touch, ...] = ()
    polluters: tuple[NodeId, ...] = ()
    reruns: tuple[Rerun, ...] = ()
    condition: Condition | None = None  # under which both sides were compared
    here: RunCounts = NO_COUNTS
    base: RunCounts = NO_COUNTS
    base_name: str = ""

    @property
    def is_tolerable(self) -> bool:
        """Whether a build may stay green in spite of it: it is proven that the change did not cause it."""
        return self.verdict in (Decision.FLAKY, Decision.UNRELATED)

    def as_json(self) -> dict[str, object]:
        """One failure of `flakehound/triage/1`."""
        return {
            "id": self.id,
            "verdict": self.verdict.value,
            "kind": self.kind.value if self.kind else None,
            "stage": self.stage.value if self.stage else None,
            "tolerable": self.is_tolerable,
            "why_tolerable": f"as often at {self.base_name}" if self.is_tolerable else None,
            "evidence": self.evidence,
            "touches": [str(touch.entity) for touch in self.touches],
            "polluters": list(self.polluters),
            "condition": self.condition.value if self.condition else None,
            "here": _counts_as_json(self.here),
            "base": _counts_as_json(self.base),
            "reruns": [
                {"stage": rerun.stage.value, "outcome": rerun.outcome.value, "seed": rerun.seed}
                for rerun in self.reruns
            ],
        }


def _counts_as_json(counts: RunCounts) -> dict[str, Any]:
    return {"runs": counts.n, "failed": counts.failed}


def judge(failure: FailureEvidence) -> TriageVerdict:
    """The verdict that the evidence proves; `undecided` without a proof."""
    if failure.is_like_others:
        return _verdict(failure, Decision.LIKELY_REAL, explanation.like_others(failure))
    if _is_regression(failure):
        return _verdict(failure, Decision.LIKELY_REAL, explanation.passes_at_base(failure), stage=Stage.BASE)
    if failure.difference is Difference.AS_OFTEN_AT_BASE or failure.failed_as_often_before:
        return _fails_without_the_change(failure)
    return _verdict(failure, Decision.UNDECIDED, explanation.why_open(failure))


def _is_regression(failure: FailureEvidence) -> bool:
    """Whether it fails more often here.

    The random numbers of a failure are no condition for this question: a harmless change may draw other numbers.
    """
    if failure.condition is Condition.RANDOM_STATE:
        return False
    sides = failure.sides
    is_clear = sides.always_and_never or (failure.ran_out_of_time and sides.forks_always_and_never)
    return failure.difference is Difference.MORE_OFTEN_HERE or is_clear


def _fails_without_the_change(failure: FailureEvidence) -> TriageVerdict:
    missing = _missing_proof(failure)
    if missing:
        return _verdict(failure, Decision.UNDECIDED, missing, explanation.both_sides(failure))
    passes = failure.passes_here or any(rerun.passed for rerun in failure.reruns)
    decision = Decision.FLAKY if passes else Decision.UNRELATED
    kind = _kind(failure) if passes else None
    return _verdict(failure, decision, explanation.fails_at_base(failure), kind=kind, stage=Stage.BASE)


def _missing_proof(failure: FailureEvidence) -> str:
    """Why the change may be the cause although the test fails without it; empty: it cannot be."""
    base, alone = failure.base, failure.compared(Condition.ALONE)
    if base.doubt:
        return f"{base.name} may contain a part of the change: {base.doubt}"
    if base.invalid:
        return f"runs at {base.name} do not show how it behaves without the change: {base.invalid}"
    if base.is_last_commit and not failure.passes_here:
        return f"an earlier commit than {base.name} may have broken it: --flakehound-since names another base"
    if failure.difference is not Difference.AS_OFTEN_AT_BASE:
        return ""  # the store shows it, and no run at the base is needed
    if failure.sides.has_other_values:
        return f"the values in its failure differ from those at {base.name}"
    if base.invalid is None:
        return f"it was not checked whether the runs at {base.name} used only files of {base.name}"
    if failure.condition is not Condition.ALONE and (not alone.base.passed or alone.base.failed):
        return f"it does not pass alone at {base.name}, as it does here"
    return ""


def _kind(failure: FailureEvidence) -> FlakyKind:
    if failure.condition is Condition.AFTER_OTHERS:
        return FlakyKind.STATE_DEPENDENT
    stage = failure.passed_in_its_process or first_passed_stage(failure.reruns)
    return _KINDS.get(stage, FlakyKind.NOT_BURSTY) if stage else FlakyKind.NOT_BURSTY


def _verdict(
    failure: FailureEvidence,
    decision: Decision,
    *clauses: str,
    kind: FlakyKind | None = None,
    stage: Stage | None = None,
) -> TriageVerdict:
    found, sides = failure.intersection, failure.sides
    return TriageVerdict(
        id=failure.id,
        verdict=decision,
        evidence=explanation.sentence(*clauses, *explanation.details(failure)),
        kind=kind,
        stage=stage,
        touches=found.touches if found else (),
        polluters=failure.polluters,
        reruns=failure.reruns,
        condition=failure.condition if sides.here.n else None,
        here=sides.here,
        base=sides.base,
        base_name=failure.base.name,
    )
