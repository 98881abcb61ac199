"""The sentence that lets a reader believe a verdict."""

from __future__ import annotations

from collections.abc import Sequence

from flakehound.core.history import Tally
from flakehound.triage.case import BaseCheck, Case, Rerun, Stage, first_passed
from flakehound.triage.intersection import Intersection, Touch


def sentence(*clauses: str) -> str:
    """Clauses as one sentence; empty ones are left out."""
    return "; ".join(clause for clause in clauses if clause)


def reruns(case: Case) -> str:
    """How the reruns went, stage by stage."""
    told = [rerun for rerun in case.reruns if rerun.tells]
    if not told:
        return sentence(_no_rerun(case.reruns), case.not_rerun)
    if first_passed(told) is None:
        counts = ", ".join(f"{len(_of(told, stage))} {stage.value}" for stage in Stage if _of(told, stage))
        return f"failed all of {_counted(len(told), 'rerun')} ({counts})"
    only = "passes only where it has failed before" if case.needs_its_own_failure else ""
    return sentence(_by_stage(told), only)


def _by_stage(told: Sequence[Rerun]) -> str:
    return ", ".join(_stage(stage, _of(told, stage)) for stage in Stage if _of(told, stage))


def relation(case: Case) -> str:
    """What the test has to do with the change."""
    found = case.intersection
    if found is None:
        return case.no_intersection
    if case.unchanged:
        return f"nothing changed since {case.base}"
    own = touching(found)
    return sentence(own or _apart(found), _company(case))


def random_state(case: Case) -> str:
    """Whether the random numbers of the failure make it fail again."""
    again = case.same_state
    return f"with the random numbers of the failure failed {_of_runs(again)}" if again.failed else ""


def _apart(found: Intersection) -> str:
    return "does not touch the 1 change" if found.changed == 1 else f"touches none of {_changes(found)}"


def touching(found: Intersection) -> str:
    """What it touches, or may; empty when it touches nothing."""
    if found.touches:
        return f"touches {_named(found.touches)}"
    return f"may touch {_changes(found)}: {found.doubts[0]}" if found.doubts else ""


def check(done: BaseCheck, base: str) -> str:
    """What the same condition did here and at the base."""
    if done.problem:
        return f"{base} could not be asked: {done.problem}"
    if not (done.here.n and done.base.n):
        return ""
    return f"{done.condition.value} failed {_of_runs(done.here)} here and {_of_runs(done.base)} at {base}"


def past(case: Case) -> str:
    """What the store remembers."""
    return str(case.earlier.past or "")


def _no_rerun(found: Sequence[Rerun]) -> str:
    ran = any(rerun.outcome.is_pass or rerun.outcome.value == "S" for rerun in found)
    return "every rerun was skipped or failed as expected" if ran else "no rerun could run"


def _of(found: Sequence[Rerun], stage: Stage) -> list[Rerun]:
    return [rerun for rerun in found if rerun.stage is stage]


def _stage(stage: Stage, found: Sequence[Rerun]) -> str:
    passed = sum(rerun.passed for rerun in found)
    return f"passed {passed} of {_counted(len(found), f'{stage.value} rerun')}"


def _company(case: Case) -> str:
    if case.company is None:
        return f"fails after {' and '.join(case.polluters)}" if case.polluters else ""
    who = " and ".join(case.polluters) or "what ran before it"
    said = touching(case.company) or "touches none of them"
    return f"fails after {who}, which {said}" if case.polluters else f"{who} {said}"


def _named(touches: Sequence[Touch]) -> str:
    more = f" and {_counted(len(touches) - 1, 'more change')}" if len(touches) > 1 else ""
    return f"{touches[0]}{more}"


def _changes(found: Intersection) -> str:
    return "the 1 change" if found.changed == 1 else f"the {found.changed} changes"


def _of_runs(tally: Tally) -> str:
    return f"{tally.failed} of {tally.n}"


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
