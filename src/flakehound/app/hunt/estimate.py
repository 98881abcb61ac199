"""Before the search: which tests may be rerun, and how likely each one is flaky."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from flakehound.app.hunt.earlier_hunts import earlier_durations_s
from flakehound.app.hunt.earlier_verdicts import first_orders, open_verdicts
from flakehound.app.hunt.never_tried import orders_never_tried
from flakehound.app.hunt.prepared import PreparedHunt
from flakehound.app.hunt.priors import StoredKnowledge, priors_of, stored_knowledge, time_ranks
from flakehound.app.hunt.selection import Selection, Selector
from flakehound.app.hunt.static_priors import StaticScores, static_scores
from flakehound.app.hunt.suite_trace import calls_if_affordable
from flakehound.app.sessions.plain_runs import recent_failures
from flakehound.core.doubtful_failures import DoubtfulFailures
from flakehound.core.outcomes import NodeId
from flakehound.core.past_runs import PastRuns
from flakehound.core.plans import Order
from flakehound.core.statistics.prevalence import Priors
from flakehound.engine.git.recent_changes import recently_changed_files
from flakehound.engine.git.repository import Repository, open_repository
from flakehound.hunt.options import INDEX


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What is expected of a suite's tests before the search begins."""

    priors: Priors
    selection: Selection | None  # None: every test may be rerun and run in pairs
    recent_failures: Mapping[NodeId, PastRuns]  # of the user's own pytest runs
    known: StoredKnowledge  # from the store, without the times and calls of this hunt
    scores: StaticScores
    interrupted: bool  # by the user; then there is no search
    first_orders: tuple[Order, ...] = ()  # that earlier hunts give reason to run first
    on_earlier_hunts: str = ""  # what the hunt goes on from, in one line
    doubtful: DoubtfulFailures = field(
        default_factory=DoubtfulFailures
    )  # of this hunt, in runs that disturbed each other


def first_estimate(hunt: PreparedHunt) -> Estimate:
    """The estimate while the first run goes on: without times of tests and without a trace."""
    scores, known = _scores(hunt), _stored_knowledge(hunt)
    look_first = open_verdicts(known.verdicts, hunt.opened.suite.order)
    on_earlier_hunts = hunt.earlier.describe(len(look_first))
    if on_earlier_hunts:
        hunt.progress.message(on_earlier_hunts)
    return Estimate(
        priors=priors_of(hunt.opened.suite, known, scores),
        selection=None,
        recent_failures=recent_failures(hunt.store, hunt.opened.handshake.rootdir),
        known=known,
        scores=scores,
        interrupted=False,
        first_orders=first_orders(look_first, hunt.opened.suite.order),
        on_earlier_hunts=on_earlier_hunts,
    )


def estimate_priors(
    hunt: PreparedHunt,
    selector: Selector | None,
    first: Estimate | None = None,
    *,
    interrupted: bool = False,
) -> Estimate:
    """Select tests, measure features if asked, and estimate how likely each test is flaky.

    `first`: the first estimate, if there was one. `interrupted`: by the user; then nothing is run.
    """
    selection = None if selector is None or interrupted else selector(hunt)
    if hunt.options.measure and not interrupted and not (selection and selection.measured):
        interrupted = _measure(hunt)
    scores = _scores(hunt) if first is None and not interrupted else StaticScores()
    scores, known = (scores, _stored_knowledge(hunt)) if first is None else (first.scores, first.known)
    priors, interrupted = _priors(hunt, known, scores, interrupted=interrupted)
    look_first = open_verdicts(known.verdicts, hunt.opened.suite.order)
    on_earlier_hunts = hunt.earlier.describe(len(look_first))
    if on_earlier_hunts and first is None:
        hunt.progress.message(on_earlier_hunts)
    return Estimate(
        priors=priors,
        selection=selection,
        recent_failures=recent_failures(hunt.store, hunt.opened.handshake.rootdir),
        known=known,
        scores=scores,
        interrupted=interrupted,
        first_orders=(*first_orders(look_first, hunt.opened.suite.order), *orders_never_tried(hunt)),
        on_earlier_hunts=on_earlier_hunts,
    )


def _measure(hunt: PreparedHunt) -> bool:
    """Measure features; returns whether the user interrupted. Measuring may disturb tests: no evidence."""
    from flakehound.app.measure import measure_in_hunt

    try:
        measure_in_hunt(hunt)
    except KeyboardInterrupt:
        return True
    return False


def _time_for_models_s(hunt: PreparedHunt) -> float | None:
    """The time of the hunt; None: models are not used, because only one policy needs them."""
    return hunt.budget.limit_s if hunt.options.policy.policy == INDEX else None


def _scores(hunt: PreparedHunt) -> StaticScores:
    return static_scores(hunt.rootdir, hunt.opened.suite.order, _time_for_models_s(hunt), hunt.progress)


def _stored_knowledge(hunt: PreparedHunt) -> StoredKnowledge:
    time_s = _time_for_models_s(hunt)
    known = stored_knowledge(hunt.store, hunt.session, hunt.characteristic_functions, time_s)
    known = replace(known, changed=_recently_changed_tests(hunt))
    return replace(known, verdicts={}) if hunt.options.fresh else known


def _recently_changed_tests(hunt: PreparedHunt) -> frozenset[NodeId]:
    """The tests in files that were changed lately; none if that is most of them, as in a new repository."""
    repository = open_repository(hunt.rootdir)
    if not isinstance(repository, Repository):
        return frozenset()
    files = recently_changed_files(repository)
    modules = {test.module for test in hunt.opened.suite.tests}
    changed = {module for module in modules if hunt.rootdir / module in files}
    if 2 * len(changed) > len(modules):
        return frozenset()
    return frozenset(test.id for test in hunt.opened.suite.tests if test.module in changed)


def _priors(
    hunt: PreparedHunt, known: StoredKnowledge, scores: StaticScores, *, interrupted: bool
) -> tuple[Priors, bool]:
    """The priors, and whether the user interrupted."""
    known = replace(known, time_ranks=time_ranks(_durations_s(hunt)))
    if hunt.options.policy.policy == INDEX and not interrupted:
        try:
            known = _with_calls(hunt, known)
        except KeyboardInterrupt:
            interrupted = True
    return priors_of(hunt.opened.suite, known, scores), interrupted


def _durations_s(hunt: PreparedHunt) -> dict[NodeId, float]:
    """The mean durations of the tests in the runs that count, else in earlier hunts of other code."""
    known = {**earlier_durations_s(hunt.store, hunt.session.rootdir), **hunt.history.costs.mean_test_s}
    return {test: known[test] for test in hunt.opened.suite.order if test in known}


def _with_calls(hunt: PreparedHunt, known: StoredKnowledge) -> StoredKnowledge:
    """Add the calls of a new trace, unless an earlier one covers most tests or there is no time."""
    order = hunt.opened.suite.order
    if any(record.was_called_off for record in hunt.opened.reference):
        return known  # one run of the suite took too long, so a slower one does as well
    if 2 * sum(test in known.calls for test in order) > len(order):
        return known
    return replace(known, calls={**known.calls, **calls_if_affordable(hunt)})
