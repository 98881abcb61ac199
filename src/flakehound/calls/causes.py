"""Why a test may be flaky, concluded from the functions that it calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from flakehound.calls.characteristic_functions import CharacteristicFunctions
from flakehound.core.calls import CallSite, CallTrace, Function
from flakehound.core.verdicts import Cause, LikelyCause

# The likeliest causes first. Nearly every larger test opens a file or asks for the time without being flaky.
_CAUSE_ORDER = (
    Cause.NETWORK, Cause.RANDOMNESS, Cause.ASYNC_WAIT, Cause.CONCURRENCY, Cause.TIME, Cause.UNORDERED_COLLECTION,
    Cause.RESOURCE_LEAK, Cause.FLOATING_POINT, Cause.IO,
)  # fmt: skip
_MAX_SITES_PER_CAUSE = 3  # in the evidence
_FOLDERS_OF_PYTEST = ("/_pytest/", "/pluggy/", "/pytest_asyncio/")


def likely_causes(traces: Iterable[CallTrace], known: CharacteristicFunctions) -> tuple[LikelyCause, ...]:
    """The causes that the called characteristic functions suggest, the likeliest first."""
    sites_by_cause: dict[Cause, dict[tuple[str, int], CallSite]] = {}
    for trace in traces:
        for site in sorted(trace.call_sites, key=lambda site: site.phase != "call"):
            cause = known.cause_of(site.function)
            if cause is not None:
                sites_by_cause.setdefault(cause, {}).setdefault((site.path, site.line), site)
    causes = sorted(
        sites_by_cause, key=lambda cause: _CAUSE_ORDER.index(cause) if cause in _CAUSE_ORDER else len(_CAUSE_ORDER)
    )
    return tuple(
        LikelyCause(cause=cause, evidence=_evidence(list(sites_by_cause[cause].values()))) for cause in causes
    )


def _evidence(sites: Sequence[CallSite]) -> str:
    shown = [site for site in sites if site.phase == sites[0].phase][:_MAX_SITES_PER_CAUSE]
    text = "; ".join(map(_sentence, shown))
    others = len(sites) - len(shown)
    return f"{text}; and {others} more" if others else text


def _sentence(site: CallSite) -> str:
    where = f"at {site.path}:{site.line} in {site.caller}" if site.path else "outside the project's code"
    when = "" if site.phase == "call" else f"in {site.phase} "
    return f"{when}calls {site.function.text} {where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDifference:
    """The first function in which a passing and a failing run differ; None: the run had no more calls."""

    passing: Function | None
    failing: Function | None

    @property
    def text(self) -> str:
        """The difference as a sentence of evidence."""
        if self.passing is None or self.failing is None:
            function = self.passing or self.failing
            assert function is not None
            run = "passing" if self.failing is None else "failing"
            return f"its passing and failing runs part at {_with_file(function)}, which only the {run} one calls"
        first_calls = (
            f"the failing one first calls {_with_file(self.failing)}, the passing one {_with_file(self.passing)}"
        )
        return f"its passing and failing runs part where {first_calls}"


def _with_file(function: Function) -> str:
    return f"{function.text} ({function.file})" if function.kind == "python" else function.text


def call_difference(passing: CallTrace, failing: CallTrace) -> CallDifference | None:
    """The first difference between two runs, by the order of first calls; None if they call the same functions.

    What pytest calls to show a failed assertion is left out, because it does not cause the failure.
    """
    passed, failed = _functions_in_order(passing), _functions_in_order(failing)
    for in_passed, in_failed in zip_longest(passed, failed):
        if in_passed != in_failed:
            # If both runs call one of the two functions, only sooner or later, the other function is the
            # difference.
            return CallDifference(
                passing=None if in_passed in failed and in_failed not in passed else in_passed,
                failing=None if in_failed in passed and in_passed not in failed else in_failed,
            )
    return None


def _functions_in_order(trace: CallTrace) -> list[Function]:
    return [
        function
        for function in trace.calls.get("call", {})
        if not any(folder in function.file for folder in _FOLDERS_OF_PYTEST)
    ]
