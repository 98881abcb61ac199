"""The sentence that explains a verdict to the user, with the counts that prove it."""

from __future__ import annotations

from collections.abc import Sequence

from flakehound.core.history import Tally
from flakehound.triage.evidence import BaseCheck, FailureEvidence, Rerun, Stage, first_passed_stage
from flakehound.triage.intersection import Intersection, Touch


def sentence(*clauses: str) -> str:
    """Join clauses to one sentence; empty ones are left out."""
    return "; ".join(clause for clause in clauses if clause)


def rerun_counts(failure: FailureEvidence) -> str:
    """How often it passed in each stage of reruns."""
    conclusive = [rerun for rerun in failure.reruns if rerun.is_conclusive]
    if not conclusive:
        return sentence(_no_rerun(failure.reruns), failure.why_not_rerun)
    if first_passed_stage(conclusive) is None:
        counts = ", ".join(
            f"{len(_in_stage(conclusive, stage))} {stage.value}" for stage in Stage if _in_stage(conclusive, stage)
        )
        return f"failed all of {_counted(len(conclusive), 'rerun')} ({counts})"
    only = "passes only where it has failed before" if failure.passes_only_after_failing else ""
    return sentence(_by_stage(conclusive), only)


def _by_stage(conclusive: Sequence[Rerun]) -> str:
    return ", ".join(
        _stage(stage, _in_stage(conclusive, stage)) for stage in Stage if _in_stage(conclusive, stage)
    )


def relation_to_change(failure: FailureEvidence) -> str:
    """How the test is related to the change."""
    found = failure.intersection
    if found is None:
        return failure.why_not_compared
    if failure.unchanged:
        return f"nothing changed since {failure.base}"
    own = touching(found)
    return sentence(own or _disjoint(found), _polluters(failure))


def effect_of_random_state(failure: FailureEvidence) -> str:
    """Whether the random numbers of the failure make it fail again."""
    again = failure.same_state
    return f"with the random numbers of the failure failed {_of_runs(again)}" if again.failed else ""


def _disjoint(found: Intersection) -> str:
    return "does not touch the 1 change" if found.changed == 1 else f"touches none of {_changes(found)}"


def touching(found: Intersection) -> str:
    """Which changes the test touches, or may touch; empty: none."""
    if found.touches:
        return f"touches {_named(found.touches)}"
    return f"may touch {_changes(found)}: {found.doubts[0]}" if found.doubts else ""


def base_comparison(check: BaseCheck, base: str) -> str:
    """How often the test failed under the same condition here and at the base."""
    if check.problem:
        return f"{base} could not be checked: {check.problem}"
    if not (check.here.n and check.base.n):
        return ""
    return f"{check.condition.value} failed {_of_runs(check.here)} here and {_of_runs(check.base)} at {base}"


def past_runs(failure: FailureEvidence) -> str:
    """How often it failed in the latest runs of the store."""
    return str(failure.without_change.past_runs or "")


def _no_rerun(found: Sequence[Rerun]) -> str:
    ran = any(rerun.outcome.is_pass or rerun.outcome.value == "S" for rerun in found)
    return "every rerun was skipped or failed as expected" if ran else "no rerun could run"


def _in_stage(found: Sequence[Rerun], stage: Stage) -> list[Rerun]:
    return [rerun for rerun in found if rerun.stage is stage]


def _stage(stage: Stage, found: Sequence[Rerun]) -> str:
    passed = sum(rerun.passed for rerun in found)
    return f"passed {passed} of {_counted(len(found), f'{stage.value} rerun')}"


def _polluters(failure: FailureEvidence) -> str:
    if failure.preceding_intersection is None:
        return f"fails after {' and '.join(failure.polluters)}" if failure.polluters else ""
    names = " and ".join(failure.polluters) or "what ran before it"
    found = touching(failure.preceding_intersection) or "touches none of them"
    return f"fails after {names}, which {found}" if failure.polluters else f"{names} {found}"


def _named(touches: Sequence[Touch]) -> str:
    more = f" and {_counted(len(touches) - 1, 'more change')}" if len(touches) > 1 else ""
    return f"{touches[0]}{more}"


def _changes(found: Intersection) -> str:
    return "the 1 change" if found.changed == 1 else f"the {found.changed} changes"


def _of_runs(tally: Tally) -> str:
    return f"{tally.failed} of {tally.n}"


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
