"""Failures beside other runs and passes without them, by time: only if they take turns is load the reason.

Undisturbed runs are made one after another, so all of them are at one moment. A test that fails at some moments
only, such as for three seconds of each half minute, passes in all of them and looks as if load made it fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby, takewhile
from math import ceil, log

from flakehound.core.history import Execution, History, Tally
from flakehound.hunt import limits

_FAILED_BESIDE_OTHERS, _PASSED_BESIDE_OTHERS, _PASSED_UNDISTURBED = "failed", "passed", "passed undisturbed"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTurns:
    """How the runs of one order, whose test never failed undisturbed, ended by time."""

    turns: int  # of failures beside others and undisturbed passes
    failed_last: bool  # the last turn is a failure
    passes_since: int  # passes beside others since the last turn
    needed: int  # turns before load is taken for the reason
    runs_until_failure: int  # beside others, in which it fails with 95 % if it fails there as often as so far

    @property
    def are_enough(self) -> bool:
        """Whether failures and passes took turns so often that no single moment explains them."""
        return self.turns >= self.needed

    @property
    def have_ended(self) -> bool:
        """Whether it no longer failed beside others after it had passed undisturbed."""
        has_passed_since = self.turns > 1 and not self.failed_last
        return has_passed_since and not self.are_enough and self.passes_since >= self.runs_until_failure


def load_turns(history: History, execution: Execution, disturbed: Tally, *, needed: int) -> LoadTurns:
    """The turns of the runs after the same tests in the same kind of process as this failure."""
    record, test = execution.record, execution.record.order[execution.position]
    executions = [
        *(s for s in history.failures_of(test) if s.prefix == execution.prefix),
        *(s for s in history.executions_after(execution.prefix, test) if s.outcome.is_pass),
    ]
    equal = [s for s in executions if s.record.isolation is record.isolation]
    ends = [_end_of(s) for s in sorted(equal, key=lambda s: s.run_number)]
    turns = [end for end, _same in groupby(end for end in ends if end != _PASSED_BESIDE_OTHERS)]
    return LoadTurns(
        turns=len(turns),
        failed_last=turns[-1:] == [_FAILED_BESIDE_OTHERS],
        passes_since=sum(1 for _ in takewhile(lambda end: end == _PASSED_BESIDE_OTHERS, reversed(ends))),
        needed=needed,
        runs_until_failure=_runs_until_failure(disturbed),
    )


def _end_of(execution: Execution) -> str:
    if execution.outcome.is_failure:
        return _FAILED_BESIDE_OTHERS
    return _PASSED_BESIDE_OTHERS if execution.record.disturbed else _PASSED_UNDISTURBED


def _runs_until_failure(disturbed: Tally) -> int:
    if disturbed.failed == disturbed.n:
        return 1
    needed = ceil(log(limits.MAX_CHANCE_OF_LIKELY_LOAD) / log(1 - disturbed.failed / disturbed.n))
    return min(needed, limits.MAX_RUNS_UNTIL_LOAD_FAILURE)
