"""While the first run of a long suite goes on: search beside it on the other cores, then take it into account."""

from __future__ import annotations

from dataclasses import dataclass, field

from flakehound.app.hunt.estimate import Estimate, first_estimate
from flakehound.app.hunt.prepared import PreparedHunt, set_default_budget
from flakehound.app.hunt.search import new_agenda, run_loop
from flakehound.app.hunt.selection import Selector
from flakehound.app.progress import first_run_text
from flakehound.core.doubtful_failures import DoubtfulFailures
from flakehound.core.plans import RunPlan
from flakehound.report.durations import duration_text


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRun:
    """What is known when the first run has ended."""

    estimate: Estimate | None  # the first one; None: not made
    interrupted: bool  # by the user
    doubtful: DoubtfulFailures = field(default_factory=DoubtfulFailures)  # in runs that disturbed each other


def wait_for_first_run(hunt: PreparedHunt, selector: Selector | None) -> FirstRun:
    """Search while the first run goes on, if it does; then decide by it how the suite is run."""
    if hunt.opened.reference_run is None:
        return FirstRun(estimate=None, interrupted=False)
    # Another seed than that of the search afterwards, which would repeat the same runs.
    loop = run_loop(hunt, stage=lambda: _stage(hunt), found=lambda: None, seed=hunt.seed ^ 1)
    estimate: Estimate | None = None
    interrupted = False
    try:
        # A selector and measured runs need the times of the first run.
        if selector is None and not hunt.options.measure:
            _announce(hunt)
            estimate = first_estimate(hunt)
        loop.run_beside_reference(_NoRuns() if estimate is None else new_agenda(hunt, estimate))
    except KeyboardInterrupt:
        interrupted = True
        loop.finish_reference()
    set_default_budget(hunt.budget, hunt.opened)
    return FirstRun(estimate=estimate, interrupted=interrupted, doubtful=loop.doubtful_failures)


def _announce(hunt: PreparedHunt) -> None:
    expected_s = hunt.opened.expected_suite_s()
    time = "" if expected_s is None else f", one run takes about {duration_text(expected_s)}"
    hunt.progress.message(f"{len(hunt.opened.suite.tests)} tests{time}; searching while the first run goes on ...")


def _stage(hunt: PreparedHunt) -> str:
    run = hunt.opened.reference_run
    done = None if run is None else run.progress
    return "first run" if done is None else first_run_text(done)


class _NoRuns:
    """A planner that only waits."""

    def follow_ups(self) -> list[RunPlan]:
        """Nothing."""
        return []

    def next_search_run(self) -> RunPlan | None:
        """Nothing."""
        return None
