"""Search for flaky tests: run what the agenda plans until the time is up or nothing is left."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from flakehound.app.hunt.estimate import Estimate
from flakehound.app.hunt.prepared import PreparedHunt
from flakehound.app.progress import run_observer
from flakehound.core.plans import Isolation, RunPlan, Setting
from flakehound.core.records import RunRecord
from flakehound.engine.suite.budget import Budget
from flakehound.engine.suite.loop import RunLoop, WorkDone
from flakehound.hunt.agenda import Agenda
from flakehound.hunt.counted_agenda import CountedAgenda
from flakehound.hunt.limits import MAX_EARLIER_FAILURES
from flakehound.hunt.options import Candidates, SearchOptions
from flakehound.report.durations import duration_text
from flakehound.report.hunt.result import expected_flaky_tests


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The state of the agenda after the search, and what the runs cost."""

    agenda: Agenda
    spent: WorkDone
    interrupted: bool  # by the user, here or before


def search(hunt: PreparedHunt, estimate: Estimate) -> SearchResult:
    """Run the search; the history and the store grow with every run."""
    agenda = _agenda(hunt, _search_options(hunt, estimate))
    loop_budget = _loop_budget(hunt)
    interrupted = estimate.interrupted
    _announce(hunt, agenda)
    loop = RunLoop(
        hunt.opened,
        hunt.history,
        loop_budget,
        save=lambda records: _save(hunt, records),
        seed=hunt.seed,
        test_limit_s=hunt.options.test_limit_s,
        report=run_observer(
            hunt.progress, loop_budget, stage=lambda: _stage(agenda), found=lambda: _found(agenda)
        ),
        runs_at_once=agenda.runs_at_once,
    )
    if not interrupted:
        interrupted = _run(hunt, loop, agenda)
    return SearchResult(agenda=agenda, spent=loop.work_done, interrupted=interrupted)


def _run(hunt: PreparedHunt, loop: RunLoop, agenda: Agenda) -> bool:
    """Run the loop; returns whether the user interrupted it."""
    try:
        loop.run(agenda)
        # Proofs matter more than causes: open suspects may use the time that was reserved for causes.
        hunt.budget.release_reserve()
        loop.run(_FollowUpsOnly(agenda))
    except KeyboardInterrupt:
        return True
    return False


class _FollowUpsOnly:
    """A planner that follows up failures already seen and looks for no new ones."""

    def __init__(self, agenda: Agenda) -> None:
        self.follow_ups = agenda.follow_ups

    def next_search_run(self) -> RunPlan | None:
        """None: looks for no new failures."""
        return None


def _search_options(hunt: PreparedHunt, estimate: Estimate) -> SearchOptions:
    options = hunt.options
    return SearchOptions(
        seed=hunt.session.base_seed,
        jobs=hunt.jobs,
        isolation=hunt.opened.isolation,
        snapshots=not hunt.runs_serially,
        techniques=options.techniques,
        runs=options.runs,
        shuffles=options.shuffles,
        hash_seeds="PYTHONHASHSEED" not in os.environ,
        endless=options.budget_s is not None and not options.is_counted,
        pairs=options.pairs,
        states=options.states,
        suspects=tuple(estimate.recent_failures)[:MAX_EARLIER_FAILURES],
        policy=options.policy.policy,
        candidates=Candidates() if estimate.selection is None else estimate.selection.candidates,
        priors=estimate.priors,
    )


def _agenda(hunt: PreparedHunt, options: SearchOptions) -> Agenda:
    pool, budget = hunt.opened.pool, hunt.budget
    if not hunt.options.ends_by_count_only:
        return Agenda(hunt.history, options, lambda: budget.left_s)
    return CountedAgenda(hunt.history, options, lambda: budget.left_s, is_busy=lambda: bool(pool.running))


def _loop_budget(hunt: PreparedHunt) -> Budget:
    """The budget of the loop; without a limit for counted runs, where the agenda observes the hunt's budget."""
    if not hunt.options.ends_by_count_only:
        return hunt.budget
    return hunt.budget.without_limit()


def _save(hunt: PreparedHunt, records: Sequence[RunRecord]) -> None:
    """Store runs. A plain run of the whole suite may show that the default time is too long."""
    hunt.save_runs(records)
    for record in records:
        is_whole = len(record.order) == len(hunt.opened.suite.tests) and not record.ended
        if is_whole and record.setting is Setting.ORIGINAL and record.isolation is Isolation.FORK:
            hunt.budget.lower_default(hunt.opened.start_s + record.usage.wall_s)


def _announce(hunt: PreparedHunt, agenda: Agenda) -> None:
    tests = len(hunt.opened.suite.tests)
    hunt.progress.message(f"{tests} tests, hunting {_duration_text(hunt)} (seed {hunt.session.base_seed}) ...")
    expected = agenda.expected_detections_in(hunt.budget.left_s)
    if expected is not None:
        number = expected_flaky_tests(expected)
        hunt.progress.message(f"the time is expected to show {number}, judging by other suites")


def _duration_text(hunt: PreparedHunt) -> str:
    time_s = duration_text(hunt.budget.limit_s or 0.0)
    if not hunt.options.ends_by_count_only:
        return f"for at most {time_s}"
    counts = ((hunt.options.runs, "runs"), (hunt.options.shuffles, "shuffles"))
    named = " and ".join(f"{number} {unit}" for number, unit in counts if number)
    return f"for at most {time_s}, longer only if {named} take longer"


def _stage(agenda: Agenda) -> str:
    expected = agenda.expected_detections
    return agenda.stage + ("" if expected is None else f" ({expected_flaky_tests(expected)} expected)")


def _found(agenda: Agenda) -> str:
    kinds = Counter(finding.kind.value for finding in agenda.findings())
    return ", ".join(f"{times} {kind}" for kind, times in sorted(kinds.items()))
