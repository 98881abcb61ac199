"""The sentence that explains a verdict to the user: the deciding clause first, then counts and details."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flakehound.core.outcomes import NodeId
from flakehound.triage.comparison import RunCounts
from flakehound.triage.evidence import Condition, FailureEvidence, Rerun, Stage
from flakehound.triage.intersection import Intersection, Touch

_MAX_POLLUTERS = 2


def sentence(*clauses: str) -> str:
    """Join clauses to one sentence; empty ones are left out."""
    return "; ".join(clause for clause in clauses if clause)


def passes_at_base(failure: FailureEvidence) -> str:
    """Why it is a regression: it passes at the base and fails here."""
    here, base, name = failure.sides.here, failure.sides.base, failure.base.name
    how = _condition(failure)
    if not base.failed and not here.passed:
        return f"passes at {name} ({base.passed} of {base.n} runs {how}), fails here ({_failed(here)})"
    return f"fails more often here: {_failed(here)} runs {how}, {_failed(base)} at {name}"


def fails_at_base(failure: FailureEvidence) -> str:
    """Why it is cleared: it fails without the change as often."""
    if failure.sides.base.failed or not failure.failed_as_often_before:
        words = "as often" if failure.passes_here else "as well"
        return f"fails at {failure.base.name} {words}: {both_sides(failure)}"
    return f"failed in the same way before the change: {failure.past_runs}; {both_sides(failure)}"


def both_sides(failure: FailureEvidence) -> str:
    """The counts of both sides under the condition."""
    here, base = failure.sides.here, failure.sides.base
    if not here.n:
        return ""
    at_base = f", {_failed(base)} at {failure.base.name}" if base.n else ""
    return f"failed {_failed(here)} {_runs(here)} {_condition(failure)} here{at_base}"


def like_others(failure: FailureEvidence) -> str:
    """Why a few runs suffice: many tests of the same run behave in this way."""
    others = "test" if failure.is_like_others == 1 else "tests"
    return f"{passes_at_base(failure)}, like {failure.is_like_others} other {others}"


def why_open(failure: FailureEvidence) -> str:
    """Why nothing is proven."""
    base = failure.base
    if not failure.sides.here.n:
        return sentence(_no_rerun(failure.reruns), failure.why_not_rerun, _no_base(failure))
    if base.problem or base.is_new:
        return sentence(_no_base(failure), both_sides(failure))
    time = "no time for more runs" if failure.ran_out_of_time else ""
    if not failure.sides.here.failed:
        return sentence("the failure did not occur again", both_sides(failure), time)
    other = failure.sides.base.failed - failure.sides.same_at_base.failed
    if other:
        return sentence(f"fails in another way at {base.name}", both_sides(failure), time)
    return sentence("neither proven flaky nor a regression", both_sides(failure), time)


def _no_base(failure: FailureEvidence) -> str:
    base = failure.base
    if base.is_new:
        return f"there is nothing to compare with at {base.name}: {base.problem}"
    return f"not compared with a base: {base.problem}" if base.problem else ""


def details(failure: FailureEvidence) -> Iterator[str]:
    """What else is known: reruns in its process, polluters, what it touches, earlier runs."""
    yield _in_its_process(failure.reruns)
    if failure.passed_in_its_process and failure.new_process_reruns and not failure.passes_here:
        yield "passes only where it has failed before"
    if failure.polluters:
        yield f"fails after {_names(failure.polluters)}"
    if failure.intersection is not None:
        yield touching(failure.intersection)
    if failure.past_runs is not None and not failure.failed_as_often_before:
        yield str(failure.past_runs)


def touching(found: Intersection) -> str:
    """Which changes the test touches, or may touch."""
    if found.touches:
        return f"touches {_named(found.touches)}"
    if not found.changed:
        return ""
    if found.doubts:
        return f"may touch {_changes(found)}: {found.doubts[0]}"
    return f"was not seen to touch {_changes(found)}"


def _in_its_process(reruns: Sequence[Rerun]) -> str:
    """How the reruns in the process of the failure ended."""
    stages = [stage for stage in (Stage.IMMEDIATE, Stage.POSTPONED) if _conclusive(reruns, stage)]
    words = []
    for stage in stages:
        found = _conclusive(reruns, stage)
        passed = sum(rerun.passed for rerun in found)
        outcome = f"passed {passed} of" if passed else "failed"
        words.append(f"{outcome} {_counted(len(found), f'{stage.value} rerun')}")
    return ", ".join(words)


def _conclusive(reruns: Sequence[Rerun], stage: Stage) -> list[Rerun]:
    return [rerun for rerun in reruns if rerun.stage is stage and rerun.is_conclusive]


def _no_rerun(found: Sequence[Rerun]) -> str:
    ran = any(rerun.outcome.is_pass or rerun.outcome.value == "S" for rerun in found)
    return "every rerun was skipped or failed as expected" if ran else "no rerun in a new process"


def _condition(failure: FailureEvidence) -> str:
    if failure.condition is Condition.AFTER_OTHERS and failure.polluters:
        return f"after {_names(failure.polluters)}"
    return failure.condition.value


def _names(tests: Sequence[NodeId]) -> str:
    shown = " and ".join(tests[:_MAX_POLLUTERS])
    more = len(tests) - _MAX_POLLUTERS
    return f"{shown} and {more} more" if more > 0 else shown


def _failed(counts: RunCounts) -> str:
    return f"{counts.failed} of {counts.n}"


def _runs(counts: RunCounts) -> str:
    return "run" if counts.n == 1 else "runs"


def _named(touches: Sequence[Touch]) -> str:
    more = f" and {_counted(len(touches) - 1, 'more change')}" if len(touches) > 1 else ""
    return f"{touches[0]}{more}"


def _changes(found: Intersection) -> str:
    return "the 1 change" if found.changed == 1 else f"the {found.changed} changes"


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
