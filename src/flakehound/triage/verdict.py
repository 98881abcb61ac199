"""From all that is known about a failing test to one verdict.

The order of the rules is the order of their proofs: a rerun that passed, a run at the base, the comparison
of the change with what the test depends on. Whatever proves nothing is undecided, never innocent.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from flakehound.core.collection_patterns import Patterns
from flakehound.core.outcomes import NodeId
from flakehound.triage import evidence
from flakehound.triage.case import Case, Condition, Rerun, Stage
from flakehound.triage.changes import Sort
from flakehound.triage.intersection import Intersection, Touch

CHECK_BASE = "--flakehound-check-base"


class Decision(Enum):
    """What we say about a failing test."""

    FLAKY = "flaky"
    UNRELATED = "unrelated"  # the change cannot have caused it
    LIKELY_REAL = "likely-real"
    UNDECIDED = "undecided"


class FlakyKind(Enum):
    """How the failures of a flaky test keep together."""

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
    """One failing test, judged."""

    id: NodeId
    verdict: Decision
    evidence: str  # one sentence with the counts
    kind: FlakyKind | None = None
    stage: Stage | None = None  # the one that decided; None: none did
    touches: tuple[Touch, ...] = ()
    polluters: tuple[NodeId, ...] = ()
    reruns: tuple[Rerun, ...] = ()
    cleared: bool = False  # proven: the failure is not the change's doing

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


def judge(case: Case) -> TriageVerdict:
    """The verdict the evidence allows, and not more."""
    if case.first_passed:
        return _passed(case, case.first_passed)
    if not any(rerun.tells for rerun in case.reruns):
        return _verdict(case, Decision.UNDECIDED, evidence.relation(case), evidence.past(case))
    return _never_passed(case)


def is_tolerable(verdict: TriageVerdict) -> bool:
    """Whether a build may stay green in spite of the failure: only when the change is proven innocent of it."""
    return verdict.cleared and verdict.verdict in (Decision.FLAKY, Decision.UNRELATED)


def _passed(case: Case, stage: Stage) -> TriageVerdict:
    check = evidence.check(case.base_check, case.base) if case.base_check else ""
    clauses = (evidence.random_state(case), evidence.relation(case), check)
    if case.base_check and case.base_check.shows_a_regression:
        return _verdict(case, Decision.LIKELY_REAL, *clauses, evidence.past(case), stage=Stage.INTERSECT)
    if _may_hide_a_regression(case, _KINDS[stage]):
        return _verdict(case, Decision.UNDECIDED, *clauses, _caution(case), evidence.past(case))
    return _verdict(
        case,
        Decision.FLAKY,
        *clauses,
        _caution(case),
        evidence.past(case),
        kind=_KINDS[stage],
        stage=stage,
        cleared=case.failed_before or _cannot_be_the_change(case, _KINDS[stage]),
    )


def _may_hide_a_regression(case: Case, kind: FlakyKind) -> bool:
    """Whether the change may have made it fail sometimes, and nothing shows that it did so before.

    A new test cannot have been broken. What only test code touches is its author's to see.
    """
    if case.failed_before or case.is_new or not case.versioned or case.unchanged:
        return False
    own = list(case.intersection.touches) if case.intersection else []
    if kind is not FlakyKind.STATE_DEPENDENT:
        return any(not _is_of_tests(touch) for touch in own)
    if case.company is None:
        return True
    return bool(case.company.doubts) or any(not _is_of_tests(touch) for touch in case.company.touches)


def _is_of_tests(touch: Touch) -> bool:
    # A test that is new or changed can be a polluter that is not there, or not the same, at the base.
    return touch.entity.sort is Sort.TEST or Patterns().is_test_file(touch.entity.path)


def _caution(case: Case) -> str:
    """What a flaky test that touches the change leaves open."""
    if case.failed_before:
        return "it failed before the change as well"
    suspects = [found for found in (case.intersection, case.company) if found]
    return "the change may have made it flaky" if any(found.intersects for found in suspects) else ""


def _cannot_be_the_change(case: Case, kind: FlakyKind) -> bool:
    if not case.versioned or case.unchanged:
        return True
    # What made it fail ran before it: its own dependencies clear the change only of what it does itself.
    found = [case.intersection, *([case.company] if kind is FlakyKind.STATE_DEPENDENT else [])]
    return all(one is not None and one.is_disjoint for one in found)


def _never_passed(case: Case) -> TriageVerdict:
    alone, failure = case.earlier.alone, case.earlier.failure
    if _fails_without_the_change(case):
        told = f"in the same order it fails at {case.base} as well, where it passed before"
        clauses = (evidence.relation(case), told, evidence.past(case))
        return _verdict(case, Decision.UNRELATED, *clauses, stage=Stage.INTERSECT, cleared=True)
    # A base that fails in another way (its worktree may lack a file that git does not know) proves nothing.
    if alone.n and alone.failed == alone.n and failure in ("", case.failure):
        return _verdict(case, Decision.UNDECIDED, _as_well(case), evidence.past(case))
    if case.intersection is None:
        return _verdict(case, Decision.UNDECIDED, evidence.relation(case), evidence.past(case))
    if case.intersection.is_disjoint:
        return _disjoint(case, case.intersection)
    told = f"failed {alone.failed} of {alone.n} runs alone at {case.base}" if alone.failed else ""
    clauses = (evidence.relation(case), told, evidence.past(case))
    return _verdict(case, Decision.LIKELY_REAL, *clauses, stage=Stage.INTERSECT)


def _as_well(case: Case) -> str:
    alone, among = case.earlier.alone, case.earlier.among
    told = f"fails at {case.base} as well ({alone.failed} of {alone.n} runs alone)"
    if among.passed:  # what the change did to those others is not known
        return f"{told}, where it passed after other tests ({among.passed} of {among.n} runs)"
    return f"{told}: the change did not break it, no rerun passed"


def _fails_without_the_change(case: Case) -> bool:
    """Whether a test that touches nothing, and used to pass, now fails in the same way and order at the base."""
    check, found = case.base_check, case.intersection
    if check is None or check.condition is not Condition.SAME_ORDER or found is None or not found.is_disjoint:
        return False
    always = 0 < check.base.n == check.base.failed
    return always and case.is_alike(check.failure) and case.earlier.among.passed > 0


def _disjoint(case: Case, found: Intersection) -> TriageVerdict:
    missing = _missing_proof(case, found)
    if missing:
        return _verdict(case, Decision.UNDECIDED, evidence.relation(case), missing, evidence.past(case))
    return _verdict(
        case,
        Decision.UNRELATED,
        evidence.relation(case),
        f"passed before, at {case.base} or earlier",
        evidence.past(case),
        stage=Stage.INTERSECT,
        cleared=True,
    )


def _missing_proof(case: Case, found: Intersection) -> str:
    """What keeps a test that touches nothing from being unrelated to the change; empty: nothing."""
    earlier = case.earlier
    if not (earlier.alone.passed or earlier.among.passed):
        return f"not known to have passed before: {CHECK_BASE} would run it at {case.base}"
    if not found.changed:
        return ""
    if not case.recorded_alike:
        return "the rerun that was recorded may have failed for another reason"
    # A test that needs another one before it fails alone with or without the change.
    if earlier.alone.passed or (case.company and case.company.is_disjoint):
        return ""
    return f"it passed before only after other tests: {CHECK_BASE} would run it alone at {case.base}"


def _verdict(
    case: Case,
    decision: Decision,
    *clauses: str,
    kind: FlakyKind | None = None,
    stage: Stage | None = None,
    cleared: bool = False,
) -> TriageVerdict:
    found = [one for one in (case.intersection, case.company) if one]
    return TriageVerdict(
        id=case.id,
        verdict=decision,
        evidence=evidence.sentence(evidence.reruns(case), *clauses),
        kind=kind,
        stage=stage,
        touches=tuple(dict.fromkeys(touch for one in found for touch in one.touches)),
        polluters=case.polluters,
        reruns=case.reruns,
        cleared=cleared,
    )
