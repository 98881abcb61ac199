"""Counts, rates and lists of names as every report writes them."""

from __future__ import annotations

from collections.abc import Sequence

from flakehound.core.history import Tally
from flakehound.core.plans import Setting
from flakehound.core.statistics.rates import Rate, highest_unseen_rate
from flakehound.core.verdicts import Kind, Verdict

FLAKY_KINDS = (Kind.NOD, Kind.VICTIM, Kind.BRITTLE, Kind.NON_IDEMPOTENT)  # in the order of a report
RATE_SETTINGS = (Setting.ORIGINAL, Setting.SHUFFLED, Setting.ALONE)  # settings that count for a failure rate
SAME_ORDER_SETTINGS = (Setting.ORIGINAL, Setting.ALONE)  # settings whose order cannot cause a failure

MEANINGS = {
    Kind.NOD: "Passes and fails in one and the same order.",
    Kind.VICTIM: "Passes alone, fails when another test, its polluter, ran before it.",
    Kind.BRITTLE: "Fails alone, passes only when another test, its state-setter, ran before it.",
    Kind.NON_IDEMPOTENT: "Passes the first time, fails when run again in the same process.",
    Kind.STEADY: "Never seen failing.",
    Kind.FAILING: "Never seen passing.",
    Kind.UNRESOLVED: "Failed at least once, and the evidence does not yet say why.",
}


def counted(number: int, noun: str) -> str:
    """A number and its noun: "1 run", "2,000 runs"."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"


def percent(share: float) -> str:
    """A share in percent, without the sign; a share near 0 or 1 is not rounded to 0 or 100."""
    if 0 < share < 0.01:
        return f"{share * 100:.1g}"
    if 0.99 < share < 1:
        return f"{min(share * 100, 99.9):.1f}"
    return f"{share * 100:.0f}"


def interval(rate: Rate) -> str:
    """A rate with its uncertainty: "17 %, 95 % interval 8–31 %"."""
    return f"{percent(rate.mean)} %, 95 % interval {percent(rate.low)}–{percent(rate.high)} %"


def one_failure_in(passes: int) -> int:
    """N of "fails at most 1 in N runs" (95 %) for a test that passed `passes` times and never failed.

    Rounded down: the statement must not be stronger than the proof.
    """
    return int(1 / highest_unseen_rate(passes))


def few(names: Sequence[str], most: int = 3) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(names[:most])
    left = len(names) - most
    return f"{shown} and {left} more" if left > 0 else shown


def tally_of(verdict: Verdict, *settings: Setting) -> Tally:
    """Executions and failures over the named settings."""
    return sum((verdict.tallies.get(setting, Tally()) for setting in settings), Tally())
