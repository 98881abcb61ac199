"""Before the search: which tests may be rerun, and how likely each one is flaky."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from flakehound.app.hunt.prepared import PreparedHunt
from flakehound.app.hunt.priors import StoredKnowledge, priors_of, stored_knowledge, time_ranks
from flakehound.app.hunt.selection import Selection, Selector
from flakehound.app.hunt.static_priors import static_scores
from flakehound.app.hunt.suite_trace import calls_if_affordable
from flakehound.app.sessions.plain_runs import recent_failures
from flakehound.core.outcomes import NodeId
from flakehound.core.statistics.prevalence import Priors
from flakehound.hunt.options import INDEX
from flakehound.triage.evidence import PastRuns


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What is expected of a suite's tests before the search begins."""

    priors: Priors
    selection: Selection | None  # None: every test may be rerun and run in pairs
    recent_failures: Mapping[NodeId, PastRuns]  # of the user's own pytest runs
    interrupted: bool  # by the user; then there is no search


def estimate_priors(hunt: PreparedHunt, selector: Selector | None) -> Estimate:
    """Select tests, measure features if asked, and estimate how likely each test is flaky."""
    selection = None if selector is None else selector(hunt)
    interrupted = False
    if hunt.options.measure and not (selection and selection.measured):
        interrupted = _measure(hunt)
    priors, interrupted = _priors(hunt, interrupted=interrupted)
    return Estimate(
        priors=priors,
        selection=selection,
        recent_failures=recent_failures(hunt.store, hunt.opened.handshake.rootdir),
        interrupted=interrupted,
    )


def _measure(hunt: PreparedHunt) -> bool:
    """Measure features; returns whether the user interrupted. Measuring may disturb tests: no evidence."""
    from flakehound.app.measure import measure_in_hunt

    try:
        measure_in_hunt(hunt)
    except KeyboardInterrupt:
        return True
    return False


def _priors(hunt: PreparedHunt, *, interrupted: bool) -> tuple[Priors, bool]:
    """The priors, and whether the user interrupted; models are used only for the policy that needs them."""
    suite, is_by_index = hunt.opened.suite, hunt.options.policy.policy == INDEX
    time_s = hunt.budget.limit_s if is_by_index else None
    scores = static_scores(hunt.rootdir, suite.order, time_s, hunt.progress)
    known = stored_knowledge(hunt.store, hunt.session, hunt.characteristic_functions, time_s)
    known = replace(known, time_ranks=time_ranks(_durations_s(hunt)))
    if is_by_index and not interrupted:
        try:
            known = _with_calls(hunt, known)
        except KeyboardInterrupt:
            interrupted = True
    return priors_of(suite, known, scores), interrupted


def _durations_s(hunt: PreparedHunt) -> dict[NodeId, float]:
    """The mean durations of the tests that have run, in the reference run or before this hunt was resumed."""
    known = hunt.history.costs.mean_test_s
    return {test: known[test] for test in hunt.opened.suite.order if test in known}


def _with_calls(hunt: PreparedHunt, known: StoredKnowledge) -> StoredKnowledge:
    """Add the calls of a new trace, unless an earlier one covers most tests or there is no time."""
    order = hunt.opened.suite.order
    if 2 * sum(test in known.calls for test in order) > len(order):
        return known
    return replace(known, calls={**known.calls, **calls_if_affordable(hunt)})
