"""Run one hunt: prepare, first run, estimate priors, search, explain, summarise; then report and store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from flakehound.app.hunt.estimate import estimate_priors
from flakehound.app.hunt.explain import explain
from flakehound.app.hunt.first_run import wait_for_first_run
from flakehound.app.hunt.options import HuntOptions
from flakehound.app.hunt.prepare import prepare
from flakehound.app.hunt.prepared import PreparedHunt
from flakehound.app.hunt.search import search
from flakehound.app.hunt.selectors import selector_for
from flakehound.app.hunt.summarise import summarise
from flakehound.app.progress import SILENT, Progress
from flakehound.engine.suite.budget import Budget
from flakehound.report.hunt.as_json import report_json
from flakehound.report.hunt.result import HuntResult

Report = Callable[[HuntResult], None]


def run_hunt(
    options: HuntOptions, report: Report = lambda _result: None, *, progress: Progress = SILENT
) -> HuntResult:
    """Hunt until the time is up, nothing is left to do, or the user interrupts; then report and store."""
    budget = Budget(limit_s=options.budget_s)
    # Made first, so that a table that cannot be used is an error before anything is started.
    selector = selector_for(options.policy, options.base_seed)
    with prepare(options, budget, progress) as hunt:
        first_run = wait_for_first_run(hunt, selector)
        estimate = estimate_priors(hunt, selector, first_run.estimate, interrupted=first_run.interrupted)
        estimate = replace(estimate, doubtful=first_run.doubtful)
        found = search(hunt, estimate)
        explanation = explain(hunt, found)
        result = summarise(hunt, estimate, found, explanation)
        _report_and_store(hunt, result, report)
    return result


def _report_and_store(hunt: PreparedHunt, result: HuntResult, report: Report) -> None:
    hunt.progress.clear()
    try:
        # Reported first: an error of the store must not cost the user the report.
        report(result)
    finally:
        hunt.store.save_report(hunt.session_id, report_json(result))
        hunt.store.finish(hunt.session_id, "interrupted" if result.interrupted else "done")
