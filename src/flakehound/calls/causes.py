"""Why a test may flake, told from what it calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from flakehound.calls.characteristic_functions import CharacteristicFunctions
from flakehound.core.calls import CallTrace, Function, Reached
from flakehound.core.verdicts import Cause, LikelyCause

# Those first that seldom are innocent: nearly every larger test opens a file or looks at a clock.
_RANK = (
    Cause.NETWORK, Cause.RANDOMNESS, Cause.ASYNC_WAIT, Cause.CONCURRENCY, Cause.TIME, Cause.UNORDERED_COLLECTION,
    Cause.RESOURCE_LEAK, Cause.FLOATING_POINT, Cause.IO,
)  # fmt: skip
_MOST_NAMED = 3  # functions per cause
_OF_PYTEST = ("/_pytest/", "/pluggy/", "/pytest_asyncio/")


def likely_causes(traces: Iterable[CallTrace], known: CharacteristicFunctions) -> tuple[LikelyCause, ...]:
    """The causes that characteristic functions speak for, the likeliest first."""
    found: dict[Cause, dict[str, Reached]] = {}
    for trace in traces:
        for reached in sorted(trace.reached, key=lambda reached: reached.phase != "call"):
            cause = known.cause_of(reached.function)
            if cause is not None:
                found.setdefault(cause, {}).setdefault(_place(reached), reached)
    ranked = sorted(found, key=lambda cause: _RANK.index(cause) if cause in _RANK else len(_RANK))
    return tuple(LikelyCause(cause=cause, evidence=_evidence(list(found[cause].values()))) for cause in ranked)


def _place(reached: Reached) -> str:
    return f"{reached.path}:{reached.line}"


def _evidence(reached: Sequence[Reached]) -> str:
    first = [one for one in reached if one.phase == reached[0].phase][:_MOST_NAMED]
    told = "; ".join(_sentence(one) for one in first)
    left = len(reached) - len(first)
    return f"{told}; and {left} more" if left else told


def _sentence(reached: Reached) -> str:
    where = (
        f"at {reached.path}:{reached.line} in {reached.within}" if reached.path else "outside the project's code"
    )
    when = "" if reached.phase == "call" else f"in {reached.phase} "
    return f"{when}calls {reached.function.text} {where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDifference:
    """The first function where a passing and a failing run differ; None: the run had no more calls."""

    passing: Function | None
    failing: Function | None

    @property
    def text(self) -> str:
        """As a sentence of evidence."""
        if self.passing is None or self.failing is None:
            function = self.passing or self.failing
            assert function is not None
            run = "passing" if self.failing is None else "failing"
            return f"its passing and failing runs part at {_named(function)}, which only the {run} one calls"
        there = f"the failing one first calls {_named(self.failing)}, the passing one {_named(self.passing)}"
        return f"its passing and failing runs part where {there}"


def _named(function: Function) -> str:
    return f"{function.text} ({function.file})" if function.kind == "python" else function.text


def call_difference(passing: CallTrace, failing: CallTrace) -> CallDifference | None:
    """Where two runs part, by the order of first calls; None when they call the same functions.

    What pytest calls to show a failed assertion is left out: it is how a test fails, not why.
    """
    passed, failed = _own_order(passing), _own_order(failing)
    for one, other in zip_longest(passed, failed):
        if one != other:
            # A function that both call, only sooner or later, is where the other one took its own way.
            return CallDifference(
                passing=None if one in failed and other not in passed else one,
                failing=None if other in passed and one not in failed else other,
            )
    return None


def _own_order(trace: CallTrace) -> list[Function]:
    return [
        function
        for function in trace.calls.get("call", {})
        if not any(part in function.file for part in _OF_PYTEST)
    ]
