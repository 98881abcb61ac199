"""Search for flaky tests: run what the agenda plans until the time is up or nothing is left."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The state of the agenda after the search, and what the runs cost."""

    agenda: Agenda
    spent: WorkDone
    interrupted: bool  # by the user, here or before


def search(hunt: PreparedHunt, estimate: Estimate) -> SearchResult:
    """Run the search; the history and the store grow with every run."""
    agenda = new_agenda(hunt, estimate)
    interrupted = estimate.interrupted
    _announce(hunt, agenda)
    loop = run_loop(
        hunt,
        stage=lambda: _stage(agenda),
        found=lambda: _found(agenda),
        runs_at_once=agenda.runs_at_once,
    )
    if not interrupted:
        interrupted = _run(hunt, loop, agenda)
    return SearchResult(agenda=agenda, spent=loop.work_done, interrupted=interrupted)


def run_loop(
    hunt: PreparedHunt,
    *,
    stage: Callable[[], str],
    found: Callable[[], str | None],
    runs_at_once: Callable[[int], int] = lambda jobs: jobs,
    seed: int | None = None,
) -> RunLoop:
    """A loop whose runs are stored, counted, and shown to the user with `stage` and `found`.

    `seed`: of its random choices; None: the seed of the hunt.
    """
    loop_budget = _loop_budget(hunt)
    return RunLoop(
        hunt.opened,
        hunt.history,
        loop_budget,
        save=lambda records: _save(hunt, records),
        seed=hunt.seed if seed is None else seed,
        test_limit_s=hunt.options.test_limit_s,
        report=run_observer(hunt.progress, loop_budget, stage=stage, found=found),
        runs_at_once=runs_at_once,
        work_done=hunt.work_done,
    )


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
        awaits_reference=hunt.opened.reference_run is not None,
        left_out_of_orders=hunt.tests_that_write,
        states=options.states,
        suspects=tuple(estimate.recent_failures)[:MAX_EARLIER_FAILURES],
        first_orders=estimate.first_orders,
        doubtful=estimate.doubtful,
        policy=options.policy.policy,
        candidates=Candidates() if estimate.selection is None else estimate.selection.candidates,
        priors=estimate.priors,
    )


def new_agenda(hunt: PreparedHunt, estimate: Estimate) -> Agenda:
    """The agenda for what is known now."""
    options = _search_options(hunt, estimate)
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


def _duration_text(hunt: PreparedHunt) -> str:
    time_s = duration_text(hunt.budget.limit_s or 0.0)
    if not hunt.options.ends_by_count_only:
        return f"for at most {time_s}"
    counts = ((hunt.options.runs, "runs"), (hunt.options.shuffles, "shuffles"))
    named = " and ".join(f"{number} {unit}" for number, unit in counts if number)
    return f"for at most {time_s}, longer only if {named} take longer"


def _stage(agenda: Agenda) -> str:
    return agenda.stage


def _found(agenda: Agenda) -> str:
    kinds = Counter(finding.kind.value for finding in agenda.findings())
    return ", ".join(f"{times} {kind}" for kind, times in sorted(kinds.items()))
