"""Explain what the search found: verdicts, the state that tests share, and likely causes."""

from __future__ import annotations

from dataclasses import dataclass

from flakehound.app.hunt.causes_by_calls import CauseFinder
from flakehound.app.hunt.causes_by_state import StateFinder
from flakehound.app.hunt.extra_runs import ExtraRuns
from flakehound.app.hunt.prepared import PreparedHunt
from flakehound.app.hunt.search import SearchResult
from flakehound.core.verdicts import Verdict
from flakehound.engine.suite.budget import Budget
from flakehound.hunt.diagnosis.verdicts import judge
from flakehound.hunt.limits import MAX_CAUSES_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A verdict on every test."""

    verdicts: tuple[Verdict, ...]  # in the original order
    interrupted: bool  # by the user, here or before


def explain(hunt: PreparedHunt, found: SearchResult) -> Explanation:
    """Judge every test, then use the rest of the time to look for causes of the flaky ones."""
    verdicts = judge(hunt.history, found.agenda.conclude(), hunt.earlier.observations)
    if found.interrupted:
        return Explanation(verdicts=tuple(verdicts), interrupted=True)
    extra_runs = _extra_runs(hunt)
    try:
        verdicts = StateFinder(extra_runs).with_shared_state(verdicts)
        verdicts = CauseFinder(extra_runs, hunt.characteristic_functions).with_causes(verdicts)
    except KeyboardInterrupt:
        hunt.opened.pool.cancel()
        return Explanation(verdicts=tuple(verdicts), interrupted=True)
    return Explanation(verdicts=tuple(verdicts), interrupted=False)


def _extra_runs(hunt: PreparedHunt) -> ExtraRuns:
    # Counted runs may have used up the default time; the search for causes gets its own time in that case.
    extra = Budget(limit_s=MAX_CAUSES_S if hunt.options.ends_by_count_only else 0.0)
    return ExtraRuns(
        opened=hunt.opened,
        history=hunt.history,
        left_s=lambda: max(hunt.budget.left_s, extra.left_s),
        save=hunt.save_runs,
        seed=hunt.seed % 2**32,
        while_waiting=lambda: hunt.progress.show_state(lambda: "looking for causes of what was found"),
    )
