"""Evidence for the tests of verdicts."""

from __future__ import annotations

from triage_samples import TEST, entity

from flakehound.core.outcomes import Outcome
from flakehound.triage.comparison import BothSides, RunCounts
from flakehound.triage.evidence import BaseFacts, Condition, FailureEvidence, Rerun, Stage
from flakehound.triage.intersection import Intersection, Touch
from flakehound.triage.verdict import TriageVerdict, judge

HOW, OTHER = "a1b2c3d4", "99999999"  # signatures
TOUCHES = Intersection(touches=(Touch(entity=entity(), reason="it executes line 12"),), changed=12)
DISJOINT = Intersection(touches=(), changed=12)
VALID = BaseFacts(name="main", invalid="")


def counts(failed: int, runs: int, signature: str = HOW) -> RunCounts:
    return RunCounts(passed=runs - failed, failures={signature: failed} if failed else {})


def sides(here: tuple[int, int], base: tuple[int, int], at_base: str = HOW) -> BothSides:
    """Failures and runs of both sides, all in new interpreters."""
    made_here, made_there = counts(*here), counts(*base, signature=at_base)
    return BothSides(
        here=made_here, base=made_there, here_in_interpreters=made_here, base_in_interpreters=made_there
    )


def evidence(alone: BothSides | None = None, **facts: object) -> FailureEvidence:
    compared = {} if alone is None else {Condition.ALONE: alone}
    usual: dict[str, object] = {"signature": HOW, "base": VALID, "comparisons": compared}
    return FailureEvidence(id=TEST, **(usual | facts))  # type: ignore[arg-type]


def judged(alone: BothSides | None = None, **facts: object) -> TriageVerdict:
    return judge(evidence(alone, **facts))


def rerun(stage: Stage, letter: str) -> Rerun:
    return Rerun(stage=stage, outcome=Outcome(letter))
