"""Evidence for the tests of verdicts."""

from __future__ import annotations

from triage_samples import TEST, entity

from flakehound.core.history import Tally
from flakehound.core.outcomes import Outcome
from flakehound.triage.evidence import BaseCheck, Condition, FailureEvidence, Rerun, Stage
from flakehound.triage.intersection import Intersection, Touch
from flakehound.triage.verdict import judge

HOW = "a1b2c3d4"  # the signature of the failure


TOUCH = Touch(entity=entity(), reason="it executes line 12")


TOUCHES = Intersection(touches=(TOUCH,), changed=12)


DISJOINT = Intersection(touches=(), changed=12)


DOUBTFUL = Intersection(touches=(), changed=12, doubts=("it started a process: git status",))


UNCHANGED = Intersection(touches=(), changed=0)


NEW_AT_BASE = BaseCheck(condition=Condition.ALONE, problem="it does not exist at the base", is_new=True)


def reruns(immediate="F", postponed="F", forked="F", new="F"):
    letters = zip(Stage, (immediate, postponed, forked, new), strict=False)
    return tuple(
        Rerun(
            stage=stage,
            outcome=Outcome(letter),
            seed=7,
            signature=HOW if letter in "FECT" else "",
            recorded=stage is Stage.NEW_INTERPRETER,
        )
        for stage, found in letters
        for letter in found
    )


def judged(found=None, **facts):
    facts = {"intersection": DISJOINT, "signature": HOW, "base": "main", **facts}
    return judge(FailureEvidence(id=TEST, reruns=reruns() if found is None else found, **facts))


def checked(here, base, *, condition=Condition.RANDOM_STATE, signature=HOW):
    return BaseCheck(
        condition=condition,
        here=Tally(n=here[0], failed=here[1]),
        base=Tally(n=base[0], failed=base[1]),
        signature=signature,
    )
