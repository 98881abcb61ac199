"""The rules that turn the evidence about a failing test into one verdict.

The rules use the strongest proof first: a rerun that passed, a run at the base, the comparison of the change with
the dependencies of the test. Without a proof the verdict is "undecided".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from flakehound.core.collection_patterns import CollectionPatterns
from flakehound.core.outcomes import NodeId
from flakehound.triage import explanation
from flakehound.triage.changes import EntityKind
from flakehound.triage.evidence import Condition, FailureEvidence, Rerun, Stage
from flakehound.triage.intersection import Intersection, Touch

CHECK_BASE = "--flakehound-check-base"


class Decision(Enum):
    """The possible verdicts on a failing test."""

    FLAKY = "flaky"
    UNRELATED = "unrelated"  # the change cannot have caused it
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
    evidence: str  # one sentence with the counts
    kind: FlakyKind | None = None
    stage: Stage | None = None  # the stage that decided; None: no stage did
    touches: tuple[Touch, ...] = ()
    polluters: tuple[NodeId, ...] = ()
    reruns: tuple[Rerun, ...] = ()
    cleared: bool = False  # it is proven that the change did not cause the failure

    def as_json(self) -> dict[str, object]:
        """One failure of `flakehound/triage/1`."""
        return {
            "id": self.id,
            "verdict": self.verdict.value,
            "kind": self.kind.value if self.kind else None,
            "stage": self.stage.value if self.stage else None,
            "evidence": self.evidence,
            "touches": [str(touch.entity) for touch in self.touches],
            "polluters": list(self.polluters),
            "reruns": [
                {"stage": rerun.stage.value, "outcome": rerun.outcome.value, "seed": rerun.seed}
                for rerun in self.reruns
            ],
        }


def judge(failure: FailureEvidence) -> TriageVerdict:
    """The strongest verdict that the evidence proves."""
    if failure.first_passed:
        return _passed(failure, failure.first_passed)
    if not any(rerun.is_conclusive for rerun in failure.reruns):
        return _verdict(
            failure, Decision.UNDECIDED, explanation.relation_to_change(failure), explanation.past_runs(failure)
        )
    return _never_passed(failure)


def is_tolerable(verdict: TriageVerdict) -> bool:
    """Whether a build may stay green in spite of the failure: only if the change is proven not to be the cause."""
    return verdict.cleared and verdict.verdict in (Decision.FLAKY, Decision.UNRELATED)


def _passed(failure: FailureEvidence, stage: Stage) -> TriageVerdict:
    check = explanation.base_comparison(failure.base_check, failure.base) if failure.base_check else ""
    clauses = (explanation.effect_of_random_state(failure), explanation.relation_to_change(failure), check)
    if failure.base_check and failure.base_check.shows_a_regression:
        return _verdict(
            failure, Decision.LIKELY_REAL, *clauses, explanation.past_runs(failure), stage=Stage.INTERSECT
        )
    if _may_hide_a_regression(failure, _KINDS[stage]):
        return _verdict(
            failure, Decision.UNDECIDED, *clauses, _open_question(failure), explanation.past_runs(failure)
        )
    return _verdict(
        failure,
        Decision.FLAKY,
        *clauses,
        _open_question(failure),
        explanation.past_runs(failure),
        kind=_KINDS[stage],
        stage=stage,
        cleared=failure.failed_before or _cannot_be_the_change(failure, _KINDS[stage]),
    )


def _may_hide_a_regression(failure: FailureEvidence, kind: FlakyKind) -> bool:
    """Whether the change may have made the test fail sometimes, and no failure without the change is known.

    A new test cannot have been broken. Changes of test code alone are not counted: their author sees them.
    """
    if failure.failed_before or failure.is_new or not failure.versioned or failure.unchanged:
        return False
    own, preceding = failure.intersection, failure.preceding_intersection
    if kind is not FlakyKind.STATE_DEPENDENT:
        return own is not None and _touches_more_than_tests(own)
    return preceding is None or bool(preceding.doubts) or _touches_more_than_tests(preceding)


def _touches_more_than_tests(found: Intersection) -> bool:
    # A new or changed test can be a polluter that does not exist, or differs, at the base.
    entities = [touch.entity for touch in found.touches]
    return any(
        entity.kind is not EntityKind.TEST and not CollectionPatterns().is_test_file(entity.path)
        for entity in entities
    )


def _open_question(failure: FailureEvidence) -> str:
    """What remains unknown about a flaky test that touches the change; empty: nothing."""
    if failure.failed_before:
        return "it failed before the change as well"
    suspects = [found for found in (failure.intersection, failure.preceding_intersection) if found]
    return "the change may have made it flaky" if any(found.intersects for found in suspects) else ""


def _cannot_be_the_change(failure: FailureEvidence, kind: FlakyKind) -> bool:
    if not failure.versioned or failure.unchanged:
        return True
    # A state-dependent test fails because of tests before it, so their dependencies count as well.
    intersections = [
        failure.intersection,
        *([failure.preceding_intersection] if kind is FlakyKind.STATE_DEPENDENT else []),
    ]
    return all(intersection is not None and intersection.is_disjoint for intersection in intersections)


def _never_passed(failure: FailureEvidence) -> TriageVerdict:
    alone, signature = failure.without_change.alone, failure.without_change.signature
    if _fails_without_the_change(failure):
        base = f"in the same order it fails at {failure.base} as well, where it passed before"
        clauses = (explanation.relation_to_change(failure), base, explanation.past_runs(failure))
        return _verdict(failure, Decision.UNRELATED, *clauses, stage=Stage.INTERSECT, cleared=True)
    # A base that fails in another way proves nothing: its worktree may lack a file that is not in git.
    if alone.n and alone.failed == alone.n and signature in ("", failure.signature):
        return _verdict(failure, Decision.UNDECIDED, _fails_at_base_too(failure), explanation.past_runs(failure))
    if failure.intersection is None:
        return _verdict(
            failure, Decision.UNDECIDED, explanation.relation_to_change(failure), explanation.past_runs(failure)
        )
    if failure.intersection.is_disjoint:
        return _disjoint(failure, failure.intersection)
    base = f"failed {alone.failed} of {alone.n} runs alone at {failure.base}" if alone.failed else ""
    clauses = (explanation.relation_to_change(failure), base, explanation.past_runs(failure))
    return _verdict(failure, Decision.LIKELY_REAL, *clauses, stage=Stage.INTERSECT)


def _fails_at_base_too(failure: FailureEvidence) -> str:
    alone, after_others = failure.without_change.alone, failure.without_change.after_others
    at_base = f"fails at {failure.base} as well ({alone.failed} of {alone.n} runs alone)"
    if after_others.passed:  # it is not known what the change did to those other tests
        return f"{at_base}, where it passed after other tests ({after_others.passed} of {after_others.n} runs)"
    return f"{at_base}: the change did not break it, no rerun passed"


def _fails_without_the_change(failure: FailureEvidence) -> bool:
    """Whether a test that touches no change and used to pass now fails at the base in the same way and order."""
    check, found = failure.base_check, failure.intersection
    if check is None or check.condition is not Condition.SAME_ORDER or found is None or not found.is_disjoint:
        return False
    always = 0 < check.base.n == check.base.failed
    return always and failure.is_same_failure(check.signature) and failure.without_change.after_others.passed > 0


def _disjoint(failure: FailureEvidence, found: Intersection) -> TriageVerdict:
    missing = _missing_proof(failure, found)
    if missing:
        return _verdict(
            failure,
            Decision.UNDECIDED,
            explanation.relation_to_change(failure),
            missing,
            explanation.past_runs(failure),
        )
    return _verdict(
        failure,
        Decision.UNRELATED,
        explanation.relation_to_change(failure),
        f"passed before, at {failure.base} or earlier",
        explanation.past_runs(failure),
        stage=Stage.INTERSECT,
        cleared=True,
    )


def _missing_proof(failure: FailureEvidence, found: Intersection) -> str:
    """Why a test that touches no change is not proven to be unrelated to it; empty: it is proven."""
    without = failure.without_change
    if not (without.alone.passed or without.after_others.passed):
        return f"not known to have passed before: {CHECK_BASE} would run it at {failure.base}"
    if not found.changed:
        return ""
    if not failure.recorded_same_failure:
        return "the rerun that was recorded may have failed for another reason"
    # A test that needs another test before it fails alone, with and without the change.
    if without.alone.passed or (failure.preceding_intersection and failure.preceding_intersection.is_disjoint):
        return ""
    return f"it passed before only after other tests: {CHECK_BASE} would run it alone at {failure.base}"


def _verdict(
    failure: FailureEvidence,
    decision: Decision,
    *clauses: str,
    kind: FlakyKind | None = None,
    stage: Stage | None = None,
    cleared: bool = False,
) -> TriageVerdict:
    intersections = [found for found in (failure.intersection, failure.preceding_intersection) if found]
    return TriageVerdict(
        id=failure.id,
        verdict=decision,
        evidence=explanation.sentence(explanation.rerun_counts(failure), *clauses),
        kind=kind,
        stage=stage,
        touches=tuple(dict.fromkeys(touch for found in intersections for touch in found.touches)),
        polluters=failure.polluters,
        reruns=failure.reruns,
        cleared=cleared,
    )
